package mcp

import "github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"

// Params are the params of a request but for `_meta`, written as the members of
// a JSON object, without braces.
type Params interface {
	AppendMembers(dst []byte) []byte
}

// NoParams is a request without any.
type NoParams struct{}

// AppendMembers appends nothing.
func (NoParams) AppendMembers(dst []byte) []byte { return dst }

// Members are params whose members are JSON text already: `"a":1,"b":2`.
type Members string

// AppendMembers appends the text as it is.
func (m Members) AppendMembers(dst []byte) []byte { return append(dst, m...) }

// ToolCall is the params of tools/call.
type ToolCall struct {
	Name      string
	Arguments string // JSON text, one object on one line; empty: none
	Rest      string // further members as JSON text: `"requestState":"…"`; empty: none
}

// AppendMembers writes name and arguments.
func (p *ToolCall) AppendMembers(dst []byte) []byte {
	dst = append(dst, `"name":`...)
	dst = jsonrpc.AppendString(dst, p.Name)
	if p.Arguments != "" {
		dst = append(append(dst, `,"arguments":`...), p.Arguments...)
	}
	if p.Rest != "" {
		dst = append(append(dst, ','), p.Rest...)
	}
	return dst
}

// Page is the params of a list request.
type Page struct {
	Cursor    string
	HasCursor bool // an empty cursor is one, too
}

// AppendMembers writes the cursor, if there is one.
func (p *Page) AppendMembers(dst []byte) []byte {
	if p.HasCursor {
		dst = append(dst, `"cursor":`...)
		dst = jsonrpc.AppendString(dst, p.Cursor)
	}
	return dst
}
