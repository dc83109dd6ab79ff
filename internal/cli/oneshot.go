package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// maxPages bounds how many pages of a list are followed without a bridge.
const maxPages = 100

// request sends one request to one MCP URL and returns the envelope, and of it
// the result or the server's error.
func (r *Remote) request(ctx context.Context, c *Context, target, method string, params []byte) (envelope, result []byte, err error) {
	if u, err := url.Parse(target); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, usage("--url: want an MCP URL such as https://mcp.example.com/mcp, not %q", target)
	}
	if r.Addr != "" {
		return nil, nil, usage("--url speaks to a server without a bridge: it does not go with --addr")
	}
	if c.OneShot.CallOnce == nil {
		return nil, nil, errors.New("this build cannot speak to a URL without a bridge")
	}
	headers, err := r.headers()
	if err != nil {
		return nil, nil, err
	}
	envelope, err = c.OneShot.CallOnce(ctx, target, headers, method, params)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return nil, nil, &FailedError{Err: err, Text: "no answer within --timeout"}
	case err != nil:
		return nil, nil, &FailedError{Err: err, Text: err.Error()}
	}
	m, err := objectMembers(envelope)
	if err != nil {
		return nil, nil, &FailedError{Err: err, Text: "the server's answer is no JSON-RPC message"}
	}
	if e := m.get("error"); e != nil {
		return envelope, nil, &FailedError{Text: serverSaid(e)}
	}
	return envelope, m.get("result"), nil
}

func serverSaid(e []byte) string {
	var said struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(e, &said) != nil {
		return "MCP error: " + string(e)
	}
	text := fmt.Sprintf("MCP error %s: %s", said.Code, said.Message)
	if said.Data != nil && string(said.Data) != "null" {
		text += "\n  data:     " + string(said.Data)
	}
	return text
}

// once lists the tools of a lone URL.
func (t *Tools) once(c *Context) error {
	if t.Server != "" || t.Session != "" {
		return usage("--url goes with neither --server nor --session")
	}
	ctx, cancel := t.context(c)
	defer cancel()
	res := &mcpbridgev1.ListToolsResponse{}
	params := members{}
	for range maxPages {
		envelope, result, err := t.request(ctx, c, t.URL, "tools/list", params.appendTo(nil))
		if t.Raw && envelope != nil {
			if err := c.printLaidOut(envelope, false); err != nil {
				return err
			}
		}
		if err != nil {
			return quietIf(t.Raw && envelope != nil, err)
		}
		page, err := objectMembers(result)
		if err != nil {
			return &FailedError{Err: err, Text: "the server's answer is no list of tools"}
		}
		var tools []json.RawMessage
		if err := json.Unmarshal(page.get("tools"), &tools); err != nil {
			return &FailedError{Err: err, Text: "the server's answer is no list of tools"}
		}
		for _, tool := range tools {
			res.Tools = append(res.Tools, decodeTool(tool))
		}
		var cursor *string
		if json.Unmarshal(page.get("nextCursor"), &cursor) != nil || cursor == nil {
			break
		}
		params.put("cursor", quoteJSON(*cursor))
	}
	switch {
	case t.Raw:
		return nil
	case t.JSON && t.Name == "":
		return c.printJSON(res, true)
	}
	return t.show(c, res, "", t.Name)
}

// quietIf leaves out the text of an error that the printed envelope says.
func quietIf(quiet bool, err error) error {
	var failed *FailedError
	if quiet && errors.As(err, &failed) {
		return &FailedError{Err: err}
	}
	return err
}

func decodeTool(raw []byte) *mcpbridgev1.Tool {
	m, _ := objectMembers(raw)
	tool := &mcpbridgev1.Tool{Name: m.str("name"), Title: m.str("title"), Description: m.str("description"), InputSchema: &mcpbridgev1.Json{Text: string(m.get("inputSchema"))}}
	if out := m.get("outputSchema"); out != nil {
		tool.OutputSchema = &mcpbridgev1.Json{Text: string(out)}
	}
	if a, err := objectMembers(m.get("annotations")); err == nil {
		tool.Annotations = &mcpbridgev1.ToolAnnotations{Title: a.str("title"), ReadOnlyHint: boolean(a, "readOnlyHint"), DestructiveHint: boolean(a, "destructiveHint"), IdempotentHint: boolean(a, "idempotentHint"), OpenWorldHint: boolean(a, "openWorldHint")}
	}
	return tool
}

func boolean(m members, key string) *bool {
	var v *bool
	if json.Unmarshal(m.get(key), &v) != nil {
		return nil
	}
	return v
}

// once calls a tool at a lone URL.
func (t *Call) once(c *Context, args string) error {
	if t.Server != "" || t.Session != "" {
		return usage("--url goes with neither --server nor --session")
	}
	ctx, cancel := t.context(c)
	defer cancel()
	params := members{{"name", quoteJSON(t.Tool)}}
	if args == "" {
		args = "{}"
	}
	params.put("arguments", json.RawMessage(args))
	envelope, result, err := t.request(ctx, c, t.URL, "tools/call", params.appendTo(nil))
	if t.Raw && envelope != nil {
		if _, err := c.Stdout.Write(append(bytes.TrimRight(envelope, "\n"), '\n')); err != nil {
			return err
		}
	}
	if err != nil {
		return quietIf(t.Raw && envelope != nil, err)
	}
	m, err := objectMembers(result)
	if err != nil {
		return &FailedError{Err: err, Text: "the server's answer is no result of a tool"}
	}
	switch {
	case t.Raw:
	case t.JSON:
		err = c.printLaidOut(result, true)
	default:
		err = (&printer{c: c, dir: t.Output, name: t.Tool}).result(decodeResult(m))
	}
	if err != nil {
		return err
	}
	if kind := m.str("resultType"); kind == "input_required" {
		return &FailedError{Text: "the server asks something before it can go on, and this command cannot answer"}
	}
	if string(m.get("isError")) == "true" {
		return toolFailed(c, "")
	}
	return nil
}

func decodeResult(m members) *mcpbridgev1.ToolResult {
	r := &mcpbridgev1.ToolResult{}
	if s := m.get("structuredContent"); s != nil && string(s) != "null" {
		r.StructuredContent = &mcpbridgev1.Json{Text: string(s)}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(m.get("content"), &blocks) != nil {
		return r
	}
	for _, b := range blocks {
		r.Content = append(r.Content, decodeContent(b))
	}
	return r
}

// decodeContent decodes what a person is shown, and keeps all else as it is.
func decodeContent(raw []byte) *mcpbridgev1.Content {
	m, _ := objectMembers(raw)
	data, err := base64.StdEncoding.DecodeString(m.str("data"))
	switch kind := m.str("type"); {
	case kind == "text":
		return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_Text{Text: &mcpbridgev1.TextContent{Text: m.str("text")}}}
	case kind == "image" && err == nil:
		return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_Image{Image: &mcpbridgev1.ImageContent{MimeType: m.str("mimeType"), Data: data}}}
	case kind == "audio" && err == nil:
		return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_Audio{Audio: &mcpbridgev1.AudioContent{MimeType: m.str("mimeType"), Data: data}}}
	case kind == "resource_link":
		return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_ResourceLink{ResourceLink: &mcpbridgev1.ResourceLink{Uri: m.str("uri"), Name: m.str("name"), MimeType: m.str("mimeType")}}}
	case kind == "resource":
		r, _ := objectMembers(m.get("resource"))
		contents := &mcpbridgev1.ResourceContents{Uri: r.str("uri"), MimeType: r.str("mimeType"), Body: &mcpbridgev1.ResourceContents_Text{Text: r.str("text")}}
		if blob, err := base64.StdEncoding.DecodeString(r.str("blob")); err == nil && r.get("blob") != nil {
			contents.Body = &mcpbridgev1.ResourceContents_Blob{Blob: blob}
		}
		return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_Resource{Resource: contents}}
	}
	return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_Other{Other: &mcpbridgev1.OtherContent{Type: m.str("type"), Raw: &mcpbridgev1.Json{Text: string(raw)}}}}
}
