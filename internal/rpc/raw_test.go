package rpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	connect "connectrpc.com/connect/v2"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

func TestCallPassesThrough(t *testing.T) {
	t.Parallel()
	const odd = `{ "resultType":"never heard of", "n":1.50, "n":2 }`
	b := one(t, &server{modern: true, serve: func(c *call) {
		if c.Method == "echo" {
			c.result(`{"p":` + string(c.Params) + `}`)
			return
		}
		c.result(odd)
	}})
	res, err := b.client.Call(t.Context(), &v1.CallRequest{Method: "x/y"})
	if err != nil || res.ResultJson != odd {
		t.Errorf("%v %v", res, err)
	}
	res, err = b.client.Call(t.Context(), &v1.CallRequest{Method: "echo", ParamsJson: "{\n\"b\": 1.50,\r\n\"a\":\"\\u00e9\", \"_meta\":{\"k\":1}}", Options: &v1.RequestOptions{MetaJson: `{"l":2}`}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.ResultJson, `"b": 1.50,`) || !strings.Contains(res.ResultJson, `"a":"\u00e9"`) {
		t.Error(res.ResultJson)
	}
	var v struct {
		P struct {
			Meta map[string]any `json:"_meta"`
		} `json:"p"`
	}
	if err := json.Unmarshal([]byte(res.ResultJson), &v); err != nil || v.P.Meta["k"] != 1.0 || v.P.Meta["l"] != 2.0 {
		t.Errorf("%v %v", v, err)
	}
}

func TestCallRefusesWhatBelongsToTheBridge(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	for _, m := range []string{
		"", "initialize", "ping", "server/discover", "subscriptions/listen", "resources/subscribe", "resources/unsubscribe", "logging/setLevel",
		"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
	} {
		_, err := b.client.Call(t.Context(), &v1.CallRequest{Method: m})
		want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
		_, err = b.client.Notify(t.Context(), &v1.NotifyRequest{Method: m})
		want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
	}
	for _, p := range []string{"1", "[]", "{", `{"a":1}{}`, `{"_meta":1}`, `{"_meta":{"progressToken":{}}}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}`} {
		_, err := b.client.Call(t.Context(), &v1.CallRequest{Method: "m", ParamsJson: p})
		want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
	}
}

func TestCallGivesBindingsTheirLabels(t *testing.T) {
	t.Parallel()
	labels := make(chan transport.Labels, 10)
	s := echoes(true)
	s.refuse = func(f transport.Frame) error {
		if f.Labels.Method != "server/discover" {
			labels <- f.Labels
		}
		return nil
	}
	b := one(t, s)
	for method, c := range map[string]struct{ params, name string }{
		"tools/call":     {`{"name":"a","arguments":{"name":"b"}}`, "a"},
		"prompts/get":    {`{"name":"p"}`, "p"},
		"resources/read": {`{"uri":"file:///x"}`, "file:///x"},
		"tasks/get":      {`{"taskId":"t"}`, "t"},
		"other":          {`{"name":"a"}`, ""},
	} {
		if _, err := b.client.Call(t.Context(), &v1.CallRequest{Method: method, ParamsJson: c.params}); err != nil {
			t.Fatal(err)
		}
		if l := <-labels; l.Method != method || l.Name != c.name || l.HasName != (c.name != "") {
			t.Errorf("%s: %+v", method, l)
		}
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	seen := make(chan *jsonrpc.Notification, 10)
	s := echoes(false)
	s.notified = func(n *jsonrpc.Notification) {
		if n.Method != "notifications/initialized" {
			seen <- n
		}
	}
	b := one(t, s)
	if _, err := b.client.Notify(t.Context(), &v1.NotifyRequest{Method: "notifications/x", ParamsJson: `{"a":1}`, Options: &v1.RequestOptions{CallId: "c"}}); err != nil {
		t.Fatal(err)
	}
	if n := <-seen; n.Method != "notifications/x" || string(n.Params) != `{"a":1}` {
		t.Errorf("%s %s", n.Method, n.Params)
	}
}
