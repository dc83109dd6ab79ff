package typed

import v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"

// ToolOutcome is the result of tools/call.
type ToolOutcome struct {
	// Type is the resultType, or Complete where there is none. Of the others
	// exactly the one that it names is set; none for a type that is not known.
	Type   string
	Tool   *v1.ToolResult
	Inputs *Inputs
	Task   *v1.Task
}

// CallTool reads the result of tools/call. A task of 2025-11-25 does not show
// itself by a resultType: who asked for one tries CreatedTask first.
func (d Decoder) CallTool(result []byte) (ToolOutcome, error) {
	tool, typ, err := d.toolResult(result)
	if err != nil {
		return ToolOutcome{}, err
	}
	out := ToolOutcome{Type: orComplete(typ)}
	switch out.Type {
	case Complete:
		out.Tool = tool
	case InputRequired:
		out.Inputs, err = d.Inputs(result)
	case TaskCreated:
		out.Task, err = d.CreatedTask(result)
	}
	return out, err
}

// ToolResult reads what a tool returned, such as the result of tasks/result.
func (d Decoder) ToolResult(result []byte) (*v1.ToolResult, error) {
	tool, typ, err := d.toolResult(result)
	if err == nil {
		f := frame{typ: typ}
		err = f.complete()
	}
	if err != nil {
		return nil, err
	}
	return tool, nil
}

func (d Decoder) toolResult(result []byte) (tool *v1.ToolResult, typ string, err error) {
	r := d.read(result)
	f := r.toolResult(&tool, &typ)
	if f == no {
		r.Skip()
	}
	if err := r.done(); err != nil {
		return nil, "", err
	}
	if f != yes {
		return nil, "", ErrNotObject
	}
	return tool, typ, nil
}

func (r *reader) toolResult(dst **v1.ToolResult, typ *string) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	t := &v1.ToolResult{}
	for r.next(&o) {
		switch o.Name {
		case "content":
			r.took(&o, list(r, &t.Content, (*reader).block))
		case "structuredContent":
			r.took(&o, r.structured(&t.StructuredContent))
		case "isError":
			r.took(&o, r.boolean(&t.IsError))
		case "_meta":
			r.took(&o, r.jsonObject(&t.Meta))
		case "resultType":
			r.took(&o, r.resultType(typ))
		default:
			r.keep(&o)
		}
	}
	t.ExtraJson = o.rest()
	*dst = t
	return yes
}

// ListTools reads a page of tools.
func (d Decoder) ListTools(result []byte) (*v1.ListToolsResponse, error) {
	items, f, err := page(d, result, "tools", (*reader).tool)
	if err != nil {
		return nil, err
	}
	return &v1.ListToolsResponse{
		Tools: items, NextCursor: f.next, Cache: f.cache, Meta: f.meta, ExtraJson: f.extra,
	}, nil
}

func (r *reader) tool(dst **v1.Tool) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	t := &v1.Tool{Server: r.opt.Server}
	for r.next(&o) {
		switch o.Name {
		case "name":
			r.took(&o, r.str(&t.Name))
		case "title":
			r.took(&o, r.str(&t.Title))
		case "description":
			r.took(&o, r.str(&t.Description))
		case "inputSchema":
			r.took(&o, r.any(&t.InputSchema))
		case "outputSchema":
			r.took(&o, r.any(&t.OutputSchema))
		case "annotations":
			r.took(&o, r.toolAnnotations(&t.Annotations))
		case "icons":
			r.took(&o, list(r, &t.Icons, (*reader).icon))
		case "execution":
			r.spread(&o, func(in *object) {
				if in.Name == "taskSupport" {
					r.took(in, r.str(&t.TaskSupport))
				} else {
					r.keep(in)
				}
			})
		case "_meta":
			r.took(&o, r.jsonObject(&t.Meta))
		default:
			r.keep(&o)
		}
	}
	t.ExtraJson = o.rest()
	*dst = t
	return yes
}

func (r *reader) toolAnnotations(dst **v1.ToolAnnotations) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	a := &v1.ToolAnnotations{}
	for r.next(&o) {
		switch o.Name {
		case "title":
			r.took(&o, r.str(&a.Title))
		case "readOnlyHint":
			r.took(&o, r.optBool(&a.ReadOnlyHint))
		case "destructiveHint":
			r.took(&o, r.optBool(&a.DestructiveHint))
		case "idempotentHint":
			r.took(&o, r.optBool(&a.IdempotentHint))
		case "openWorldHint":
			r.took(&o, r.optBool(&a.OpenWorldHint))
		default:
			r.keep(&o)
		}
	}
	a.ExtraJson = o.rest()
	*dst = a
	return yes
}
