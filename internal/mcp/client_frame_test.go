package mcp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// TestFrames compares frames byte by byte: they may go into signatures, logs and
// caches of others, and white space on a line costs all of them.
func TestFrames(t *testing.T) {
	t.Parallel()
	trace := []transport.Label{{Name: "traceparent", Value: "00-ab-cd-01"}, {Name: "baggage", Value: `a="b"`}}
	headers := []transport.Label{{Name: "Region", Value: "eu"}}
	const m = scriptMeta
	for _, c := range []struct {
		name           string
		r              mcp.Request
		legacy, modern string
	}{
		{"Bare", mcp.Request{Method: "tools/list"},
			`"method":"tools/list"}`,
			`"method":"tools/list","params":{"_meta":{` + m + `}}}`},
		{"NoParams", mcp.Request{Method: "tools/list", Params: mcp.NoParams{}},
			`"method":"tools/list"}`,
			`"method":"tools/list","params":{"_meta":{` + m + `}}}`},
		{"Page", mcp.Request{Method: "tools/list", Params: &mcp.Page{}},
			`"method":"tools/list"}`,
			`"method":"tools/list","params":{"_meta":{` + m + `}}}`},
		{"EmptyCursor", mcp.Request{Method: "tools/list", Params: &mcp.Page{HasCursor: true}},
			`"method":"tools/list","params":{"cursor":""}}`,
			`"method":"tools/list","params":{"cursor":"","_meta":{` + m + `}}}`},
		{"Cursor", mcp.Request{Method: "tools/list", Params: &mcp.Page{Cursor: "a\"\n\x7f\xff", HasCursor: true}},
			`"method":"tools/list","params":{"cursor":"a\"\n` + "\x7f\uFFFD" + `"}}`,
			`"method":"tools/list","params":{"cursor":"a\"\n` + "\x7f\uFFFD" + `","_meta":{` + m + `}}}`},
		{"Tool", mcp.Request{Method: "tools/call", Name: "ž", HasName: true, Params: &mcp.ToolCall{Name: "ž"}},
			`"method":"tools/call","params":{"name":"ž"}}`,
			`"method":"tools/call","params":{"name":"ž","_meta":{` + m + `}}}`},
		{"ToolWithAll", mcp.Request{Method: "tools/call", Params: &mcp.ToolCall{Name: "x", Arguments: `{"n": 1e400}`, Rest: `"requestState":"s"`}},
			`"method":"tools/call","params":{"name":"x","arguments":{"n": 1e400},"requestState":"s"}}`,
			`"method":"tools/call","params":{"name":"x","arguments":{"n": 1e400},"requestState":"s","_meta":{` + m + `}}}`},
		{"Meta", mcp.Request{Method: "ping", Meta: `"k":1`},
			`"method":"ping","params":{"_meta":{"k":1}}}`,
			`"method":"ping","params":{"_meta":{` + m + `,"k":1}}}`},
		{"Everything", mcp.Request{Method: "tools/call", Params: mcp.Members(`"a":1`), Meta: `"k":1`, Progress: true,
			LogLevel: "info", Capabilities: `{"roots":{}}`, Trace: trace, Headers: headers},
			`"method":"tools/call","params":{"a":1,"_meta":{"progressToken":ID,"traceparent":"00-ab-cd-01","baggage":"a=\"b\"","k":1}}}`,
			`"method":"tools/call","params":{"a":1,"_meta":{` + strings.Replace(m, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"roots":{}}`, 1) +
				`,"io.modelcontextprotocol/logLevel":"info","progressToken":ID,"traceparent":"00-ab-cd-01","baggage":"a=\"b\"","k":1}}}`},
		{"LogLevelAlone", mcp.Request{Method: "x", LogLevel: "info"},
			`"method":"x"}`,
			`"method":"x","params":{"_meta":{` + m + `,"io.modelcontextprotocol/logLevel":"info"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, era := range []mcp.Era{mcp.EraLegacy, mcp.EraModern} {
				want := c.legacy
				labels := transport.Labels{Version: "2025-11-25", Trace: c.r.Trace}
				if era == mcp.EraModern {
					want = c.modern
					labels = transport.Labels{Version: "2026-07-28", Method: c.r.Method, Name: c.r.Name,
						HasName: c.r.HasName, Params: c.r.Headers, Trace: c.r.Trace}
				}
				x := sentBy(t, era, &c.r)
				want = `{"jsonrpc":"2.0","id":2,` + strings.ReplaceAll(want, "ID", "2")
				if got := string(x.Frame.Body); got != want {
					t.Errorf("%v: sent\n%s, want\n%s", era, got, want)
				}
				if d := cmp.Diff(labels, x.Frame.Labels); d != "" {
					t.Errorf("%v: labels (-want +got)\n%s", era, d)
				}
			}
		})
	}
}

// sentBy opens a session, makes a request, and returns it as the server sees it.
func sentBy(t *testing.T, era mcp.Era, r *mcp.Request) *transporttest.Exchange {
	t.Helper()
	client, peer := openPair(t, era, transporttest.MemoryOptions{}, mcp.Options{})
	done := make(chan error, 1)
	go func() {
		_, err := client.Do(t.Context(), r)
		done <- err
	}()
	x, err := peer.NextExchange(t.Context())
	if err == nil {
		err = x.Reply([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return x
}

func TestNotificationFrames(t *testing.T) {
	t.Parallel()
	client, peer := openPair(t, mcp.EraLegacy, transporttest.MemoryOptions{}, mcp.Options{})
	for _, c := range []struct {
		r    mcp.Request
		want string
	}{
		{mcp.Request{Method: "notifications/x"}, `{"jsonrpc":"2.0","method":"notifications/x"}`},
		{mcp.Request{Method: "notifications/x", Params: mcp.Members(`"a":1`)}, `{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}`},
		{mcp.Request{Method: "notifications/x", Meta: `"k":1`}, `{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"k":1}}}`},
		{mcp.Request{Method: "notifications/x", Params: mcp.Members(`"a":1`), Meta: `"k":1`},
			`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"_meta":{"k":1}}}`},
	} {
		if err := client.Notify(t.Context(), &c.r); err != nil {
			t.Fatal(err)
		}
		if got, err := peer.Next(t.Context()); err != nil || string(got) != c.want {
			t.Errorf("sent %s, %v, want %s", got, err, c.want)
		}
	}
}
