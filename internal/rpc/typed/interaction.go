package typed

import (
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// sampling gives nil for a request without messages. What has no field is in
// Question.params.
func (r *reader) sampling() *v1.SamplingRequest {
	s, found := &v1.SamplingRequest{}, false
	o, f := r.open()
	if f != yes {
		return nil
	}
	for r.next(&o) {
		switch o.Name {
		case "messages":
			found = r.took(&o, list(r, &s.Messages, (*reader).samplingMessage))
		case "systemPrompt":
			r.took(&o, r.str(&s.SystemPrompt))
		case "maxTokens":
			r.took(&o, r.nearInt32(&s.MaxTokens))
		case "temperature":
			r.took(&o, r.optFloat(&s.Temperature))
		case "stopSequences":
			r.took(&o, r.strs(&s.StopSequences))
		case "modelPreferences":
			r.took(&o, r.modelPreferences(&s.ModelPreferences))
		case "includeContext":
			r.took(&o, r.str(&s.IncludeContext))
		case "tools":
			r.took(&o, list(r, &s.Tools, (*reader).jsonObject))
		case "toolChoice":
			r.spread(&o, func(in *object) {
				if in.Name == "mode" {
					r.took(in, r.str(&s.ToolChoiceMode))
				} else {
					r.Skip()
				}
			})
		case "metadata":
			r.took(&o, r.jsonObject(&s.Metadata))
		default:
			r.Skip()
		}
	}
	if !found {
		return nil
	}
	return s
}

// samplingMessage holds one block or, since 2025-11-25, several.
func (r *reader) samplingMessage(dst **v1.SamplingMessage) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	m := &v1.SamplingMessage{}
	for r.next(&o) {
		switch {
		case o.Name == "role":
			r.took(&o, r.str(&m.Role))
		case o.Name == "content" && r.Peek() == jsonscan.Array:
			r.took(&o, list(r, &m.Content, (*reader).block))
		case o.Name == "content" && r.Peek() == jsonscan.Object:
			m.Content = make([]*v1.Content, 1)
			r.took(&o, r.block(&m.Content[0]))
		default:
			r.Skip()
		}
	}
	*dst = m
	return yes
}

func (r *reader) modelPreferences(dst **v1.ModelPreferences) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	p := &v1.ModelPreferences{}
	for r.next(&o) {
		switch o.Name {
		case "hints":
			var hints []*string
			r.took(&o, list(r, &hints, (*reader).hint))
			p.Hints = nil
			for _, h := range hints {
				p.Hints = append(p.Hints, *h)
			}
		case "costPriority":
			r.took(&o, r.optFloat(&p.CostPriority))
		case "speedPriority":
			r.took(&o, r.optFloat(&p.SpeedPriority))
		case "intelligencePriority":
			r.took(&o, r.optFloat(&p.IntelligencePriority))
		default:
			r.Skip()
		}
	}
	*dst = p
	return yes
}

func (r *reader) hint(dst **string) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	for r.next(&o) {
		if o.Name == "name" {
			r.took(&o, r.optStr(dst))
		} else {
			r.Skip()
		}
	}
	if *dst == nil {
		return no
	}
	return yes
}

// elicitation gives nil for a mode that is not known, and where the schema or
// the URL is missing. No mode means a form.
func (r *reader) elicitation() *v1.ElicitationRequest {
	e := &v1.ElicitationRequest{}
	mode, url := "form", &v1.UrlElicitation{}
	var schema *v1.Json
	o, f := r.open()
	if f != yes {
		return nil
	}
	for r.next(&o) {
		switch o.Name {
		case "mode":
			if f := r.str(&mode); f == no {
				mode = ""
				r.took(&o, f)
			}
		case "message":
			r.took(&o, r.str(&e.Message))
		case "requestedSchema":
			r.took(&o, r.jsonObject(&schema))
		case "url":
			r.took(&o, r.str(&url.Url))
		case "elicitationId":
			r.took(&o, r.str(&url.ElicitationId))
		default:
			r.Skip()
		}
	}
	switch {
	case mode == "form" && schema != nil:
		e.Mode = &v1.ElicitationRequest_FormSchema{FormSchema: schema}
	case mode == "url" && url.Url != "":
		e.Mode = &v1.ElicitationRequest_Url{Url: url}
	default:
		return nil
	}
	return e
}
