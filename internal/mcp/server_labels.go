package mcp

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

type serverLabelsKey struct{}

// ContextWithLabels carries what a transport found beside a message's body, such
// as headers, decoded. A transport that has no such place must not call it; one
// that has must, even if nothing was there: what is missing is an error too.
func ContextWithLabels(ctx context.Context, l transport.Labels) context.Context {
	return context.WithValue(ctx, serverLabelsKey{}, l)
}

func labelsOf(ctx context.Context) (transport.Labels, bool) {
	l, ok := ctx.Value(serverLabelsKey{}).(transport.Labels)
	return l, ok
}

// labelMismatch is -32020 (2026-07-28 §transports/streamable-http, Server
// validation).
func labelMismatch(format string, args ...any) *jsonrpc.Error {
	return errorf(jsonrpc.HeaderMismatch, "header mismatch: "+format, args...)
}

// checkLabels compares what stands beside the body with the body.
func checkLabels(ctx context.Context, c *jsonrpc.Call, version string) *jsonrpc.Error {
	l, ok := labelsOf(ctx)
	switch {
	case !ok:
		return nil
	case l.Version != version:
		return labelMismatch("the protocol version is %q, the body says %q", shorten(l.Version), shorten(version))
	case l.Method != c.Method:
		return labelMismatch("the method is %q, the body says %q", shorten(l.Method), shorten(c.Method))
	}
	var p struct {
		Name jsontext.Value `json:"name"`
		URI  jsontext.Value `json:"uri"`
	}
	if e := serverRead(c.Params, &p); e != nil {
		return e
	}
	var want jsontext.Value
	switch c.Method {
	case "tools/call", "prompts/get":
		want = p.Name
	case "resources/read":
		want = p.URI
	default:
		return nil
	}
	if want.Kind() != '"' {
		return nil // the method itself will say what is wrong
	}
	var name string
	if e := serverRead(want, &name); e != nil {
		return e
	}
	switch {
	case !l.HasName:
		return labelMismatch("the name is missing")
	case l.Name != name:
		return labelMismatch("the name is %q, the body says %q", shorten(l.Name), shorten(name))
	}
	return nil
}

// checkMirrored compares the arguments that a tool wants repeated beside the
// body.
func checkMirrored(ctx context.Context, t *serverTool, args []byte) *jsonrpc.Error {
	l, ok := labelsOf(ctx)
	if !ok || l.Method == "" || len(t.mirrored) == 0 {
		return nil
	}
	for _, m := range t.mirrored {
		value, inBody := m.find(args)
		i := -1
		for k := range l.Params {
			if strings.EqualFold(l.Params[k].Name, m.header) {
				i = k
			}
		}
		switch {
		case !inBody && i < 0:
		case !inBody:
			return labelMismatch("%s has a value, the body has none", m.header)
		case i < 0:
			return labelMismatch("%s is missing", m.header)
		case !m.same(value, l.Params[i].Value):
			return labelMismatch("%s is %q, the body says %s", m.header, shorten(l.Params[i].Value), shorten(string(value)))
		}
	}
	return nil
}
