package serve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func newServer(t *testing.T) *mcp.Server {
	t.Helper()
	s, err := mcp.NewServer(mcp.ServerOptions{Name: "test", Version: "1",
		Tools: []mcp.ServerTool{
			{Name: "echo", Handle: func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
				r.Progress(1, 2, "")
				r.Log("error", "", []byte(`"x"`))
				return []byte(`{"content":[]}`), nil
			}},
			{Name: "ask", Handle: func(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
				a, err := r.Ask(ctx, mcp.ServerQuestion{Key: "k", Method: "elicitation/create", Params: jsontext.Value(`{"message":"?"}`)})
				if err != nil {
					return nil, err
				}
				return []byte(`{"content":[],"structuredContent":` + string(a[0]) + `}`), nil
			}},
		},
		Resources: []mcp.ServerResource{{URI: "t://x", Name: "x", Handle: func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
			return []byte(`{"contents":[]}`), nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestTheSameOverEveryTransport: session enforcement, version negotiation,
// capabilities and errors are the core's, so they are the same everywhere.
func TestTheSameOverEveryTransport(t *testing.T) {
	t.Parallel()
	const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`
	const initialized = `"id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}`
	const info = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}`
	type step struct{ say, heard string } // heard "": nothing to wait for
	for name, steps := range map[string][]step{
		"a session is required": {
			{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"id":1,"error":{"code":-32000,"message":"a session is required: call initialize first"}`},
			{`{"jsonrpc":"2.0","id":2,"method":"tools/x"}`, `"id":2,"error":{"code":-32000,"message":"a session is required: call initialize first"}`},
			{`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, `"id":3,"error":{"code":-32602,"message":"initialize needs a protocolVersion"}`},
			{initialize, initialized},
			{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
			{`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `"id":4,"result":{}`},
			{initialize, `"id":"i","error":{"code":-32600,"message":"the session is initialized"}`},
		},
		"the revision": {
			{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`, `"protocolVersion":"2025-11-25"`},
			{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}}`,
				`"id":2,"error":{"code":-32022,"message":"unsupported protocol version \"2027-01-01\"","data":{"requested":"2027-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}}`},
			{`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `"id":3,"error":{"code":-32602,"message":"_meta must have io.modelcontextprotocol/clientCapabilities"}`},
		},
		"errors of the older era": {
			{initialize, initialized},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/x"}`, `"id":1,"error":{"code":-32601,"message":"method not found: tools/x"}`},
			{`{"jsonrpc":"2.0","id":"2","method":"prompts/list"}`, `"id":"2","error":{"code":-32601,"message":"method not found: prompts/list"}`},
			{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x"}}`, `"id":3,"error":{"code":-32602,"message":"unknown tool: x"}`},
			{`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"t://y"}}`, `"id":4,"error":{"code":-32002,"message":"resource not found: t://y","data":{"uri":"t://y"}}`},
			{`{"jsonrpc":"2.0","id":5,`, `"id":null,"error":{"code":-32700,`},
			{`{"jsonrpc":"2.0","id":6}`, `"id":null,"error":{"code":-32600,`},
			{`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `"id":null,"error":{"code":-32600,`},
		},
		"errors of 2026-07-28": {
			{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta + `}}`, `"id":1,"error":{"code":-32601,"message":"method not found: ping"}`},
			{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x",` + meta + `}}`, `"id":2,"error":{"code":-32602,"message":"unknown tool: x"}`},
			{`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"t://y",` + meta + `}}`, `"id":3,"error":{"code":-32602,"message":"resource not found: t://y","data":{"uri":"t://y"}}`},
			{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask",` + meta + `}}`, `"id":4,"error":{"code":-32021,`},
		},
		"a call on its way": {
			{initialize, initialized},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"p"}}}`, `"method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2}`},
			{``, `"method":"notifications/message","params":{"level":"error","data":"x"}`},
			{``, `"id":1,"result":{"content":[]}`},
			{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`, `"id":1,"method":"elicitation/create","params":{"message":"?"}`},
			{`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`, `"id":2,"result":{"content":[],"structuredContent":{"action":"accept"}}`},
		},
		"a call of 2026-07-28 on its way": {
			{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + strings.Replace(meta, `{`, `{"progressToken":"p",`, 1) + `}}`, `"method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2}`},
			{``, `"id":1,"result":{"resultType":"complete","content":[],` + info + `}`},
			{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"t://x",` + meta + `}}`, `"id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[],` + info + `}`},
			{`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`, `"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}`},
		},
	} {
		for transport, dial := range transports {
			t.Run(name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				p := dial(t, newServer(t))
				for _, st := range steps {
					if st.say != "" {
						p.say(st.say)
					}
					if st.heard == "" {
						continue
					}
					got := p.heard()
					parse(t, got)
					if !strings.Contains(got, st.heard) {
						t.Fatalf("%s\ngave %s\nnot  %s", st.say, got, st.heard)
					}
				}
			})
		}
	}
}

// TestNewsOverEveryTransport: what belongs to no call finds its way too.
func TestNewsOverEveryTransport(t *testing.T) {
	t.Parallel()
	for transport, dial := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			p := dial(t, s)
			p.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
			p.heard()
			p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			p.say(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"t://x"}}`)
			p.heard()
			s.Changed(mcp.ServerTools)
			s.Updated("t://x")
			for _, want := range []string{"notifications/tools/list_changed", "notifications/resources/updated"} {
				if n, ok := parse(t, p.heard()).(*jsonrpc.Notification); !ok || n.Method != want {
					t.Errorf("%v instead of %s", n, want)
				}
			}
		})
	}
}
