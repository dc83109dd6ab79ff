package demo_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image/png"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/mcpbridge/mcp-bridge/internal/demo"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
)

const metaKeys = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}},"io.modelcontextprotocol/logLevel":"debug","progressToken":"p"`

// client calls a demo server without a transport.
type client struct {
	t   *testing.T
	s   *mcp.Server
	ctx context.Context
	out *mcptest.Capture
	id  int64
}

func newClient(t *testing.T) *client {
	t.Helper()
	s, err := demo.New(demo.Options{Clock: func() string { return "noon" }})
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
	return &client{t: t, s: s, ctx: mcp.ContextWithLink(t.Context()), out: &mcptest.Capture{}}
}

func (c *client) send(method, members string) jsonrpc.ID {
	c.id++
	if members != "" {
		members += ","
	}
	id := jsonrpc.IntID(c.id)
	c.s.HandleCall(c.ctx, jsonrpc.Call{ID: id, Method: method, Params: []byte(`{` + members + `"_meta":{` + metaKeys + `}}`)}, c.out)
	return id
}

func (c *client) call(method, members string) *jsonrpc.Response {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	r, err := c.out.AwaitResponse(ctx, c.send(method, members))
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, members, err)
	}
	return r
}

// result is any result as far as the tests read it.
type result struct {
	Content []struct {
		Type, Text, Data, MIMEType string
	} `json:"content"`
	Structured jsontext.Value `json:"structuredContent"`
	IsError    bool           `json:"isError"`
	Contents   []struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob string `json:"blob"`
	} `json:"contents"`
	Type     string                    `json:"resultType"`
	Requests map[string]jsontext.Value `json:"inputRequests"`
	State    string                    `json:"requestState"`
}

func (c *client) tool(name, arguments string) (r result) {
	c.t.Helper()
	c.decode(c.call("tools/call", `"name":"`+name+`","arguments":`+arguments), &r)
	return r
}

func (c *client) decode(r *jsonrpc.Response, dst any) {
	c.t.Helper()
	if r.Error != nil {
		c.t.Fatal(r.Error)
	}
	if err := json.Unmarshal(r.Result, dst, json.MatchCaseInsensitiveNames(true)); err != nil {
		c.t.Fatal(err)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, tt := range []struct{ tool, arguments, text, structured string }{
		{"echo", `{"message":"hé\u0000"}`, "hé\x00", ``},
		{"add", `{"a":1,"b":2}`, `{"sum":3}`, `{"sum":3}`},
		{"add", `{"a":9007199254740993,"b":123456789012345678901234567890}`, ``, `{"sum":123456789012354686100489308883}`},
		{"add", `{"a":0.1,"b":0.2}`, ``, `{"sum":0.3}`},
		{"add", `{"a":-1e3,"b":1e-3}`, ``, `{"sum":-999.999}`},
		{"add", `{"a":100,"b":-0}`, ``, `{"sum":100}`},
		{"structured", `{}`, ``, `{"name":"demo","count":9007199254740993,"ratio":0.25,"on":true,"none":null,"tags":["a","b"],"point":{"x":1,"y":-2,"label":{"de":"Größe","ja":"大きさ"}}}`},
		{"blob", `{"bytes":20}`, `0123456789abcdef0123`, ``},
		{"blob", `{"bytes":0}`, ``, ``},
		{"route", `{"region":"eu","weight":3}`, `Routed to eu with weight 3.`, ``},
		{"log", `{"message":"m"}`, `Logged as info.`, ``},
	} {
		r := c.tool(tt.tool, tt.arguments)
		if r.IsError || tt.text != "" && r.Content[0].Text != tt.text || tt.structured != "" && string(r.Structured) != tt.structured {
			t.Errorf("%s %s: %+v", tt.tool, tt.arguments, r)
		}
	}
	echo := c.tool("echo", `{"message":"x","z":9007199254740993,"a":[1.50]}`)
	if len(echo.Content) != 2 || echo.Content[1].Text != `{"z":9007199254740993,"a":[1.50]}` {
		t.Errorf("%+v", echo)
	}
	if r := c.tool("blob", `{"bytes":3000001}`); len(r.Content[0].Text) != 3000001 {
		t.Error(len(r.Content[0].Text))
	}
	b, err := base64.StdEncoding.DecodeString(c.tool("image", `{}`).Content[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dx() != 64 {
		t.Error(err)
	}
}

func TestToolsThatFail(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, tt := range []struct{ tool, arguments, text string }{
		{"fail", `{"message":"no luck"}`, "no luck"},
		{"fail", `{}`, "This tool always fails."},
		{"echo", `{}`, `The argument "message" is missing.`},
		{"echo", `{"message":7}`, "The arguments do not fit"},
		{"add", `{"a":1}`, "a and b must be numbers"},
		{"add", `{"a":"1","b":2}`, "a and b must be numbers"},
		{"add", `{"a":1e99999999,"b":2}`, "a and b must be numbers"},
		{"sleep", `{"seconds":-1}`, "seconds must be"},
		{"blob", `{"bytes":-1}`, "bytes must be"},
		{"notify", `{"kind":"x"}`, "kind must be"},
		{"notify", `{"kind":"list_changed","list":"x"}`, "kind must be"},
		{"ask", `{"what":"x"}`, "what must be"},
		{"ask", `{"rounds":9}`, "rounds must be"},
	} {
		if r := c.tool(tt.tool, tt.arguments); !r.IsError || !strings.HasPrefix(r.Content[0].Text, tt.text) {
			t.Errorf("%s %s: %+v", tt.tool, tt.arguments, r)
		}
	}
	r := c.call("tools/call", `"name":"error","arguments":{"code":-7,"message":"m","data":{"a":[1]}}`)
	if r.Error == nil || r.Error.Code != -7 || r.Error.Message != "m" || string(r.Error.Data) != `{"a":[1]}` {
		t.Errorf("%+v", r.Error)
	}
}

// TestSleep: progress on the way, an end at once when cancelled, and both are
// counted.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		t0 := time.Now()
		c.tool("sleep", `{"seconds":2,"steps":4}`)
		if took := time.Since(t0); took != 2*time.Second {
			t.Errorf("slept %v", took)
		}
		if n := len(c.out.Messages()); n != 5 {
			t.Errorf("%d messages", n)
		}
		c.send("tools/call", `"name":"sleep","arguments":{"seconds":3600}`)
		<-time.After(time.Second)
		c.s.HandleNotification(c.ctx, jsonrpc.Notification{Method: "notifications/cancelled", Params: []byte(`{"requestId":` + strconv.FormatInt(c.id, 10) + `}`)})
		synctest.Wait()
		var stats struct {
			Calls, Finished, Cancelled, Running int
			Tools                               map[string]struct{ Calls, Finished, Cancelled, Running int }
		}
		if err := json.Unmarshal(c.tool("stats", `{}`).Structured, &stats, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if s := stats.Tools["sleep"]; s.Calls != 2 || s.Finished != 1 || s.Cancelled != 1 || s.Running != 0 || stats.Calls != 3 || stats.Running != 1 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestNotify(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.tool("notify", `{"count":3}`)
	if n := len(c.out.Messages()); n != 4 {
		t.Errorf("%d messages", n)
	}
	l := &client{t: t, s: c.s, ctx: c.ctx, out: &mcptest.Capture{}, id: 1000}
	l.send("subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["demo://clock"]}`)
	if _, err := l.out.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	c.tool("notify", `{"count":2,"kind":"list_changed"}`)
	c.tool("notify", `{"kind":"list_changed","list":"prompts"}`)
	c.tool("notify", `{"kind":"resource_updated"}`)
	all, err := l.out.Await(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, m := range all[1:] {
		methods = append(methods, m.(*jsonrpc.Notification).Method)
	}
	want := []string{"notifications/tools/list_changed", "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/updated"}
	if diff := cmp.Diff(want, methods); diff != "" {
		t.Error(diff)
	}
}

func TestTheClockTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		c.send("subscriptions/listen", `"notifications":{"resourceSubscriptions":["demo://clock"]}`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { demo.Tick(ctx, c.s); close(done) }()
		<-time.After(3500 * time.Millisecond)
		cancel()
		<-done
		if n := len(c.out.Messages()); n != 4 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestAsk(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for what, answers := range map[string][]string{
		"form":     {`{"action":"accept","content":{"name":"Ann"}}`, `{"action":"decline"}`},
		"sampling": {`{"role":"assistant"}`, `{"role":"assistant"}`, `{"role":"assistant"}`},
		"roots":    {`{"roots":[]}`, `{"roots":[]}`, `{"roots":[]}`},
	} {
		more := ""
		var r result
		for i := range answers {
			c.decode(c.call("tools/call", `"name":"ask","arguments":{"what":"`+what+`","rounds":3}`+more), &r)
			key := "q" + strconv.Itoa(i+1)
			if r.Type != "input_required" || r.Requests[key] == nil || len(r.Requests) != 1 {
				t.Fatalf("%s, round %d: %+v", what, i+1, r)
			}
			more = `,"requestState":"` + r.State + `","inputResponses":{"` + key + `":` + answers[i] + `}`
			r = result{}
		}
		c.decode(c.call("tools/call", `"name":"ask","arguments":{"what":"`+what+`","rounds":3}`+more), &r)
		if r.Type != "complete" || strings.Count(r.Content[0].Text, "\n") != len(answers)-1 {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for uri, want := range map[string]string{
		"demo://readme": "# The demo server", "demo://clock": "noon", "demo://items/7": `{"id":7,"name":"Item 7","square":49}`, "demo://logo.png": "",
	} {
		var r result
		c.decode(c.call("resources/read", `"uri":"`+uri+`"`), &r)
		if len(r.Contents) != 1 || r.Contents[0].URI != uri || !strings.HasPrefix(r.Contents[0].Text, want) || (want == "") != (r.Contents[0].Blob != "") {
			t.Errorf("%s: %+v", uri, r)
		}
	}
	for _, uri := range []string{"demo://items/0", "demo://items/251", "demo://items/x", "demo://items/", "demo://nothing"} {
		if r := c.call("resources/read", `"uri":"`+uri+`"`); r.Error == nil || r.Error.Code != jsonrpc.InvalidParams {
			t.Errorf("%s: %s", uri, r.Result)
		}
	}
	for members, want := range map[string]string{
		`"name":"greet","arguments":{"name":"Bo","style":"pirate"}`:        "Greet Bo in a pirate way, in one sentence.",
		`"name":"greet","arguments":{"name":"Bo"}`:                         "Greet Bo in a friendly way, in one sentence.",
		`"name":"summarize","arguments":{"text":"long","sentences":"one"}`: `Summarize this text in at most one sentences:\n\nlong`,
	} {
		if r := c.call("prompts/get", members); !strings.Contains(string(r.Result), want) {
			t.Errorf("%s: %s", members, r.Result)
		}
	}
	for members, want := range map[string]string{
		`"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"style","value":"p"}`:               `"values":["pirate","poetic"],"total":2,"hasMore":false`,
		`"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"p"}`:                `"values":[],"total":0`,
		`"ref":{"type":"ref/resource","uri":"demo://items/{id}"},"argument":{"name":"id","value":""}`:      `"100"],"total":250,"hasMore":true`,
		`"ref":{"type":"ref/resource","uri":"demo://items/{id}"},"argument":{"name":"id","value":"25"}`:    `"values":["25","250"]`,
		`"ref":{"type":"ref/resource","uri":"demo://items/{id}"},"argument":{"name":"other","value":"25"}`: `"values":[]`,
	} {
		if r := c.call("completion/complete", members); !strings.Contains(string(r.Result), want) {
			t.Errorf("%s: %s", members, r.Result)
		}
	}
}

// TestOutputsFitTheirSchemas looks at the required members, which is what a
// client that checks stumbles over first.
func TestOutputsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var list struct {
		Tools []struct {
			Name         string
			OutputSchema struct{ Required []string }
		}
	}
	c.decode(c.call("tools/list", ``), &list)
	arguments := map[string]string{"add": `{"a":1,"b":2}`, "stats": `{}`, "structured": `{}`}
	checked := 0
	for _, tool := range list.Tools {
		if len(tool.OutputSchema.Required) == 0 {
			continue
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(c.tool(tool.Name, arguments[tool.Name]).Structured, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range tool.OutputSchema.Required {
			if members[name] == nil {
				t.Errorf("%s has no %s", tool.Name, name)
			}
		}
		checked++
	}
	if checked != len(arguments) {
		t.Errorf("%d tools were checked", checked)
	}
}

func TestServeStdio(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{` + metaKeys + `}}}`)
	if err := demo.ServeStdio(t.Context(), in, &out, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"structuredContent":{"sum":3}`) {
		t.Error(out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, _ := io.Pipe()
	if err := demo.ServeStdio(ctx, r, io.Discard, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("a wanted end is %v", err)
	}
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- demo.ServeHTTP(ctx, l, slog.New(slog.DiscardHandler)) }()
	for path, want := range map[string]int{"/mcp": 200, "/": 200, "/other": 404} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+l.Addr().String()+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{`+metaKeys+`}}}`))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"} {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want || want == 200 && !strings.Contains(string(b), "supportedVersions") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, b)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
