package demo

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// content is a content block of a tool's result or a prompt's message.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	Data     string `json:"data,omitzero"` // Base64
	MIMEType string `json:"mimeType,omitzero"`
}

// toolResult is CallToolResult.
type toolResult struct {
	Content    []content      `json:"content"`
	Structured jsontext.Value `json:"structuredContent,omitzero"`
	IsError    bool           `json:"isError,omitzero"`
}

func encode(v any) ([]byte, error) { return json.Marshal(v, jsontext.AllowInvalidUTF8(true)) }

func text(format string, args ...any) ([]byte, error) {
	return encode(toolResult{Content: []content{{Type: "text", Text: fmt.Sprintf(format, args...)}}})
}

// failed is a result that says that the tool did not do it.
func failed(format string, args ...any) ([]byte, error) {
	return encode(toolResult{IsError: true, Content: []content{{Type: "text", Text: fmt.Sprintf(format, args...)}}})
}

// structured is a result with a value for programs, and the same as text for
// those that know nothing of it.
func structured(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return encode(toolResult{Structured: b, Content: []content{{Type: "text", Text: string(b)}}})
}

func image(png []byte) ([]byte, error) {
	return encode(toolResult{Content: []content{{Type: "image", MIMEType: "image/png", Data: base64.StdEncoding.EncodeToString(png)}}})
}

// with reads the arguments of a tool. What does not fit is a result, not an
// error, so that a model can correct itself (2025-11-25 §tools, Error handling).
func with[A any](do func(ctx context.Context, r *mcp.ServerRequest, a A) ([]byte, error)) mcp.ServerHandler {
	return func(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
		var a A
		if r.Arguments != nil {
			if err := json.Unmarshal(r.Arguments, &a, jsontext.AllowDuplicateNames(true)); err != nil {
				return failed("The arguments do not fit: %v", err)
			}
		}
		return do(ctx, r, a)
	}
}
