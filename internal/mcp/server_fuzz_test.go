package mcp_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
)

// FuzzServerResult: whatever a handler returns, the client gets one line of
// valid JSON, with what 2026-07-28 wants in it.
func FuzzServerResult(f *testing.F) {
	for _, s := range []string{`{}`, `{"_meta":{}}`, `{ "_meta" : { "a" : 1 } , "resultType":"x"}`, "{\"a\":\n[1,\r\n2]}", `{"a":1,"a":2}`, `{"_meta":7}`, `{"a":"\n"}`, `[]`, `{`, `{}{}`, ``} {
		f.Add([]byte(s))
	}
	var result []byte
	s, err := mcp.NewServer(mcp.ServerOptions{Name: "n", Version: "1", Tools: []mcp.ServerTool{{Name: "t",
		Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) { return result, nil }}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		result = b
		out := &mcptest.Capture{}
		s.HandleCall(t.Context(), jsonrpc.Call{ID: jsonrpc.IntID(1), Method: "tools/call", Params: []byte(`{"name":"t",` + modernMeta + `}`)}, out)
		r, err := out.AwaitResponse(t.Context(), jsonrpc.IntID(1))
		if err != nil {
			t.Fatal(err)
		}
		line := jsonrpc.Append(nil, r)
		if bytes.ContainsAny(line, "\r\n") || !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("%q became %q", b, line)
		}
		if r.Error == nil && !bytes.HasPrefix(r.Result, []byte(`{"resultType":"complete"`)) {
			t.Fatalf("%q became %q", b, line)
		}
	})
}

// FuzzServerMessage: nothing that a client sends makes the server silent, or
// worse.
func FuzzServerMessage(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1},` + modernMeta + `}}`,
		`{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"id":1,"method":"resources/read","params":{"uri":"t://a/b",` + modernMeta + `}}`,
		`{"id":1,"method":"tools/list","params":{"cursor":"dG9vbHM6MQ",` + modernMeta + `}}`,
		`{"id":1,"method":"tools/call","params":{"name":"t","requestState":"AAAA","inputResponses":{"a":{}},` + modernMeta + `}}`,
		`{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"t://{x}/b"},` + modernMeta + `}}`,
	} {
		f.Add([]byte(s))
	}
	h := func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
		if _, err := r.Ask(context.Background(), mcp.ServerQuestion{Key: "a", Method: "roots/list"}); err != nil {
			return []byte(`{}`), nil
		}
		return []byte(`{}`), nil
	}
	s, err := mcp.NewServer(mcp.ServerOptions{Name: "n", Version: "1",
		Tools:     []mcp.ServerTool{{Name: "t", Handle: h}, {Name: "u", Handle: h}},
		Templates: []mcp.ServerTemplate{{URITemplate: "t://{x}/b", Name: "t", Handle: h, Complete: func(context.Context, string, string, map[string]string) ([]string, error) { return nil, nil }}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := jsonrpc.Parse(b)
		c, ok := m.(*jsonrpc.Call)
		if err != nil || !ok || c.Method == "subscriptions/listen" {
			return
		}
		out := &mcptest.Capture{}
		s.HandleCall(t.Context(), *c, out)
		if _, err := out.AwaitResponse(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkServerCall(b *testing.B) {
	s, err := mcp.NewServer(mcp.ServerOptions{Name: "n", Version: "1", Tools: []mcp.ServerTool{{Name: "t",
		Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) { return []byte(`{"content":[]}`), nil }}}})
	if err != nil {
		b.Fatal(err)
	}
	out := make(answered, 1)
	c := jsonrpc.Call{ID: jsonrpc.IntID(1), Method: "tools/call", Params: []byte(`{"name":"t","arguments":{"a":1},` + modernMeta + `}`)}
	b.ReportAllocs()
	for b.Loop() {
		s.HandleCall(b.Context(), c, out)
		<-out
	}
}

type answered chan jsonrpc.Message

func (a answered) Send(m jsonrpc.Message) error {
	a <- m
	return nil
}
