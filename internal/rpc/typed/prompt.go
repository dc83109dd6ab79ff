package typed

import v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"

// ListPrompts reads a page of prompts.
func (d Decoder) ListPrompts(result []byte) (*v1.ListPromptsResponse, error) {
	items, f, err := page(d, result, "prompts", (*reader).prompt)
	if err != nil {
		return nil, err
	}
	return &v1.ListPromptsResponse{
		Prompts: items, NextCursor: f.next, Cache: f.cache, Meta: f.meta, ExtraJson: f.extra,
	}, nil
}

func (r *reader) prompt(dst **v1.Prompt) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	p := &v1.Prompt{Server: r.opt.Server}
	for r.next(&o) {
		switch o.Name {
		case "name":
			r.took(&o, r.str(&p.Name))
		case "title":
			r.took(&o, r.str(&p.Title))
		case "description":
			r.took(&o, r.str(&p.Description))
		case "arguments":
			r.took(&o, list(r, &p.Arguments, (*reader).promptArgument))
		case "icons":
			r.took(&o, list(r, &p.Icons, (*reader).icon))
		case "_meta":
			r.took(&o, r.jsonObject(&p.Meta))
		default:
			r.keep(&o)
		}
	}
	p.ExtraJson = o.rest()
	*dst = p
	return yes
}

func (r *reader) promptArgument(dst **v1.PromptArgument) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	a := &v1.PromptArgument{}
	for r.next(&o) {
		switch o.Name {
		case "name":
			r.took(&o, r.str(&a.Name))
		case "title":
			r.took(&o, r.str(&a.Title))
		case "description":
			r.took(&o, r.str(&a.Description))
		case "required":
			r.took(&o, r.boolean(&a.Required))
		default:
			r.keep(&o)
		}
	}
	a.ExtraJson = o.rest()
	*dst = a
	return yes
}

// PromptOutcome is the result of prompts/get.
type PromptOutcome struct {
	// Type is as in ToolOutcome.
	Type     string
	Response *v1.GetPromptResponse
	Inputs   *Inputs
}

// GetPrompt reads the result of prompts/get.
func (d Decoder) GetPrompt(result []byte) (PromptOutcome, error) {
	res := &v1.GetPromptResponse{}
	var f frame
	extra, err := d.body(result, func(r *reader, o *object) {
		switch o.Name {
		case "description":
			r.took(o, r.str(&res.Description))
		case "messages":
			r.took(o, list(r, &res.Messages, (*reader).promptMessage))
		default:
			r.inFrame(o, &f)
		}
	})
	if err != nil {
		return PromptOutcome{}, err
	}
	out := PromptOutcome{Type: orComplete(f.typ)}
	switch out.Type {
	case Complete:
		res.Meta, res.ExtraJson = f.meta, extra
		out.Response = res
	case InputRequired:
		out.Inputs, err = d.Inputs(result)
	}
	return out, err
}

// promptMessage fits only in part where it has more than its two members: the
// message has no extra_json.
func (r *reader) promptMessage(dst **v1.PromptMessage) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	m := &v1.PromptMessage{}
	for r.next(&o) {
		switch o.Name {
		case "role":
			r.took(&o, r.str(&m.Role))
		case "content":
			r.took(&o, r.block(&m.Content))
		default:
			r.keep(&o)
		}
	}
	*dst = m
	return o.fits()
}

// fits is the fit of a message that has no extra_json for what it leaves over.
func (o *object) fits() fit {
	if o.extra != nil {
		return part
	}
	return yes
}

// Complete reads the result of completion/complete.
func (d Decoder) Complete(result []byte) (*v1.CompleteResponse, error) {
	res := &v1.CompleteResponse{}
	var f frame
	extra, err := d.body(result, func(r *reader, o *object) {
		if o.Name != "completion" {
			r.inFrame(o, &f)
			return
		}
		r.spread(o, func(in *object) {
			switch in.Name {
			case "values":
				r.took(in, r.strs(&res.Values))
			case "total":
				r.took(in, r.optInt(&res.Total))
			case "hasMore":
				r.took(in, r.boolean(&res.HasMore))
			default:
				r.keep(in)
			}
		})
	})
	if err == nil {
		err = f.complete()
	}
	if err != nil {
		return nil, err
	}
	res.Meta, res.ExtraJson = f.meta, extra
	return res, nil
}
