package typed

import (
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// maxNest is how deep tool_result blocks may hold blocks: deeper ones stay JSON,
// since clients limit how deep messages nest.
const maxNest = 8

// block reads one block of content. Whatever it is, it fits.
func (r *reader) block(dst **v1.Content) fit {
	start := r.Mark()
	typ := r.blockType()
	r.Rewind(start)
	c := &v1.Content{}
	r.nest++
	ok := r.nest <= maxNest && r.typedBlock(c, typ)
	r.nest--
	if !ok {
		r.Rewind(start)
		other := &v1.OtherContent{Type: typ}
		r.anyOrNull(&other.Raw)
		c = &v1.Content{Block: &v1.Content_Other{Other: other}}
	}
	*dst = c
	return yes
}

// blockType finds the `type` of a block. It is nearly always the first member.
func (r *reader) blockType() (typ string) {
	o, f := r.open()
	if f != yes {
		return ""
	}
	for r.NextMember(&o.Member) {
		if o.Name == "type" && r.Peek() == jsonscan.String {
			typ, _ = r.ReadString()
			break
		}
		r.Skip()
	}
	return typ
}

// typedBlock reads a block of a known type; false if it is none.
func (r *reader) typedBlock(c *v1.Content, typ string) bool {
	switch typ {
	case "text":
		return r.textBlock(c)
	case "image":
		m := &v1.ImageContent{}
		c.Block = &v1.Content_Image{Image: m}
		return r.mediaBlock(c, typ, &m.Data, &m.MimeType)
	case "audio":
		m := &v1.AudioContent{}
		c.Block = &v1.Content_Audio{Audio: m}
		return r.mediaBlock(c, typ, &m.Data, &m.MimeType)
	case "resource_link":
		return r.linkBlock(c)
	case "resource":
		return r.resourceBlock(c)
	case "tool_use":
		return r.toolUseBlock(c)
	case "tool_result":
		return r.toolResultBlock(c)
	}
	return false
}

// common reads a member that all types of block have.
func (r *reader) common(o *object, c *v1.Content, typ string) {
	switch o.Name {
	case "type":
		var again string
		f := r.str(&again)
		if f == yes && again != typ {
			f = no
		}
		r.took(o, f)
	case "annotations":
		r.took(o, r.annotations(&c.Annotations))
	case "_meta":
		r.took(o, r.jsonObject(&c.Meta))
	default:
		r.keep(o)
	}
}

func (r *reader) textBlock(c *v1.Content) bool {
	t, found := &v1.TextContent{}, false
	o, _ := r.open()
	for r.next(&o) {
		if o.Name != "text" {
			r.common(&o, c, "text")
			continue
		}
		f := r.str(&t.Text)
		if f == part { // a lone surrogate is lost, as the message says
			f = yes
		}
		found = r.took(&o, f) || found
	}
	c.Block, c.ExtraJson = &v1.Content_Text{Text: t}, o.rest()
	return found
}

func (r *reader) mediaBlock(c *v1.Content, typ string, data *[]byte, mimeType *string) (found bool) {
	o, _ := r.open()
	for r.next(&o) {
		switch o.Name {
		case "data":
			found = r.took(&o, r.base64(data)) || found
		case "mimeType":
			r.took(&o, r.str(mimeType))
		default:
			r.common(&o, c, typ)
		}
	}
	c.ExtraJson = o.rest()
	return found
}

func (r *reader) linkBlock(c *v1.Content) (found bool) {
	l := &v1.ResourceLink{}
	o, _ := r.open()
	for r.next(&o) {
		switch o.Name {
		case "uri":
			found = r.took(&o, r.str(&l.Uri)) || found
		case "name":
			r.took(&o, r.str(&l.Name))
		case "title":
			r.took(&o, r.str(&l.Title))
		case "description":
			r.took(&o, r.str(&l.Description))
		case "mimeType":
			r.took(&o, r.str(&l.MimeType))
		case "size":
			r.took(&o, r.optInt(&l.SizeBytes))
		case "icons":
			r.took(&o, list(r, &l.Icons, (*reader).icon))
		default:
			r.common(&o, c, "resource_link")
		}
	}
	c.Block, c.ExtraJson = &v1.Content_ResourceLink{ResourceLink: l}, o.rest()
	return found
}

func (r *reader) resourceBlock(c *v1.Content) bool {
	var contents *v1.ResourceContents
	o, _ := r.open()
	for r.next(&o) {
		if o.Name == "resource" {
			r.took(&o, r.contents(&contents))
		} else {
			r.common(&o, c, "resource")
		}
	}
	c.Block, c.ExtraJson = &v1.Content_Resource{Resource: contents}, o.rest()
	return contents.GetBody() != nil
}

func (r *reader) toolUseBlock(c *v1.Content) bool {
	u := &v1.ToolUseContent{}
	id, name := false, false
	o, _ := r.open()
	for r.next(&o) {
		switch o.Name {
		case "id":
			id = r.took(&o, r.str(&u.Id)) || id
		case "name":
			name = r.took(&o, r.str(&u.Name)) || name
		case "input":
			r.took(&o, r.jsonObject(&u.Input))
		default:
			r.common(&o, c, "tool_use")
		}
	}
	c.Block, c.ExtraJson = &v1.Content_ToolUse{ToolUse: u}, o.rest()
	return id && name && u.Input != nil
}

func (r *reader) toolResultBlock(c *v1.Content) (id bool) {
	t := &v1.ToolResultContent{}
	o, _ := r.open()
	for r.next(&o) {
		switch o.Name {
		case "toolUseId":
			id = r.took(&o, r.str(&t.ToolUseId)) || id
		case "content":
			r.took(&o, list(r, &t.Content, (*reader).block))
		case "structuredContent":
			r.took(&o, r.structured(&t.StructuredContent))
		case "isError":
			r.took(&o, r.boolean(&t.IsError))
		default:
			r.common(&o, c, "tool_result")
		}
	}
	c.Block, c.ExtraJson = &v1.Content_ToolResult{ToolResult: t}, o.rest()
	return id
}

// contents reads the contents of a resource. Of text and blob the first counts.
func (r *reader) contents(dst **v1.ResourceContents) fit {
	o, f := r.open()
	if f != yes {
		return f
	}
	c := &v1.ResourceContents{}
	for r.next(&o) {
		switch o.Name {
		case "uri":
			r.took(&o, r.str(&c.Uri))
		case "mimeType":
			r.took(&o, r.str(&c.MimeType))
		case "text":
			r.took(&o, r.contentsText(c))
		case "blob":
			r.took(&o, r.contentsBlob(c))
		case "_meta":
			r.took(&o, r.jsonObject(&c.Meta))
		default:
			r.keep(&o)
		}
	}
	c.ExtraJson = o.rest()
	*dst = c
	return yes
}

func (r *reader) contentsText(c *v1.ResourceContents) fit {
	if _, taken := c.Body.(*v1.ResourceContents_Blob); taken {
		return no
	}
	var text string
	f := r.str(&text)
	if f >= part {
		c.Body = &v1.ResourceContents_Text{Text: text}
	}
	return f
}

func (r *reader) contentsBlob(c *v1.ResourceContents) fit {
	if _, taken := c.Body.(*v1.ResourceContents_Text); taken {
		return no
	}
	var blob []byte
	f := r.base64(&blob)
	if f >= part {
		c.Body = &v1.ResourceContents_Blob{Blob: blob}
	}
	return f
}
