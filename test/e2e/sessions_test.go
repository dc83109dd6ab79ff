//go:build unix

package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// TestSession: a private session has a process of its own, is named by field or
// header, and ends with CloseSession.
func TestSession(t *testing.T) {
	needsProc(t)
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	for name, c := range b.callers(t) {
		a := api{c}
		if _, err := a.call(within(t, patience), sleepCall("demo", 0)); err != nil {
			t.Fatal(err)
		}
		before := demoPIDs(b)
		s, err := a.initialize(within(t, patience), &mcpbridgev1.InitializeRequest{ClientInfo: &mcpbridgev1.Implementation{Name: "e2e", Version: "1"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Server != "demo" || len(s.SessionId) < 20 || s.ProtocolVersion == "" || s.Generation != 1 || s.ServerInfo.GetName() != "mcp-bridge-demo" || !s.Capabilities.GetTools() {
			t.Errorf("%s: %v", name, s)
		}
		if s.IdleTimeout.AsDuration() != 30*time.Minute {
			t.Errorf("idle timeout %v", s.IdleTimeout.AsDuration())
		}
		own := newIn(demoPIDs(b), before)
		if len(own) != 1 {
			t.Fatalf("%s: the session has processes %v of its own", name, own)
		}
		for range 2 {
			if res, err := a.call(within(t, patience), &mcpbridgev1.CallToolRequest{SessionId: s.SessionId, Name: "echo", ArgumentsJson: `{"message":"mine"}`}); err != nil || firstText(res.GetResult()) != "mine" {
				t.Errorf("%s: %v %v", name, res, err)
			}
		}
		// The counters are those of the process: the shared one saw none of these calls.
		if n := a.stats(t, "demo", "echo").Calls; n != 0 {
			t.Errorf("%s: the shared process saw %d calls", name, n)
		}
		if err := a.closeSession(within(t, patience), s.SessionId); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, atOnce, "the session's process is gone", func() bool { return !alive(own[0]) })
		_, err = a.tools(within(t, patience), &mcpbridgev1.ListToolsRequest{SessionId: s.SessionId})
		want{code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND"}.check(t, err)
	}
}

// TestSessionByHeader: a mesh routes by a header; it does what the field does.
func TestSessionByHeader(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry()+"  other:\n"+demoEntry())
	res := postJSON(t, b, "Initialize", `{"server":"demo"}`, "")
	id := res.header.Get("Mcp-Session-Id")
	if res.status != 200 || id == "" || !strings.Contains(res.body, id) || res.header.Get("Mcp-Session-Generation") != "1" {
		t.Fatalf("%+v", res)
	}
	res = postJSON(t, b, "CallTool", `{"name":"echo","argumentsJson":"{\"message\":\"by header\"}"}`, id)
	if res.status != 200 || !strings.Contains(res.body, "by header") || res.header.Get("Mcp-Session-Generation") != "1" {
		t.Errorf("%+v", res)
	}
	for _, c := range []caller{newConnect(b.base), newGRPC(t, b.base)} {
		got, err := api{c}.call(withHeader(within(t, patience), "mcp-session-id", id), &mcpbridgev1.CallToolRequest{Name: "echo", ArgumentsJson: `{"message":"h"}`})
		if err != nil || firstText(got.GetResult()) != "h" {
			t.Errorf("%T: %v %v", c, got, err)
		}
		_, err = api{c}.call(withHeader(within(t, patience), "mcp-session-id", id), &mcpbridgev1.CallToolRequest{Name: "echo", SessionId: id + "x"})
		want{code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"}.check(t, err)
		_, err = api{c}.call(withHeader(within(t, patience), "mcp-session-id", id), &mcpbridgev1.CallToolRequest{Name: "echo", Server: "other"})
		want{code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"}.check(t, err)
	}
	if strings.Contains(b.log.String(), id) {
		t.Error("the log holds a whole session id")
	}
	other := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	_, err := other.rpc().tools(within(t, patience), &mcpbridgev1.ListToolsRequest{SessionId: id})
	want{code: connect.CodeFailedPrecondition, reason: "SESSION_ELSEWHERE"}.check(t, err)
}

// TestSessionIdle: a session that nobody uses ends, and its process with it; an
// open watch is a use.
func TestSessionIdle(t *testing.T) {
	needsProc(t)
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n    session_idle_timeout: 2s\n"+demoEntry())
	a := b.rpc()
	idle, err := a.initialize(within(t, patience), &mcpbridgev1.InitializeRequest{Server: "demo"})
	if err != nil || idle.IdleTimeout.AsDuration() != 2*time.Second {
		t.Fatal(idle, err)
	}
	pids := demoPIDs(b)
	busy, err := a.initialize(within(t, patience), &mcpbridgev1.InitializeRequest{Server: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	watched, err := a.stream(within(t, patience), "WatchNotifications", &mcpbridgev1.WatchNotificationsRequest{SessionId: busy.SessionId})
	if err != nil {
		t.Fatal(err)
	}
	if err := watched.next(&mcpbridgev1.WatchNotificationsResponse{}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	eventually(t, patience, "the idle session's process is gone", func() bool { return !alive(pids[0]) })
	if took := time.Since(begun); took < time.Second {
		t.Errorf("it ended after %v", took)
	}
	_, err = a.tools(within(t, patience), &mcpbridgev1.ListToolsRequest{SessionId: idle.SessionId})
	want{code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND"}.check(t, err)
	if _, err := a.tools(within(t, patience), &mcpbridgev1.ListToolsRequest{SessionId: busy.SessionId}); err != nil {
		t.Errorf("the watched session: %v", err)
	}
}

// TestSessionLost: a session whose process died goes on under its id, one
// generation later, unless it was opened to fail.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  s:\n"+roleEnv("scripted"))
	a := b.rpc()
	for policy, after := range map[mcpbridgev1.SessionLossPolicy]*want{
		mcpbridgev1.SessionLossPolicy_SESSION_LOSS_POLICY_RENEW: nil,
		mcpbridgev1.SessionLossPolicy_SESSION_LOSS_POLICY_FAIL:  {code: connect.CodeAborted, reason: "SESSION_LOST"},
	} {
		s, err := a.initialize(within(t, patience), &mcpbridgev1.InitializeRequest{OnLoss: policy})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.call(within(t, patience), &mcpbridgev1.CallToolRequest{SessionId: s.SessionId, Name: "end"})
		want{code: connect.CodeAborted, reason: "REQUEST_LOST", delivery: sent}.check(t, err)
		if after != nil {
			_, err := a.call(within(t, patience), &mcpbridgev1.CallToolRequest{SessionId: s.SessionId, Name: "ok"})
			after.check(t, err)
			continue
		}
		res := postJSON(t, b, "CallTool", `{"name":"ok"}`, s.SessionId)
		if res.status != 200 || !strings.Contains(res.body, "fine") || res.header.Get("Mcp-Session-Generation") != "2" {
			t.Errorf("%+v", res)
		}
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// postJSON calls a method as curl would.
func postJSON(t *testing.T, b *bridge, method, body, session string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodPost, b.base+servicePath+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// demoPIDs are the demo servers among the bridge's children.
func demoPIDs(b *bridge) []int {
	var all []int
	for _, p := range children(b.cmd.Process.Pid) {
		if strings.Contains(commandLine(p.pid), "demo-server") {
			all = append(all, p.pid)
		}
	}
	return all
}

func newIn(now, before []int) []int {
	var fresh []int
	for _, pid := range now {
		known := false
		for _, old := range before {
			known = known || old == pid
		}
		if !known {
			fresh = append(fresh, pid)
		}
	}
	return fresh
}
