package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
)

func TestServerContext(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.legacy(t, "2025-06-18", `{}`)
	batching := f.legacy(t, "2025-03-26", `{}`)
	newest := f.legacy(t, "2025-11-25", `{}`)
	old, batch, now := c.session, batching.session, newest.session
	tests := []struct {
		session, version string
		want             mcp.ContextState
		batches, primes  bool
	}{
		{"", "", mcp.SessionRequired, false, false},
		{"", "2025-06-18", mcp.SessionRequired, false, false},
		{"nobody", "", mcp.SessionUnknown, false, false},
		{"nobody", "2025-06-18", mcp.SessionUnknown, false, false},
		{old, "", mcp.Valid, false, false},
		{old, "2025-06-18", mcp.Valid, false, false},
		{old, "2025-11-25", mcp.VersionUnsupported, false, false}, // not the one agreed on
		{old, "2020-01-01", mcp.VersionUnsupported, false, false},
		{old, "x", mcp.VersionUnsupported, false, false},
		{batch, "", mcp.Valid, true, false},
		{now, "2025-11-25", mcp.Valid, false, true},
		{"", "2026-07-28", mcp.Valid, false, false},
		{"nobody", "2026-07-28", mcp.Valid, false, false}, // has no sessions, so none can be unknown
	}
	for _, tt := range tests {
		res := f.CreateContext(tt.session, tt.version)
		if res.State != tt.want || res.Batches != tt.batches || res.Primes != tt.primes {
			t.Errorf("%q %q: %+v", tt.session, tt.version, res)
		}
		if (res.Err != nil) != (res.State != mcp.Valid) {
			t.Errorf("%q %q: error %v", tt.session, tt.version, res.Err)
		}
	}
	f.Terminate(old)
	f.Terminate(old)
	if res := f.CreateContext(old, ""); res.State != mcp.SessionUnknown {
		t.Errorf("a session that was ended is %d", res.State)
	}
}

func TestServerHandshake(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "x": "2025-11-25",
	} {
		c := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
		r := c.call(`{"id":1,"method":"initialize","params":{"protocolVersion":"` + asked + `"}}`)
		if !strings.HasPrefix(text(r), `{"protocolVersion":"`+want+`","capabilities":{`) || !strings.HasSuffix(text(r), `"serverInfo":{"name":"test","version":"1"},"instructions":"Be kind."}`) {
			t.Errorf("%s: %s", asked, text(r))
		}
		if c.out.Session() == "" {
			t.Error("no session was announced")
		}
	}
}

func TestServerHandshakeRefused(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	l := f.legacy(t, "2025-11-25", `{}`)
	none := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
	deaf := &mcptest.Capture{}
	tests := []struct {
		name string
		c    *serverClient
		call string
		want string
	}{
		{"twice", l, `{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `-32600 the session is initialized `},
		{"without a revision", none, `{"id":1,"method":"initialize","params":{}}`, `-32602 initialize needs a protocolVersion `},
		{"not at all", none, `{"id":2,"method":"tools/list"}`, `-32000 a session is required: call initialize first `},
		{"only a ping", none, `{"id":3,"method":"ping"}`, `{}`},
	}
	for _, tt := range tests {
		if got := text(tt.c.call(tt.call)); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	plain := struct{ mcp.Sender }{deaf}
	f.HandleCall(t.Context(), jsonrpc.Call{ID: jsonrpc.IntID(1), Method: "initialize", Params: []byte(`{"protocolVersion":"2025-11-25"}`)}, plain)
	if got := texts(deaf.Messages()); len(got) != 1 || !strings.Contains(got[0], `-32601`) {
		t.Errorf("a session over a sender that can't be told of it: %q", got)
	}
	deaf.Fail(errors.New("gone"))
	f.HandleCall(t.Context(), jsonrpc.Call{ID: jsonrpc.IntID(1), Method: "initialize", Params: []byte(`{"protocolVersion":"2025-11-25"}`)}, deaf)
	if res := f.CreateContext(deaf.Session(), ""); res.State == mcp.Valid {
		t.Error("a session was opened that its client does not know")
	}
}

func TestServerOfOneEra(t *testing.T) {
	t.Parallel()
	modern := newServerFixture(t, func(o *mcp.ServerOptions) { o.Versions = []string{"2026-07-28"} }).modern(t)
	if got := text(modern.call(`{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)); got != `-32022 unsupported protocol version "2025-11-25" {"requested":"2025-11-25","supported":["2026-07-28"]}` {
		t.Error(got)
	}
	if got := text(modern.call(`{"id":2,"method":"tools/list"}`)); !strings.HasPrefix(got, `-32602`) {
		t.Error(got)
	}
	legacy := newServerFixture(t, func(o *mcp.ServerOptions) { o.Versions = []string{"2025-06-18"} })
	if got := text(legacy.modern(t).call(`{"id":1,"method":"server/discover","params":{` + modernMeta + `}}`)); !strings.HasPrefix(got, `-32000`) {
		t.Error(got)
	}
	if got := text(legacy.legacy(t, "2025-11-25", `{}`).call(`{"id":1,"method":"server/discover","params":{` + modernMeta + `}}`)); !strings.HasPrefix(got, `-32601`) {
		t.Error(got)
	}
}

func TestServerLogLevelOfASession(t *testing.T) {
	t.Parallel()
	c := newServerFixture(t, nil).legacy(t, "2025-11-25", `{}`)
	for level, want := range map[string]int{`"debug"`: 2, `"error"`: 1, `"\u0063ritical"`: 0} {
		if got := text(c.call(`{"id":1,"method":"logging/setLevel","params":{"level":` + level + `}}`)); got != `{}` {
			t.Fatal(got)
		}
		c.out = &mcptest.Capture{}
		c.call(`{"id":2,"method":"tools/call","params":{"name":"talk"}}`)
		if got := len(c.out.Messages()) - 1; got != want {
			t.Errorf("%s: %d messages", level, got)
		}
	}
	for _, bad := range []string{`"loud"`, `7`, `null`, `""`, `["error"]`} {
		c.out = &mcptest.Capture{}
		if r := c.call(`{"id":3,"method":"logging/setLevel","params":{"level":` + bad + `}}`); r.Error == nil || r.Error.Code != jsonrpc.InvalidParams {
			t.Errorf("%s: %s", bad, text(r))
		}
	}
}

func TestServerNewsOfASession(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c, other := f.legacy(t, "2025-11-25", `{}`), f.legacy(t, "2025-11-25", `{}`)
	early := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
	early.call(`{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	early.ctx = f.CreateContext(early.out.Session(), "").Attach(t.Context())

	c.call(`{"id":1,"method":"resources/subscribe","params":{"uri":"t://one"}}`)
	c.call(`{"id":2,"method":"resources/subscribe","params":{"uri":"t://two"}}`)
	c.call(`{"id":3,"method":"resources/unsubscribe","params":{"uri":"t://two"}}`)
	f.Changed(mcp.ServerTools) // before anybody listens: it is kept
	f.Updated("t://one")
	f.Updated("t://two")
	f.Log("debug", "l", []byte(`1`))
	f.Log("warning", "l", []byte(`2`))

	listen := func(c *serverClient) (*mcptest.Capture, func() error) {
		out, ended := &mcptest.Capture{}, make(chan error, 1)
		ctx, cancel := context.WithCancel(c.ctx)
		go func() { ended <- f.HandleListen(ctx, out) }()
		return out, func() error { cancel(); return within(t, ended) }
	}
	out, stop := listen(c)
	want := []string{
		`"method":"notifications/tools/list_changed"}`,
		`"method":"notifications/resources/updated","params":{"uri":"t://one"}}`,
		`"method":"notifications/message","params":{"level":"warning","logger":"l","data":2}}`,
	}
	all, err := out.Await(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(all)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	otherOut, otherStop := listen(other)
	if all, err := otherOut.Await(t.Context(), 2); err != nil || len(all) != 2 {
		t.Errorf("%q %v", texts(all), err)
	}
	otherStop()

	earlyOut, earlyStop := listen(early)
	early.send(`{"method":"notifications/initialized"}`)
	f.Changed(mcp.ServerPrompts)
	if all, err := earlyOut.Await(t.Context(), 1); err != nil || !strings.Contains(texts(all)[0], "prompts") {
		t.Errorf("%q %v: news before the session was ready", texts(all), err)
	}
	earlyStop()

	_, lastStop := listen(c)
	f.Terminate(c.session)
	if err := lastStop(); err == nil {
		t.Error("listening to an ended session ended well")
	}
	if err := f.HandleListen(t.Context(), out); err == nil {
		t.Error("listened without a session")
	}
}

func TestServerNewsAreNotLostWithAFailedSender(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.legacy(t, "2025-11-25", `{}`)
	f.Changed(mcp.ServerTools)
	broken := &mcptest.Capture{}
	gone := errors.New("gone")
	broken.Fail(gone)
	if err := f.HandleListen(c.ctx, broken); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	whole := &mcptest.Capture{}
	ctx, cancel := context.WithCancel(c.ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.HandleListen(ctx, whole) }()
	if _, err := whole.Await(t.Context(), 1); err != nil {
		t.Error(err)
	}
	cancel()
	within(t, ended)
}

func TestServerAsksInASession(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.legacy(t, "2025-11-25", `{"elicitation":{},"roots":{},"sampling":{}}`)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"ask"}}`)
	asked := c.await(2)
	if !strings.HasPrefix(asked[0], `"id":1,"method":"elicitation/create","params":{"message"`) || asked[1] != `"id":2,"method":"roots/list"}` {
		t.Fatalf("%q", asked)
	}
	c.send(`{"id":2,"result":{"roots":[]}}`) // in the other order
	c.send(`{"id":99,"result":{}}`)          // to nobody's question
	c.send(`{"id":1,"result":{"action":"decline"}}`)
	if n := len(c.await(3)); n != 3 {
		t.Fatalf("an answer in gave a frame out: %d", n)
	}
	c.send(`{"id":1,"result":{"action":"accept"}}`) // too late
	c.send(`{"id":3,"result":{"role":"assistant"}}`)
	all := c.await(4)
	if all[3] != `"id":1,"result":{"content":[],"structuredContent":[{"action":"decline"},{"roots":[]},{"role":"assistant"}]}}` || len(all) != 4 {
		t.Errorf("%q", all)
	}
}

func TestServerAsksInVain(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.legacy(t, "2025-11-25", `{"elicitation":{"url":{}},"roots":{},"sampling":{}}`)
	if got := text(c.call(`{"id":1,"method":"tools/call","params":{"name":"ask"}}`)); got != `-32600 the client does not support elicitation/create ` {
		t.Error(got)
	}
	c = f.legacy(t, "2025-11-25", `{"elicitation":{"form":{}},"roots":{},"sampling":{}}`)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"ask"}}`)
	c.await(2)
	c.send(`{"id":1,"error":{"code":-1,"message":"no"}}`)
	if got := text(c.call(`{"id":5,"method":"ping"}`)); got != `{}` {
		t.Error(got)
	}
	if r, err := c.out.AwaitResponse(t.Context(), jsonrpc.IntID(1)); err != nil || r.Error == nil || r.Error.Code != jsonrpc.InternalError {
		t.Error(r, err)
	}

	// The client cancels the call: the questions are withdrawn, elsewhere.
	c = f.legacy(t, "2025-11-25", `{"elicitation":{},"roots":{},"sampling":{}}`)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"ask"}}`)
	c.await(2)
	c.send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	news, ended := &mcptest.Capture{}, make(chan error, 1)
	ctx, cancel := context.WithCancel(c.ctx)
	go func() { ended <- f.HandleListen(ctx, news) }()
	all, err := news.Await(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`"method":"notifications/cancelled","params":{"requestId":1}}`, `"method":"notifications/cancelled","params":{"requestId":2}}`}, texts(all)); diff != "" {
		t.Error(diff)
	}
	cancel()
	within(t, ended)
	if n := len(c.out.Messages()); n != 2 {
		t.Errorf("%d messages for a cancelled call", n)
	}

	// The session ends.
	c = f.legacy(t, "2025-11-25", `{"elicitation":{},"roots":{},"sampling":{}}`)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"ask"}}`)
	c.await(2)
	f.Terminate(c.session)
	c.await(3)
}
