package typed

import v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"

func (r *reader) icon(dst **v1.Icon) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	i := &v1.Icon{}
	for r.next(&o) {
		switch o.Name {
		case "src":
			r.took(&o, r.str(&i.Src))
		case "mimeType":
			r.took(&o, r.str(&i.MimeType))
		case "sizes":
			r.took(&o, r.strs(&i.Sizes))
		case "theme":
			r.took(&o, r.str(&i.Theme))
		default:
			r.keep(&o)
		}
	}
	i.ExtraJson = o.rest()
	*dst = i
	return yes
}

func (r *reader) annotations(dst **v1.Annotations) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	a := &v1.Annotations{}
	for r.next(&o) {
		switch o.Name {
		case "audience":
			r.took(&o, r.strs(&a.Audience))
		case "priority":
			r.took(&o, r.optFloat(&a.Priority))
		case "lastModified":
			r.took(&o, r.str(&a.LastModified))
		default:
			r.keep(&o)
		}
	}
	a.ExtraJson = o.rest()
	*dst = a
	return yes
}

func (r *reader) implementation(dst **v1.Implementation) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	i := &v1.Implementation{}
	for r.next(&o) {
		switch o.Name {
		case "name":
			r.took(&o, r.str(&i.Name))
		case "version":
			r.took(&o, r.str(&i.Version))
		case "title":
			r.took(&o, r.str(&i.Title))
		case "description":
			r.took(&o, r.str(&i.Description))
		case "websiteUrl":
			r.took(&o, r.str(&i.WebsiteUrl))
		case "icons":
			r.took(&o, list(r, &i.Icons, (*reader).icon))
		default:
			r.keep(&o)
		}
	}
	i.ExtraJson = o.rest()
	*dst = i
	return yes
}
