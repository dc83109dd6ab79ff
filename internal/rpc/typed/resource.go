package typed

import v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"

// ListResources reads a page of resources.
func (d Decoder) ListResources(result []byte) (*v1.ListResourcesResponse, error) {
	items, f, err := page(d, result, "resources", (*reader).resource)
	if err != nil {
		return nil, err
	}
	return &v1.ListResourcesResponse{
		Resources: items, NextCursor: f.next, Cache: f.cache, Meta: f.meta, ExtraJson: f.extra,
	}, nil
}

func (r *reader) resource(dst **v1.Resource) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	x := &v1.Resource{Server: r.opt.Server}
	for r.next(&o) {
		switch o.Name {
		case "uri":
			r.took(&o, r.str(&x.Uri))
		case "name":
			r.took(&o, r.str(&x.Name))
		case "title":
			r.took(&o, r.str(&x.Title))
		case "description":
			r.took(&o, r.str(&x.Description))
		case "mimeType":
			r.took(&o, r.str(&x.MimeType))
		case "size":
			r.took(&o, r.optInt(&x.SizeBytes))
		case "annotations":
			r.took(&o, r.annotations(&x.Annotations))
		case "icons":
			r.took(&o, list(r, &x.Icons, (*reader).icon))
		case "_meta":
			r.took(&o, r.jsonObject(&x.Meta))
		default:
			r.keep(&o)
		}
	}
	x.ExtraJson = o.rest()
	*dst = x
	return yes
}

// ListResourceTemplates reads a page of resource templates.
func (d Decoder) ListResourceTemplates(result []byte) (*v1.ListResourceTemplatesResponse, error) {
	items, f, err := page(d, result, "resourceTemplates", (*reader).template)
	if err != nil {
		return nil, err
	}
	return &v1.ListResourceTemplatesResponse{
		ResourceTemplates: items, NextCursor: f.next, Cache: f.cache, Meta: f.meta, ExtraJson: f.extra,
	}, nil
}

func (r *reader) template(dst **v1.ResourceTemplate) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	x := &v1.ResourceTemplate{Server: r.opt.Server}
	for r.next(&o) {
		switch o.Name {
		case "uriTemplate":
			r.took(&o, r.str(&x.UriTemplate))
		case "name":
			r.took(&o, r.str(&x.Name))
		case "title":
			r.took(&o, r.str(&x.Title))
		case "description":
			r.took(&o, r.str(&x.Description))
		case "mimeType":
			r.took(&o, r.str(&x.MimeType))
		case "annotations":
			r.took(&o, r.annotations(&x.Annotations))
		case "icons":
			r.took(&o, list(r, &x.Icons, (*reader).icon))
		case "_meta":
			r.took(&o, r.jsonObject(&x.Meta))
		default:
			r.keep(&o)
		}
	}
	x.ExtraJson = o.rest()
	*dst = x
	return yes
}

// ResourceOutcome is the result of resources/read.
type ResourceOutcome struct {
	// Type is as in ToolOutcome.
	Type     string
	Response *v1.ReadResourceResponse
	Inputs   *Inputs
}

// ReadResource reads the result of resources/read.
func (d Decoder) ReadResource(result []byte) (ResourceOutcome, error) {
	res := &v1.ReadResourceResponse{}
	var f frame
	extra, err := d.body(result, func(r *reader, o *object) {
		if o.Name == "contents" {
			r.took(o, list(r, &res.Contents, (*reader).contents))
		} else {
			r.inCacheable(o, &f)
		}
	})
	if err != nil {
		return ResourceOutcome{}, err
	}
	out := ResourceOutcome{Type: orComplete(f.typ)}
	switch out.Type {
	case Complete:
		res.Cache, res.Meta, res.ExtraJson = f.cache, f.meta, extra
		out.Response = res
	case InputRequired:
		out.Inputs, err = d.Inputs(result)
	}
	return out, err
}
