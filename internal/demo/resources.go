package demo

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

const (
	readmeURI = "demo://readme"
	logoURI   = "demo://logo.png"
	clockURI  = "demo://clock"
	itemsURI  = "demo://items/{id}"
	items     = 250
)

const readme = `# The demo server

It is built into mcp-bridge, so that there is something to try.

- demo://readme is this text, demo://logo.png a picture (a blob).
- demo://clock is the time. It changes every second; subscribe to it.
- demo://items/{id} are 250 things, numbered from 1.
`

// contents is ResourceContents.
type contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text,omitzero"`
	Blob     string `json:"blob,omitzero"`
}

func read(c contents) ([]byte, error) {
	return encode(map[string][]contents{"contents": {c}})
}

func (d *server) resources() []mcp.ServerResource {
	return []mcp.ServerResource{
		{URI: readmeURI, Name: "readme", Title: "Read me", Description: "What there is to see here", MIMEType: "text/markdown",
			Size: int64(len(readme)), TTL: time.Hour,
			Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) {
				return read(contents{URI: readmeURI, MIMEType: "text/markdown", Text: readme})
			}},
		{URI: logoURI, Name: "logo", Title: "Logo", Description: "A bridge, as PNG", MIMEType: "image/png", TTL: time.Hour,
			Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) {
				b, err := logo()
				if err != nil {
					return nil, err
				}
				return read(contents{URI: logoURI, MIMEType: "image/png", Blob: base64.StdEncoding.EncodeToString(b)})
			}},
		{URI: clockURI, Name: "clock", Title: "Clock", Description: "The time; changes every second", MIMEType: "text/plain",
			Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) {
				return read(contents{URI: clockURI, MIMEType: "text/plain", Text: d.clock()})
			}},
	}
}

func templates() []mcp.ServerTemplate {
	return []mcp.ServerTemplate{{
		URITemplate: itemsURI, Name: "item", Title: "Item", Description: "One of 250 things, by its number", MIMEType: "application/json",
		TTL: time.Hour, Handle: item, Complete: completeItem,
	}}
}

func item(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
	id, err := strconv.Atoi(r.Vars["id"])
	if err != nil || id < 1 || id > items {
		return nil, r.NotFound()
	}
	b, err := encode(struct {
		ID     int    `json:"id"`
		Name   string `json:"name"`
		Square int    `json:"square"`
	}{id, "Item " + strconv.Itoa(id), id * id})
	if err != nil {
		return nil, err
	}
	return read(contents{URI: r.Name, MIMEType: "application/json", Text: string(b)})
}

func completeItem(_ context.Context, argument, value string, _ map[string]string) (found []string, _ error) {
	if argument != "id" {
		return nil, nil
	}
	for i := 1; i <= items; i++ {
		if s := strconv.Itoa(i); strings.HasPrefix(s, value) {
			found = append(found, s)
		}
	}
	return found, nil
}
