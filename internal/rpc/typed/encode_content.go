package typed

import (
	"encoding/base64"
	"errors"
	"strconv"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// AppendContent appends a block of content.
func AppendContent(dst []byte, c *v1.Content) ([]byte, error) {
	if other, ok := c.GetBlock().(*v1.Content_Other); ok {
		return AppendJSONObject(dst, other.Other.GetRaw())
	}
	w := newWriter(dst, c.GetExtraJson())
	switch b := c.GetBlock().(type) {
	case *v1.Content_Text:
		w.str("type", "text")
		w.str("text", b.Text.GetText())
	case *v1.Content_Image:
		w.str("type", "image")
		w.bytes("data", b.Image.GetData())
		w.str("mimeType", b.Image.GetMimeType())
	case *v1.Content_Audio:
		w.str("type", "audio")
		w.bytes("data", b.Audio.GetData())
		w.str("mimeType", b.Audio.GetMimeType())
	case *v1.Content_ResourceLink:
		w.str("type", "resource_link")
		w.link(b.ResourceLink)
	case *v1.Content_Resource:
		w.str("type", "resource")
		w.value("resource", func(dst []byte) ([]byte, error) { return appendContents(dst, b.Resource) })
	case *v1.Content_ToolUse:
		w.str("type", "tool_use")
		w.str("id", b.ToolUse.GetId())
		w.str("name", b.ToolUse.GetName())
		w.value("input", func(dst []byte) ([]byte, error) {
			if b.ToolUse.GetInput() == nil {
				return append(dst, "{}"...), nil
			}
			return AppendJSONObject(dst, b.ToolUse.GetInput())
		})
	case *v1.Content_ToolResult:
		w.str("type", "tool_result")
		w.toolResult(b.ToolResult)
	default:
		return dst, errors.New("a block of content without a type")
	}
	if a := c.GetAnnotations(); a != nil {
		w.value("annotations", func(dst []byte) ([]byte, error) { return appendAnnotations(dst, a) })
	}
	w.object("_meta", c.GetMeta())
	return w.end()
}

func (w *writer) bytes(name string, b []byte) {
	if w.name(name) {
		w.dst = append(base64.StdEncoding.AppendEncode(append(w.dst, '"'), b), '"')
	}
}

func (w *writer) link(l *v1.ResourceLink) {
	w.str("uri", l.GetUri())
	w.str("name", l.GetName())
	w.optStr("title", l.GetTitle())
	w.optStr("description", l.GetDescription())
	w.optStr("mimeType", l.GetMimeType())
	if l != nil && l.SizeBytes != nil {
		if w.name("size") {
			w.dst = strconv.AppendInt(w.dst, l.GetSizeBytes(), 10)
		}
	}
	w.icons(l.GetIcons())
}

func (w *writer) toolResult(t *v1.ToolResultContent) {
	w.str("toolUseId", t.GetToolUseId())
	w.value("content", func(dst []byte) ([]byte, error) { return appendBlocks(dst, t.GetContent()) })
	w.json("structuredContent", t.GetStructuredContent())
	if is := t.GetIsError(); is {
		w.boolean("isError", &is)
	}
}

func appendBlocks(dst []byte, blocks []*v1.Content) ([]byte, error) {
	return appendList(dst, len(blocks), func(dst []byte, i int) ([]byte, error) {
		return AppendContent(dst, blocks[i])
	})
}

func appendContents(dst []byte, c *v1.ResourceContents) ([]byte, error) {
	w := newWriter(dst, c.GetExtraJson())
	w.str("uri", c.GetUri())
	w.optStr("mimeType", c.GetMimeType())
	switch b := c.GetBody().(type) {
	case *v1.ResourceContents_Text:
		w.str("text", b.Text)
	case *v1.ResourceContents_Blob:
		w.bytes("blob", b.Blob)
	}
	w.object("_meta", c.GetMeta())
	return w.end()
}

func appendAnnotations(dst []byte, a *v1.Annotations) ([]byte, error) {
	w := newWriter(dst, a.GetExtraJson())
	w.strs("audience", a.GetAudience())
	if a.Priority != nil {
		w.value("priority", func(dst []byte) ([]byte, error) { return appendNumber(dst, a.GetPriority()) })
	}
	w.optStr("lastModified", a.GetLastModified())
	return w.end()
}

func (w *writer) icons(icons []*v1.Icon) {
	w.list("icons", len(icons), func(dst []byte, i int) ([]byte, error) { return appendIcon(dst, icons[i]) })
}

func appendIcon(dst []byte, i *v1.Icon) ([]byte, error) {
	w := newWriter(dst, i.GetExtraJson())
	w.str("src", i.GetSrc())
	w.optStr("mimeType", i.GetMimeType())
	w.strs("sizes", i.GetSizes())
	w.optStr("theme", i.GetTheme())
	return w.end()
}
