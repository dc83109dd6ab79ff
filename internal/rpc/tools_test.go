package rpc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	connect "connectrpc.com/connect/v2"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// pager serves lists by cursor: pages["a"] is what comes for the cursor a, and
// pages["-"] what comes without one.
func pager(modern bool, pages map[string]string) *server {
	return &server{modern: modern, serve: func(c *call) {
		key := "-"
		if _, rest, ok := strings.Cut(string(c.Params), `"cursor":"`); ok {
			key, _, _ = strings.Cut(rest, `"`)
		}
		if page, ok := pages[key]; ok {
			c.result(page)
			return
		}
		c.fail(-32602, "no page "+key, "")
	}}
}

func tool(name, rest string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"}` + rest + `}`
}

func names(r *v1.ListToolsResponse) string {
	var all []string
	for _, t := range r.GetTools() {
		all = append(all, t.GetServer()+"/"+t.GetName())
	}
	return strings.Join(all, " ")
}

func TestListToolsByPages(t *testing.T) {
	t.Parallel()
	b := one(t, pager(false, map[string]string{
		"-": `{"tools":[` + tool("a", "") + `],"nextCursor":"2"}`,
		"2": `{"tools":[` + tool("b", "") + `],"nextCursor":""}`, // the end, before 2026-07-28
	}))
	res, err := b.client.ListTools(t.Context(), &v1.ListToolsRequest{})
	if err != nil || names(res) != "one/a" || res.GetNextCursor() != "2" {
		t.Fatalf("%v %v", res, err)
	}
	for _, f := range []v1.ResultFormat{v1.ResultFormat_RESULT_FORMAT_TYPED, v1.ResultFormat_RESULT_FORMAT_RAW} {
		res, err = b.client.ListTools(t.Context(), &v1.ListToolsRequest{Cursor: res.NextCursor, Options: &v1.RequestOptions{ResultFormat: f}})
		if err != nil || res.NextCursor != nil || (res.RawJson != "") != (f == v1.ResultFormat_RESULT_FORMAT_RAW) {
			t.Fatalf("%v %v", res, err)
		}
		next := "2"
		res.NextCursor = &next
	}
	res, err = b.client.ListTools(t.Context(), &v1.ListToolsRequest{AllPages: true})
	if err != nil || names(res) != "one/a one/b" || res.NextCursor != nil || res.Stale {
		t.Errorf("%v %v", res, err)
	}
	_, err = b.client.ListTools(t.Context(), &v1.ListToolsRequest{AllPages: true, Options: &v1.RequestOptions{ResultFormat: v1.ResultFormat_RESULT_FORMAT_RAW}})
	want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
}

func TestAnEmptyCursorIsOneSince20260728(t *testing.T) {
	t.Parallel()
	b := one(t, pager(true, map[string]string{
		"-": `{"resultType":"complete","tools":[` + tool("a", "") + `],"nextCursor":"","ttlMs":500,"cacheScope":"public"}`,
		"":  `{"resultType":"complete","tools":[` + tool("b", "") + `],"ttlMs":200,"cacheScope":"private"}`,
	}))
	res, err := b.client.ListTools(t.Context(), &v1.ListToolsRequest{AllPages: true})
	if err != nil || names(res) != "one/a one/b" {
		t.Fatalf("%v %v", res, err)
	}
	if c := res.Cache; c.GetScope() != "private" || c.GetTtl().AsDuration().Milliseconds() != 200 {
		t.Errorf("%v", c)
	}
	res, err = b.client.ListTools(t.Context(), &v1.ListToolsRequest{})
	if err != nil || res.NextCursor == nil || *res.NextCursor != "" {
		t.Errorf("%v %v", res, err)
	}
}

func TestListsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	loop := pager(true, map[string]string{
		"-": `{"tools":[],"nextCursor":"a"}`, "a": `{"tools":[],"nextCursor":"b"}`, "b": `{"tools":[],"nextCursor":"a"}`,
	})
	n := 0
	endless := &server{serve: func(c *call) {
		n++
		c.result(fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool("x", ""), n))
	}}
	all := &v1.ListToolsRequest{AllPages: true}
	_, err := one(t, loop).client.ListTools(t.Context(), all)
	if v := want(t, err, connect.CodeInternal, "INVALID_RESPONSE"); v.Upstream.Delivery != answered {
		t.Errorf("%v", v.Upstream)
	}
	b := start(t, rpc.Options{Servers: upstreams(t, nil, endless), MaxPages: 5})
	_, err = b.client.ListTools(t.Context(), all)
	if v := want(t, err, connect.CodeResourceExhausted, "LIST_TOO_LONG"); !strings.Contains(v.Message, "max_pages") || n != 5 {
		t.Errorf("%s after %d pages", v.Message, n)
	}
	b = start(t, rpc.Options{Servers: upstreams(t, nil, &server{serve: endless.serve}), MaxItems: 3})
	_, err = b.client.ListTools(t.Context(), all)
	if v := want(t, err, connect.CodeResourceExhausted, "LIST_TOO_LONG"); !strings.Contains(v.Message, "max_items") {
		t.Error(v.Message)
	}
}

func TestListToolsOfAllServers(t *testing.T) {
	t.Parallel()
	good := pager(false, map[string]string{"-": `{"tools":[` + tool("a", "") + `]}`})
	bad := &server{serve: func(c *call) { c.fail(-32603, "broken", "") }}
	idle := pager(false, map[string]string{"-": `{"tools":[` + tool("c", "") + `]}`})
	b := start(t, rpc.Options{Servers: upstreams(t, nil, good, bad, idle)})
	for _, name := range []string{"one", "two"} {
		if _, err := b.client.Ping(t.Context(), &v1.PingRequest{Server: name}); err != nil {
			t.Fatal(err)
		}
	}
	res, err := b.client.ListTools(t.Context(), &v1.ListToolsRequest{})
	if err != nil || names(res) != "one/a" || len(res.Errors) != 2 {
		t.Fatalf("%v %v", res, err)
	}
	if e := res.Errors[0]; e.Server != "two" || connect.Code(e.Code) != connect.CodeInternal || e.UpstreamError.GetReason() != "SERVER_ERROR" || e.UpstreamError.GetJsonrpcError().GetCode() != -32603 {
		t.Errorf("%v", e)
	}
	if e := res.Errors[1]; e.Server != "three" || connect.Code(e.Code) != connect.CodeUnavailable || e.UpstreamError.GetReason() != "NOT_STARTED" || e.UpstreamError.Delivery != notSent {
		t.Errorf("%v", e)
	}
	if idle.dialled() != 0 {
		t.Error("an idle server was started")
	}
	cursor := "x"
	for _, r := range []*v1.ListToolsRequest{{Cursor: &cursor}, {Options: &v1.RequestOptions{ResultFormat: v1.ResultFormat_RESULT_FORMAT_RAW}}} {
		_, err := b.client.ListTools(t.Context(), r)
		want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
	}
}

func TestAnIdleServersKnownListIsShownWithoutStartingIt(t *testing.T) {
	t.Parallel()
	lists := upstream.NewLists("")
	page := func(cursor, text string) {
		if !lists.Put("tools/list", cursor, []byte(text)) {
			t.Fatal("not kept")
		}
	}
	page("", `{"tools":[`+tool("a", "")+`],"nextCursor":"2"}`)
	idle, other := pager(false, nil), pager(false, nil)
	b := start(t, rpc.Options{Servers: upstreams(t, func(i int, o *upstream.Options) {
		if i == 0 {
			o.Lists = lists
		}
	}, idle, other)})
	res, err := b.client.ListTools(t.Context(), &v1.ListToolsRequest{})
	if err != nil || len(res.Tools) != 0 || len(res.Errors) != 2 {
		t.Fatalf("half a list: %v %v", res, err)
	}
	page("2", `{"tools":[`+tool("b", "")+`]}`)
	res, err = b.client.ListTools(t.Context(), &v1.ListToolsRequest{})
	if err != nil || names(res) != "one/a one/b" || !res.Stale || len(res.Errors) != 1 {
		t.Fatalf("%v %v", res, err)
	}
	if idle.dialled() != 0 {
		t.Error("it was started")
	}
}

func TestListServers(t *testing.T) {
	t.Parallel()
	s := echoes(true)
	down := &server{refuse: nil, serve: func(*call) {}}
	b := start(t, rpc.Options{
		Servers: upstreams(t, func(i int, o *upstream.Options) {
			if i == 1 {
				o.Dialers = nil
				o.Dialers = append(o.Dialers, failing{errors.New("no such file: hunter2")})
			}
		}, s, down),
		Redact: strings.NewReplacer("hunter2", "[redacted]").Replace,
	})
	list := func() []*v1.Server {
		res, err := b.client.ListServers(t.Context(), &v1.ListServersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res.Servers
	}
	for _, v := range list() {
		if v.State != v1.ServerState_SERVER_STATE_IDLE || v.Sessions != 0 || s.dialled() != 0 {
			t.Errorf("%v", v)
		}
	}
	if _, err := b.client.Ping(t.Context(), &v1.PingRequest{Server: "one"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.client.Ping(t.Context(), &v1.PingRequest{Server: "two"})
	if v := want(t, err, connect.CodeUnavailable, "SERVER_UNAVAILABLE"); v.Retry == nil || strings.Contains(v.Message, "hunter2") {
		t.Errorf("%+v", v)
	}
	all := list()
	if v := all[0]; v.State != v1.ServerState_SERVER_STATE_READY || v.ProtocolVersion != "2026-07-28" || v.ServerInfo.GetName() != "scripted" || !v.Capabilities.GetTools() || v.Sessions != 1 {
		t.Errorf("%v", v)
	}
	if v := all[1]; v.State != v1.ServerState_SERVER_STATE_BACKOFF || !strings.Contains(v.StateReason, "[redacted]") {
		t.Errorf("%v", v)
	}
}
