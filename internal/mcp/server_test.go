package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
)

func TestServerEntriesReturnNoProtocolOutput(t *testing.T) {
	t.Parallel()
	s := reflect.TypeFor[*mcp.Server]()
	for _, name := range []string{"HandleCall", "HandleNotification", "HandleResponse", "HandleUnreadable", "Terminate"} {
		m, ok := s.MethodByName(name)
		if !ok || m.Type.NumOut() != 0 {
			t.Errorf("%s is missing or has a result", name)
		}
	}
	if n := reflect.TypeFor[mcp.Sender]().NumMethod(); n != 1 {
		t.Errorf("a sender has %d methods", n)
	}
}

func TestServerAnswersAfterReturnFromOtherGoroutinesOutOfOrder(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	for era, c := range map[string]*serverClient{"modern": f.modern(t), "legacy": f.legacy(t, "2025-11-25", `{}`)} {
		c.send(`{"id":1,"method":"tools/call","params":{"name":"hold","arguments":{"n":1},` + modernIf(era) + `}}`)
		if got := within(t, f.started); got != `{"n":1}` {
			t.Fatalf("began with %s", got)
		}
		if n := len(c.out.Messages()); n != 0 {
			t.Fatalf("%s: %d messages before the handler's end", era, n)
		}
		c.call(`{"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":2},` + modernIf(era) + `}}`)
		f.release <- struct{}{}
		all := c.await(2)
		if !strings.HasPrefix(all[0], `"id":2,`) || !strings.HasPrefix(all[1], `"id":1,`) {
			t.Errorf("%s: %q", era, all)
		}
		if err := within(t, f.ended); err != nil {
			t.Error(err)
		}
	}
}

func modernIf(era string) string {
	if era == "modern" {
		return modernMeta
	}
	return `"_meta":{}`
}

func TestServerResults(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	const meta = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}`
	tests := []struct{ name, method, params, modern, legacy string }{
		{"raw arguments", "tools/call", `"name":"echo","arguments":{"z":9007199254740993,"a":1.50}`,
			`{"resultType":"complete","content":[],"structuredContent":{"z":9007199254740993,"a":1.50},` + meta + `}}`,
			`{"content":[],"structuredContent":{"z":9007199254740993,"a":1.50}}`},
		{"a resource, its own _meta, and no line breaks", "resources/read", `"uri":"t://one"`,
			`{"resultType":"complete","ttlMs":60000,"cacheScope":"private","contents":[{"uri":"t://one","text":"1"}],` + meta + `,"own":1}}`,
			`{"contents":[{"uri":"t://one","text":"1"}],"_meta":{"own":1}}`},
		{"a template", "resources/read", `"uri":"t://items/a%20b/of/c"`,
			`{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":"x","text":"a b c"}],` + meta + `}}`,
			`{"contents":[{"uri":"x","text":"a b c"}]}`},
		{"a resource that is not there", "resources/read", `"uri":"t://items/a/of/"`,
			`-32602 resource not found: t://items/a/of/ {"uri":"t://items/a/of/"}`, `-32002 resource not found: t://items/a/of/ {"uri":"t://items/a/of/"}`},
		{"a resource that its template denies", "resources/read", `"uri":"t://items/0/of/x"`,
			`-32602 resource not found: t://items/0/of/x {"uri":"t://items/0/of/x"}`, `-32002 resource not found: t://items/0/of/x {"uri":"t://items/0/of/x"}`},
		{"a prompt", "prompts/get", `"name":"greet","arguments":{"who":"Ann"}`,
			`{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"Ann"}}],` + meta + `}}`,
			`{"messages":[{"role":"user","content":{"type":"text","text":"Ann"}}]}`},
		{"a prompt without its argument", "prompts/get", `"name":"greet"`, `-32602 prompt greet needs the argument who `, ``},
		{"an unknown prompt", "prompts/get", `"name":"x"`, `-32602 unknown prompt: x `, ``},
		{"an unknown tool", "tools/call", `"name":"x"`, `-32602 unknown tool: x `, ``},
		{"no tool", "tools/call", `"arguments":{}`, `-32602 tools/call needs a name `, ``},
		{"arguments of the wrong kind", "tools/call", `"name":"echo","arguments":[1]`, `-32602 arguments must be an object `, ``},
		{"an unknown method", "tools/x", ``, `-32601 method not found: tools/x `, ``},
		{"a method of one era", "ping", ``, `-32601 method not found: ping `, `{}`},
		{"a method of the other era", "server/discover", ``,
			`{"resultType":"complete","ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
				`"capabilities":{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}},"instructions":"Be kind.",` + meta + `}}`,
			`-32601 method not found: server/discover `},
		{"the handler's own error", "tools/call", `"name":"bad","arguments":{"how":"rpc"}`, `7 own words [1]`, ``},
		{"an error that is nobody's business", "tools/call", `"name":"bad","arguments":{"how":"error"}`, `-32603 internal error `, ``},
		{"a panic", "tools/call", `"name":"bad","arguments":{"how":"panic"}`, `-32603 internal error `, ``},
		{"a result that is no JSON", "tools/call", `"name":"bad","arguments":{"how":"json"}`, `-32603 internal error `, ``},
		{"a result that is no object", "tools/call", `"name":"bad"`, `-32603 internal error `, ``},
		{"an unknown reference", "completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`, `-32602 nothing to complete: unknown reference `, ``},
		{"a template that completes nothing", "completion/complete", `"ref":{"type":"ref/resource","uri":"t://items/{id}/of/{box}"},"argument":{"name":"id","value":""}`,
			`{"resultType":"complete","completion":{"values":[],"total":0,"hasMore":false},` + meta + `}}`, `{"completion":{"values":[],"total":0,"hasMore":false}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			members := tt.params
			if members != "" {
				members += ","
			}
			if tt.legacy == "" {
				tt.legacy = tt.modern
			}
			for era, want := range map[string]string{"modern": tt.modern, "legacy": tt.legacy} {
				c := f.modern(t)
				if era == "legacy" {
					c = f.legacy(t, "2025-11-25", `{}`)
				}
				got := text(c.call(`{"id":1,"method":"` + tt.method + `","params":{` + members + modernIf(era) + `}}`))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", era, diff)
				}
			}
		})
	}
}

func TestServerCompletionIsBounded(t *testing.T) {
	t.Parallel()
	c := newServerFixture(t, nil).modern(t)
	r := c.call(`{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"v"},"context":{"arguments":{"lang":"de"}},` + modernMeta + `}}`)
	if got := text(r); !strings.Contains(got, `"vde99"],"total":150,"hasMore":true`) {
		t.Error(got)
	}
}

func TestServerPages(t *testing.T) {
	t.Parallel()
	c := newServerFixture(t, nil).modern(t)
	var names []string
	cursor := ""
	for i := range 10 {
		r := c.call(fmt.Sprintf(`{"id":%d,"method":"tools/list","params":{%s%s}}`, i, cursor, modernMeta))
		var page struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Next *string `json:"nextCursor"`
		}
		decode(t, r.Result, &page)
		if len(page.Tools) > 2 {
			t.Fatalf("a page of %d", len(page.Tools))
		}
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		if page.Next == nil {
			break
		}
		cursor = `"cursor":"` + *page.Next + `",`
	}
	if want := []string{"echo", "hold", "talk", "ask", "bad", "mirror"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	for _, bad := range []string{`""`, `"x"`, `"dG9vbHM6OTk"`, `7`, strings.TrimSuffix(strings.TrimPrefix(cursor, `"cursor":`), ",")} {
		r := c.call(`{"id":"x","method":"prompts/list","params":{"cursor":` + bad + `,` + modernMeta + `}}`)
		if r.Error == nil || r.Error.Code != jsonrpc.InvalidParams {
			t.Errorf("cursor %s: %s", bad, text(r))
		}
		c.out = &mcptest.Capture{}
	}
}

func TestServerProgressAndLog(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	progress := []string{
		`"method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":3,"message":"one"}}`,
		`"method":"notifications/message","params":{"level":"error","logger":"t","data":{"e":1}}}`,
		`"method":"notifications/progress","params":{"progressToken":"p","progress":2.5,"total":3}}`,
	}
	tests := []struct {
		name, version, meta string
		want                []string
	}{
		{"modern, nothing wanted", "", ``, nil},
		{"modern, both wanted", "", `"progressToken":"p","io.modelcontextprotocol/logLevel":"info",`, progress},
		{"legacy, logs are sent unasked", "2025-11-25", ``, progress[1:2]},
		{"legacy", "2025-11-25", `"progressToken":"p"`, progress},
		{"legacy, before messages", "2024-11-05", `"progressToken":7`, []string{
			`"method":"notifications/progress","params":{"progressToken":7,"progress":1,"total":3}}`, progress[1],
			`"method":"notifications/progress","params":{"progressToken":7,"progress":2.5,"total":3}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := f.modern(t)
			meta := strings.Replace(modernMeta, `{`, `{`+tt.meta, 1)
			if tt.version != "" {
				c, meta = f.legacy(t, tt.version, `{}`), `"_meta":{`+tt.meta+`}`
			}
			c.call(`{"id":1,"method":"tools/call","params":{"name":"talk",` + meta + `}}`)
			got := texts(c.out.Messages())
			if diff := cmp.Diff(tt.want, got[:len(got)-1:len(got)-1], cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestServerCancel(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	for era, c := range map[string]*serverClient{"modern": f.modern(t), "legacy": f.legacy(t, "2025-11-25", `{}`)} {
		c.send(`{"id":"7","method":"tools/call","params":{"name":"hold",` + strings.Replace(modernIf(era), `{`, `{"progressToken":1`+map[string]string{"modern": ",", "legacy": ""}[era], 1) + `}}`)
		within(t, f.started)
		c.send(`{"method":"notifications/cancelled","params":{"requestId":7}}`) // another id
		c.send(`{"method":"notifications/cancelled","params":{"requestId":null}}`)
		c.send(`{"method":"notifications/cancelled"}`)
		select {
		case err := <-f.ended:
			t.Fatalf("%s: ended with %v", era, err)
		default:
		}
		c.send(`{"method":"notifications/cancelled","params":{"requestId":"7","reason":"enough"}}`)
		if err := within(t, f.ended); err == nil {
			t.Errorf("%s: not cancelled", era)
		}
		c.call(`{"id":"7","method":"tools/call","params":{"name":"echo","arguments":{},` + modernIf(era) + `}}`) // the id is free again
		if all := texts(c.out.Messages()); len(all) != 1 {
			t.Errorf("%s: something was sent for a cancelled call: %q", era, all)
		}
	}
}

func TestServerCancelIsNotForOthers(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	a, b := f.modern(t), f.modern(t)
	a.send(`{"id":1,"method":"tools/call","params":{"name":"hold","arguments":{},` + modernMeta + `}}`)
	within(t, f.started)
	b.send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	f.release <- struct{}{}
	if r, err := a.out.AwaitResponse(t.Context(), jsonrpc.IntID(1)); err != nil || r.Error != nil {
		t.Fatal(r, err)
	}
	if err := within(t, f.ended); err != nil {
		t.Error(err)
	}
}

func TestServerHangingUpCancels(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.modern(t)
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.ctx = ctx
	c.send(`{"id":1,"method":"tools/call","params":{"name":"hold",` + modernMeta + `}}`)
	within(t, f.started)
	gone := errors.New("gone")
	cancel(gone)
	if err := within(t, f.ended); err != gone {
		t.Error(err)
	}
}

func TestServerDuplicateID(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.modern(t)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"hold","arguments":{},` + modernMeta + `}}`)
	within(t, f.started)
	if r := c.call(`{"id":1,"method":"tools/call","params":{"name":"echo",` + modernMeta + `}}`); r.Error == nil || r.Error.Code != jsonrpc.InvalidRequest {
		t.Error(text(r))
	}
	f.release <- struct{}{}
	c.await(2)
}

func TestServerIsBounded(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, func(o *mcp.ServerOptions) { o.MaxCalls, o.MaxListens, o.MaxSessions = 2, 1, 1 })
	c := f.modern(t)
	for i := range 2 {
		c.send(fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":"hold","arguments":{},%s}}`, i, modernMeta))
		within(t, f.started)
	}
	busy := func(call string) {
		t.Helper()
		if r := c.call(call); r.Error == nil || r.Error.Code != -32000 {
			t.Error(text(r))
		}
	}
	busy(`{"id":3,"method":"tools/call","params":{"name":"echo",` + modernMeta + `}}`)
	c.call(`{"id":4,"method":"tools/list","params":{` + modernMeta + `}}`) // costs no goroutine
	c.send(`{"id":5,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}}`)
	c.await(3)
	busy(`{"id":6,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}}`)
	f.release <- struct{}{}
	f.release <- struct{}{}
	c.await(6)

	// A session with a call at work is kept, an idle one makes room.
	l := f.legacy(t, "2025-11-25", `{}`)
	l.send(`{"id":1,"method":"tools/call","params":{"name":"hold","arguments":{}}}`)
	within(t, f.started)
	busy(`{"id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	f.release <- struct{}{}
	l.await(1)
}

func TestServerForgetsIdleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newServerFixture(t, func(o *mcp.ServerOptions) { o.MaxSessions, o.SessionIdle = 2, time.Minute })
		open := func() (id string) {
			c := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
			if r := c.call(`{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`); r.Error != nil {
				t.Fatal(r.Error)
			}
			return c.out.Session()
		}
		state := func(id string) mcp.ContextState { return f.CreateContext(id, "").State }
		a := open()
		<-time.After(50 * time.Second)
		b := open()
		<-time.After(20 * time.Second)
		c := open() // a is too old
		if state(a) != mcp.SessionUnknown || state(b) != mcp.Valid || state(c) != mcp.Valid {
			t.Fatal("the wrong one was forgotten")
		}
		<-time.After(time.Second)
		state(b) // a use
		open()   // no room: c was not used for longer
		if state(b) != mcp.Valid || state(c) != mcp.SessionUnknown {
			t.Fatal("not the least recently used was forgotten")
		}
	})
}

func TestServerClose(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c, l := f.modern(t), f.legacy(t, "2025-11-25", `{}`)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"hold",` + modernMeta + `}}`)
	l.send(`{"id":1,"method":"tools/call","params":{"name":"hold"}}`)
	within(t, f.started)
	within(t, f.started)
	c.send(`{"id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)
	c.await(1)
	listening := make(chan error, 1)
	go func() { listening <- f.HandleListen(l.ctx, l.out) }()
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if within(t, f.ended) == nil {
			t.Error("a handler was not told")
		}
	}
	if err := within(t, listening); err == nil {
		t.Error("listening ended well")
	}
	want := `"id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/subscriptionId":2}}}`
	if all := texts(c.out.Messages()); !slices.Contains(all, want) {
		t.Errorf("the subscription did not end with a result: %q", all)
	}
	if r := c.call(`{"id":3,"method":"tools/call","params":{"name":"echo",` + modernMeta + `}}`); r.Error == nil {
		t.Error("a closed server took a call")
	}
	n := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
	if r := n.call(`{"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`); r.Error == nil {
		t.Error("a closed server opened a session")
	}
}

func TestServerCloseIsBounded(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	f := newServerFixture(t, func(o *mcp.ServerOptions) {
		o.Tools = append(o.Tools, mcp.ServerTool{Name: "deaf", Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) {
			<-stop
			return []byte(`{}`), nil
		}})
	})
	f.modern(t).send(`{"id":1,"method":"tools/call","params":{"name":"deaf",` + modernMeta + `}}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v while a handler was at work", err)
	}
	close(stop)
}

func TestServerUnreadable(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	out := &mcptest.Capture{}
	for _, in := range []string{`{"a"`, `[1]`, `{"id":1}`, `{"id":{},"method":"x"}`} {
		_, err := jsonrpc.Parse([]byte(in))
		f.HandleUnreadable(t.Context(), err, out)
	}
	for i, want := range []int64{-32700, -32600, -32600, -32600} {
		if r := out.Messages()[i].(*jsonrpc.Response); !r.ID.IsZero() || r.Error.Code != want {
			t.Errorf("%d: %s", i, jsonrpc.Append(nil, r))
		}
	}
}

func TestNewServerRefusesWhatContradictsItself(t *testing.T) {
	t.Parallel()
	h := func(context.Context, *mcp.ServerRequest) ([]byte, error) { return nil, nil }
	mirror := func(schema string) mcp.ServerOptions {
		return mcp.ServerOptions{Name: "n", Version: "1", Tools: []mcp.ServerTool{{Name: "t", Handle: h, InputSchema: jsontext.Value(schema)}}}
	}
	template := func(uri string) mcp.ServerOptions {
		return mcp.ServerOptions{Name: "n", Version: "1", Templates: []mcp.ServerTemplate{{URITemplate: uri, Name: "t", Handle: h}}}
	}
	for name, o := range map[string]mcp.ServerOptions{
		"no name":             {Version: "1"},
		"a strange revision":  {Name: "n", Version: "1", Versions: []string{"2020-01-01"}},
		"two tools":           {Name: "n", Version: "1", Tools: []mcp.ServerTool{{Name: "t", Handle: h}, {Name: "t", Handle: h}}},
		"no handler":          {Name: "n", Version: "1", Tools: []mcp.ServerTool{{Name: "t"}}},
		"no schema":           mirror(`[]`),
		"broken schema":       mirror(`{"type":}`),
		"a number mirrored":   mirror(`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`),
		"mirrored twice":      mirror(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`),
		"no token":            mirror(`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`),
		"two resources":       {Name: "n", Version: "1", Resources: []mcp.ServerResource{{URI: "u", Name: "t", Handle: h}, {URI: "u", Name: "t", Handle: h}}},
		"two prompts":         {Name: "n", Version: "1", Prompts: []mcp.ServerPrompt{{Name: "t", Handle: h}, {Name: "t", Handle: h}}},
		"reserved expansion":  template("t://{+path}"),
		"no end":              template("t://{path"),
		"nothing between":     template("t://{a}{b}"),
		"nothing to fill in":  template("t://a"),
		"an empty expression": template("t://{}"),
	} {
		if _, err := mcp.NewServer(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
