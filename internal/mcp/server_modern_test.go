package mcp_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

func TestServerModernMeta(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	const v = `"io.modelcontextprotocol/protocolVersion":`
	const caps = `"io.modelcontextprotocol/clientCapabilities":`
	for meta, want := range map[string]string{
		v + `"2026-07-28",` + caps + `{}`:   `{"resultType"`,
		v + `"2026-07-28"`:                  `-32602 _meta must have io.modelcontextprotocol/clientCapabilities `,
		v + `"2026-07-28",` + caps + `[]`:   `-32602 `,
		v + `"2026-07-28",` + caps + `null`: `-32602 `,
		v + `null,` + caps + `{}`:           `-32602 `,
		v + `7,` + caps + `{}`:              `-32602 `,
		v + `"2027-01-01",` + caps + `{}`:   `-32022 unsupported protocol version "2027-01-01" {"requested":"2027-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}`,
		v + `"2025-11-25",` + caps + `{}`:   `-32022 `,
		v + `"2026-07-28",` + caps + `{},"io.modelcontextprotocol/logLevel":"loud"`: `-32602 invalid log level`,
	} {
		if got := text(f.modern(t).call(`{"id":1,"method":"tools/list","params":{"_meta":{` + meta + `}}}`)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", meta, got)
		}
	}
	if got := text(f.modern(t).call(`{"id":1,"method":"tools/list","params":[]}`)); !strings.HasPrefix(got, `-32602`) {
		t.Error(got)
	}
}

func TestServerLabels(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	good := func(method, name string, params ...transport.Label) transport.Labels {
		return transport.Labels{Version: "2026-07-28", Method: method, Name: name, HasName: name != "", Params: params}
	}
	region, k := transport.Label{Name: "region", Value: "zürich "}, transport.Label{Name: "K", Value: "42.0"}
	mirror := func(args string) string { return `"tools/call","params":{"name":"mirror","arguments":` + args + `,` }
	tests := []struct {
		name   string
		labels transport.Labels
		call   string
		want   string // in the error; empty: none
	}{
		{"a list", good("tools/list", ""), `"tools/list","params":{`, ""},
		{"a list with a name", good("tools/list", "x"), `"tools/list","params":{`, ""},
		{"nothing", transport.Labels{}, `"tools/list","params":{`, "version"},
		{"another revision", transport.Labels{Version: "2025-11-25", Method: "tools/list"}, `"tools/list","params":{`, "version"},
		{"no method", transport.Labels{Version: "2026-07-28"}, `"tools/list","params":{`, "method"},
		{"another method", good("Tools/list", ""), `"tools/list","params":{`, "method"},
		{"a tool", good("tools/call", "mirror"), mirror(`{}`), ""},
		{"a tool without its name", good("tools/call", ""), mirror(`{}`), "name is missing"},
		{"another tool", good("tools/call", "Mirror"), mirror(`{}`), "name is"},
		{"a resource", good("resources/read", "t://one"), `"resources/read","params":{"uri":"t://one",`, ""},
		{"another resource", good("resources/read", "t://two"), `"resources/read","params":{"uri":"t://one",`, "name is"},
		{"a prompt", good("prompts/get", "greet"), `"prompts/get","params":{"name":"greet","arguments":{"who":"x"},`, ""},
		{"another prompt", good("prompts/get", "x"), `"prompts/get","params":{"name":"greet",`, "name is"},
		{"mirrored", good("tools/call", "mirror", region, k), mirror(`{"region":"zürich ","n":{"k":42}}`), ""},
		{"mirrored, null", good("tools/call", "mirror"), mirror(`{"region":null,"n":{"k":null}}`), ""},
		{"mirrored, missing", good("tools/call", "mirror", k), mirror(`{"region":"zürich ","n":{"k":42}}`), "Region is missing"},
		{"mirrored, another", good("tools/call", "mirror", region), mirror(`{"region":"x"}`), "Region is"},
		{"mirrored, another number", good("tools/call", "mirror", k), mirror(`{"n":{"k":43}}`), "K is"},
		{"mirrored, not in the body", good("tools/call", "mirror", region), mirror(`{}`), "Region has a value"},
		{"not mirrored", good("tools/call", "mirror", transport.Label{Name: "other", Value: "x"}), mirror(`{}`), ""},
	}
	for _, tt := range tests {
		c := f.modern(t)
		c.ctx = mcp.ContextWithLabels(c.ctx, tt.labels)
		r := c.call(`{"id":1,"method":` + tt.call + modernMeta + `}}`)
		switch {
		case tt.want == "" && r.Error != nil, tt.want != "" && (r.Error == nil || r.Error.Code != -32020 || !strings.Contains(r.Error.Message, tt.want)):
			t.Errorf("%s: %s", tt.name, text(r))
		}
	}

	// A request whose header names the revision is a modern one, whatever its body.
	c := f.modern(t)
	c.ctx = mcp.ContextWithLabels(c.ctx, good("tools/list", ""))
	if got := text(c.call(`{"id":1,"method":"tools/list"}`)); !strings.HasPrefix(got, `-32602 _meta must have io.modelcontextprotocol/protocolVersion`) {
		t.Error(got)
	}
}

func TestServerListen(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := f.modern(t)
	c.send(`{"id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["t://one"],"taskIds":["x"]},` + modernMeta + `}}`)
	c.await(1)
	f.Changed(mcp.ServerPrompts)
	f.Updated("t://two")
	f.Changed(mcp.ServerTools)
	f.Changed(mcp.ServerTools)
	f.Updated("t://one")
	f.Log("error", "", []byte(`1`)) // travels with requests only
	want := []string{
		`"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["t://one"]},"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}`,
		`"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}`,
		`"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}`,
		`"method":"notifications/resources/updated","params":{"uri":"t://one","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}`,
	}
	if diff := cmp.Diff(want, c.await(4)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.send(`{"method":"notifications/cancelled","params":{"requestId":"l"}}`)
	f.Changed(mcp.ServerTools)
	c.call(`{"id":2,"method":"tools/list","params":{` + modernMeta + `}}`)
	if n := len(c.out.Messages()); n != 5 {
		t.Errorf("%d messages: something came after the cancellation", n)
	}
	for _, bad := range []string{``, `"notifications":null,`, `"notifications":[],`, `"notifications":{"resourceSubscriptions":["` + strings.Repeat(`","`, 1100) + `"]},`} {
		if r := f.modern(t).call(`{"id":1,"method":"subscriptions/listen","params":{` + bad + modernMeta + `}}`); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%.50s: %s", bad, text(r))
		}
	}
}

func TestServerListenHonoursOnlyWhatItHas(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, func(o *mcp.ServerOptions) { o.Resources, o.Templates, o.Prompts = nil, nil, nil })
	c := f.modern(t)
	c.send(`{"id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["t://one"]},` + modernMeta + `}}`)
	if got := c.await(1)[0]; !strings.Contains(got, `"notifications":{},`) {
		t.Error(got)
	}
	for _, method := range []string{"resources/list", "resources/read", "prompts/list", "completion/complete"} {
		if r := c.call(`{"id":"` + method + `","method":"` + method + `","params":{` + modernMeta + `}}`); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("%s: %s", method, text(r))
		}
	}
}

func TestServerASlowSubscriberHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	slow := &gatedSender{release: make(chan struct{})}
	ctx, cancel := context.WithCancel(mcp.ContextWithLink(t.Context()))
	c := f.modern(t)
	m := parseCall(t, `{"id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`)
	f.HandleCall(ctx, *m, slow)
	c.send(`{"id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)
	c.await(1)
	for range 5000 { // more than is kept for the slow one
		f.Changed(mcp.ServerTools)
	}
	c.await(1000)
	cancel()
	close(slow.release)
}

func TestServerAsksByInputRequired(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	meta := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{},"roots":{},"sampling":{}}`, 1)
	call := func(arguments, more string) *inputRequired {
		c := f.modern(t)
		r := c.call(`{"id":1,"method":"tools/call","params":{"name":"ask","arguments":` + arguments + `,` + more + meta + `}}`)
		if r.Error != nil {
			return &inputRequired{err: text(r)}
		}
		in := &inputRequired{text: text(r)}
		decode(t, r.Result, in)
		return in
	}
	first := call(`{"x":1}`, ``)
	if first.Type != "input_required" || len(first.Requests) != 2 || first.Requests["a"].Method != "elicitation/create" || first.Requests["b"].Method != "roots/list" || first.State == "" {
		t.Fatalf("%s", first.text)
	}
	// Half the answers: only the rest is asked again, and the half is remembered.
	half := call(`{"x":1}`, `"inputResponses":{"a":{"action":"accept"},"zz":{}},"requestState":"`+first.State+`",`)
	if half.Type != "input_required" || len(half.Requests) != 1 || half.Requests["b"].Method != "roots/list" {
		t.Fatalf("%s", half.text)
	}
	third := call(` { "x" : 1 } `, `"inputResponses":{"b":{"roots":[]},"a":{"action":"forged"}},"requestState":"`+half.State+`",`)
	if third.Type != "input_required" || third.Requests["c"].Method != "sampling/createMessage" {
		t.Fatalf("%s", third.text)
	}
	last := call(`{"x":1}`, `"inputResponses":{"c":{"role":"assistant"}},"requestState":"`+third.State+`",`)
	if last.Type != "complete" || !strings.Contains(last.text, `"structuredContent":[{"action":"accept"},{"roots":[]},{"role":"assistant"}]`) {
		t.Fatalf("%s", last.text)
	}
	for name, got := range map[string]*inputRequired{
		"a state of other arguments": call(`{"x":2}`, `"inputResponses":{"c":{}},"requestState":"`+third.State+`",`),
		"a forged state":             call(`{"x":1}`, `"inputResponses":{"c":{}},"requestState":"`+third.State[:len(third.State)-6]+`AAAAAA",`),
		"no state at all":            call(`{"x":1}`, `"inputResponses":{"c":{}},"requestState":"",`),
		"a state of another kind":    call(`{"x":1}`, `"requestState":7,`),
	} {
		if !strings.HasPrefix(got.err, "-32602") {
			t.Errorf("%s: %s%s", name, got.err, got.text)
		}
	}
	if again := call(`{"x":1}`, `"inputResponses":{"a":{},"b":{}},`); again.Type != "input_required" || len(again.Requests) != 2 {
		t.Errorf("answers without a state: %s", again.text)
	}
}

func TestServerAStateHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newServerFixture(t, func(o *mcp.ServerOptions) { o.Questions = time.Minute })
		meta := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{},"roots":{}}`, 1)
		var in inputRequired
		decode(t, f.modern(t).call(`{"id":1,"method":"tools/call","params":{"name":"ask",`+meta+`}}`).Result, &in)
		<-time.After(62 * time.Second)
		if r := f.modern(t).call(`{"id":1,"method":"tools/call","params":{"name":"ask","requestState":"` + in.State + `",` + meta + `}}`); r.Error == nil || r.Error.Code != -32602 {
			t.Error(text(r))
		}
	})
}

func TestServerAsksNobodyWhoDidNotDeclareIt(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	for caps, want := range map[string]string{
		`{}`:                         `-32021 the client does not support elicitation/create {"requiredCapabilities":{"elicitation":{"form":{}}}}`,
		`{"elicitation":{"url":{}}}`: `-32021 the client does not support elicitation/create {"requiredCapabilities":{"elicitation":{"form":{}}}}`,
		`{"elicitation":{}}`:         `-32021 the client does not support roots/list {"requiredCapabilities":{"roots":{}}}`,
	} {
		meta := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":`+caps, 1)
		if got := text(f.modern(t).call(`{"id":1,"method":"tools/call","params":{"name":"ask",` + meta + `}}`)); got != want {
			t.Errorf("%s: %s", caps, got)
		}
	}
}

func TestServerWithoutALinkIgnoresCancelled(t *testing.T) {
	t.Parallel()
	f := newServerFixture(t, nil)
	c := &serverClient{t: t, s: f.Server, ctx: t.Context(), out: &mcptest.Capture{}}
	c.send(`{"id":1,"method":"tools/call","params":{"name":"hold","arguments":{},` + modernMeta + `}}`)
	within(t, f.started)
	c.send(`{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{},` + modernMeta + `}}`) // ids of two callers may be the same
	c.await(1)
	c.send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	f.release <- struct{}{}
	c.await(2)
}
