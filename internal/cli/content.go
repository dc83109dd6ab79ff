package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// A printer shows content to a person.
type printer struct {
	c    *Context
	dir  string // where pictures and the like are saved; empty: nowhere
	name string // what files are named after
	n    int    // files written
}

// result prints a tool's result: its texts as they are, all else described, and
// what is structured where there is no text.
func (p *printer) result(r *mcpbridgev1.ToolResult) error {
	hasText := false
	for _, content := range r.GetContent() {
		hasText = hasText || content.GetText() != nil
		if err := p.content(content); err != nil {
			return err
		}
	}
	if s := r.GetStructuredContent(); s != nil && !hasText {
		return p.c.printLaidOut(jsonText(s), true)
	}
	return nil
}

func (p *printer) content(content *mcpbridgev1.Content) error {
	switch b := content.GetBlock().(type) {
	case *mcpbridgev1.Content_Text:
		return p.c.print(b.Text.GetText())
	case *mcpbridgev1.Content_Image:
		return p.bytes("image", b.Image.GetMimeType(), b.Image.GetData())
	case *mcpbridgev1.Content_Audio:
		return p.bytes("audio", b.Audio.GetMimeType(), b.Audio.GetData())
	case *mcpbridgev1.Content_ResourceLink:
		return p.line("resource link", b.ResourceLink.GetUri(), b.ResourceLink.GetName(), b.ResourceLink.GetMimeType())
	case *mcpbridgev1.Content_Resource:
		return p.resource(b.Resource)
	case *mcpbridgev1.Content_Other:
		return p.line(b.Other.GetType(), cut(string(jsonText(b.Other.GetRaw())), 500))
	default:
		return p.line("content of a kind that this version does not know")
	}
}

func (p *printer) resource(r *mcpbridgev1.ResourceContents) error {
	if blob, ok := r.GetBody().(*mcpbridgev1.ResourceContents_Blob); ok {
		return p.bytes("resource "+r.GetUri(), r.GetMimeType(), blob.Blob)
	}
	if err := p.line("resource", r.GetUri(), r.GetMimeType()); err != nil {
		return err
	}
	return p.c.print(r.GetText())
}

// line describes in one line what is no text.
func (p *printer) line(kind string, words ...string) error {
	text := kind
	for _, w := range words {
		if w != "" {
			text += " " + w
		}
	}
	return p.c.write(p.c.out().dim("[" + oneLine(text) + "]"))
}

// bytes describes bytes, and saves them where that is asked for.
func (p *printer) bytes(kind, mimeType string, data []byte) error {
	what := strings.TrimPrefix(mimeType+", "+byteSize(len(data)), ", ")
	if p.dir == "" {
		return p.line(kind, what)
	}
	file, err := p.save(mimeType, data)
	if err != nil {
		return fmt.Errorf("save %s: %w", kind, err)
	}
	return p.line(kind, what+":", file)
}

// save writes a file that did not exist. Nothing of the name comes from the
// server but letters and digits.
func (p *printer) save(mimeType string, data []byte) (string, error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return "", err
	}
	const tries = 10_000
	for range tries {
		p.n++
		file := filepath.Join(p.dir, fmt.Sprintf("%s-%d%s", safeName(p.name), p.n, extension(mimeType)))
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return file, errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("%s holds %d such files already", p.dir, tries)
}

func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, cut(name, 60))
}

// extension gives the usual one of common types, whatever the machine's tables say.
func extension(mimeType string) string {
	base, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ".bin"
	}
	known := map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/pdf": ".pdf", "application/json": ".json",
		"text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "application/zip": ".zip",
	}
	if ext := known[base]; ext != "" {
		return ext
	}
	return ".bin"
}
