package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
)

// modernMeta is what every request of 2026-07-28 carries.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// serverFixture is a server whose tools a test can hold and watch.
type serverFixture struct {
	*mcp.Server
	started chan string   // a "hold" began
	release chan struct{} // lets one "hold" end
	ended   chan error    // how a "hold" ended
}

func newServerFixture(t *testing.T, change func(*mcp.ServerOptions)) *serverFixture {
	t.Helper()
	f := &serverFixture{started: make(chan string, 100), release: make(chan struct{}), ended: make(chan error, 100)}
	o := mcp.ServerOptions{
		Name: "test", Version: "1", Instructions: "Be kind.", PageSize: 2,
		Tools: []mcp.ServerTool{
			{Name: "echo", Handle: func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
				return fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, r.Arguments), nil
			}},
			{Name: "hold", Handle: f.hold},
			{Name: "talk", Handle: talk},
			{Name: "ask", Handle: askTwice},
			{Name: "bad", Handle: bad},
			{Name: "mirror", InputSchema: jsontext.Value(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"object","properties":{"k":{"type":"integer","x-mcp-header":"K"}}}}}`),
				Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) { return []byte(`{"content":[]}`), nil }},
		},
		Resources: []mcp.ServerResource{{URI: "t://one", Name: "one", TTL: time.Minute, Handle: func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
			return fmt.Appendf(nil, "{\"contents\":[{\"uri\":%q,\n\"text\":\"1\"}],\"_meta\":{\"own\":1}}", r.Name), nil
		}}},
		Templates: []mcp.ServerTemplate{{URITemplate: "t://items/{id}/of/{box}", Name: "item", Handle: func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
			if r.Vars["id"] == "0" {
				return nil, r.NotFound()
			}
			return fmt.Appendf(nil, `{"contents":[{"uri":"x","text":%q}]}`, r.Vars["id"]+" "+r.Vars["box"]), nil
		}}},
		Prompts: []mcp.ServerPrompt{{Name: "greet", Arguments: []mcp.ServerPromptArgument{{Name: "who", Required: true}},
			Handle: func(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
				return fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"text","text":%q}}]}`, r.Vars["who"]), nil
			},
			Complete: func(_ context.Context, _, value string, others map[string]string) (out []string, _ error) {
				for i := range 150 {
					out = append(out, fmt.Sprint(value, others["lang"], i))
				}
				return out, nil
			}}},
	}
	if change != nil {
		change(&o)
	}
	s, err := mcp.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("a handler was left behind: %v", err)
		}
	})
	return f
}

func (f *serverFixture) hold(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
	f.started <- string(r.Arguments)
	select {
	case <-ctx.Done():
		r.Progress(99, 100, "too late")
		f.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	case <-f.release:
		f.ended <- nil
		return fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, r.Arguments), nil
	}
}

// talk says a few things on the way.
func talk(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
	r.Progress(1, 3, "one")
	r.Progress(1, 3, "not more")
	r.Log("debug", "t", []byte(`"d"`))
	r.Log("error", "t", []byte(`{"e":1}`))
	r.Progress(2.5, 3, "")
	r.Changed(mcp.ServerTools)
	r.Updated("t://one")
	return []byte(`{"content":[]}`), nil
}

// askTwice asks two questions at once, then a third.
func askTwice(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
	form := jsontext.Value(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)
	two, err := r.Ask(ctx, mcp.ServerQuestion{Key: "a", Method: "elicitation/create", Params: form}, mcp.ServerQuestion{Key: "b", Method: "roots/list"})
	if err != nil {
		return nil, err
	}
	third, err := r.Ask(ctx, mcp.ServerQuestion{Key: "c", Method: "sampling/createMessage", Params: jsontext.Value(`{"messages":[],"maxTokens":1}`)})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"content":[],"structuredContent":[%s,%s,%s]}`, two[0], two[1], third[0]), nil
}

// bad fails in the ways that handlers fail.
func bad(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
	switch string(r.Arguments) {
	case `{"how":"rpc"}`:
		return nil, &jsonrpc.Error{Code: 7, Message: "own words", Data: []byte(`[1]`)}
	case `{"how":"error"}`:
		return nil, fmt.Errorf("a secret")
	case `{"how":"panic"}`:
		panic("a secret")
	case `{"how":"json"}`:
		return []byte(`{"content":[}`), nil
	}
	return []byte(`[]`), nil
}

// serverClient speaks to a server without any transport.
type serverClient struct {
	t   *testing.T
	s   *mcp.Server
	ctx context.Context
	out *mcptest.Capture

	session string
}

// modern is a client of 2026-07-28 on a pipe.
func (f *serverFixture) modern(t *testing.T) *serverClient {
	return &serverClient{t: t, s: f.Server, ctx: mcp.ContextWithLink(t.Context()), out: &mcptest.Capture{}}
}

// legacy is a client after the handshake; its answer to initialize is not in the
// list.
func (f *serverFixture) legacy(t *testing.T, version, capabilities string) *serverClient {
	t.Helper()
	c := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
	r := c.call(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"t","version":"1"}}}`)
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	c.session = c.out.Session()
	res := f.CreateContext(c.session, "")
	if res.State != mcp.Valid {
		t.Fatalf("session %q is not valid: %d", c.out.Session(), res.State)
	}
	c.ctx = res.Attach(t.Context())
	c.out = &mcptest.Capture{}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// send hands a message over.
func (c *serverClient) send(text string) {
	c.t.Helper()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	switch m := m.(type) {
	case *jsonrpc.Call:
		c.s.HandleCall(c.ctx, *m, c.out)
	case *jsonrpc.Notification:
		c.s.HandleNotification(c.ctx, *m)
	case *jsonrpc.Response:
		c.s.HandleResponse(c.ctx, *m)
	}
}

// call hands a call over and waits for its answer.
func (c *serverClient) call(text string) *jsonrpc.Response {
	c.t.Helper()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	c.send(text)
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	r, err := c.out.AwaitResponse(ctx, m.(*jsonrpc.Call).ID)
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return r
}

// await waits for the n-th message.
func (c *serverClient) await(n int) []string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	all, err := c.out.Await(ctx, n)
	if err != nil {
		c.t.Fatal(err)
	}
	return texts(all)
}

func texts(all []jsonrpc.Message) (out []string) {
	for _, m := range all {
		out = append(out, strings.TrimPrefix(string(jsonrpc.Append(nil, m)), `{"jsonrpc":"2.0",`))
	}
	return out
}

// text is an answer without its envelope.
func text(r *jsonrpc.Response) string {
	if r.Error != nil {
		return fmt.Sprintf("%d %s %s", r.Error.Code, r.Error.Message, r.Error.Data)
	}
	return string(r.Result)
}

func within[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(5 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

func decode(t *testing.T, b []byte, dst any) {
	t.Helper()
	if err := json.Unmarshal(b, dst); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
}

// inputRequired is a result of 2026-07-28 as far as the tests read it.
type inputRequired struct {
	Type     string `json:"resultType"`
	Requests map[string]struct {
		Method string `json:"method"`
	} `json:"inputRequests"`
	State string `json:"requestState"`

	text, err string
}

// gatedSender takes nothing until it is released.
type gatedSender struct{ release chan struct{} }

func (g *gatedSender) Send(jsonrpc.Message) error {
	<-g.release
	return nil
}

func parseCall(t *testing.T, text string) *jsonrpc.Call {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m.(*jsonrpc.Call)
}
