//go:build unix

package e2e_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// twoChildren are a server that behaves and one that is deaf to everything, as
// is its child.
func twoChildren() string {
	return "servers:\n  demo:\n    stop_grace: 1s\n" + demoEntry() + "  deaf:\n    stop_grace: 1s\n" + roleEnv("deaf")
}

// withChildren starts a bridge whose two servers run.
func withChildren(t *testing.T) *bridge {
	t.Helper()
	needsProc(t)
	b := serveConfig(t, twoChildren())
	for _, server := range []string{"demo", "deaf"} {
		if _, err := b.rpc().tools(within(t, patience), &mcpbridgev1.ListToolsRequest{Server: server}); err != nil {
			t.Fatal(err)
		}
	}
	// The bridge, the demo server, the deaf one and its child, and who guards them.
	eventually(t, patience, "all processes run", func() bool { return len(marked(b.home)) >= 4 })
	eventually(t, patience, "the guard runs", func() bool { return len(children(b.cmd.Process.Pid)) == 3 })
	return b
}

// TestEnds: whatever ends the bridge, 15 s later nothing of it is left.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		signals []syscall.Signal
		status  int
	}{
		"SIGTERM":       {[]syscall.Signal{syscall.SIGTERM}, 0},
		"SIGINT":        {[]syscall.Signal{syscall.SIGINT}, 0},
		"second signal": {[]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 0},
		"SIGKILL":       {[]syscall.Signal{syscall.SIGKILL}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := withChildren(t)
			begun := time.Now()
			for i, s := range tt.signals {
				if i > 0 {
					eventually(t, patience, "the bridge drains", func() bool { return strings.Contains(b.log.String(), "draining") })
				}
				b.signal(s)
			}
			if status := b.wait(15 * time.Second); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			b.nothingLeft(15*time.Second - time.Since(begun))
			if name != "SIGKILL" && !noSuchFile(b.ready) {
				t.Error("the ready file is still there")
			}
		})
	}
}

// TestSecondSignalEndsCalls: the first waits for a call in flight, the second
// does not.
func TestSecondSignalEndsCalls(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	done := make(chan error, 1)
	ctx := within(t, time.Minute)
	go func() {
		_, err := b.rpc().call(ctx, sleepCall("demo", 40))
		done <- err
	}()
	b.rpc().runs(t, "demo", 1)
	b.signal(syscall.SIGTERM)
	eventually(t, patience, "the bridge drains", func() bool { return strings.Contains(b.log.String(), "draining") })
	quickly(t, atOnce, "the end after the second signal", func() {
		b.signal(syscall.SIGTERM)
		if status := b.wait(patience); status != 0 {
			t.Errorf("exit status %d", status)
		}
	})
	if err := <-done; err == nil {
		t.Error("the call that was cut off succeeded")
	}
	b.nothingLeft(5 * time.Second)
}

// TestDrain: a call in flight across SIGTERM ends well; new ones are refused,
// streams end so that their clients connect elsewhere.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	a := api{newGRPC(t, b.base)}
	watch, err := a.stream(within(t, time.Minute), "WatchNotifications", &mcpbridgev1.WatchNotificationsRequest{Kinds: []mcpbridgev1.NotificationKind{mcpbridgev1.NotificationKind_NOTIFICATION_KIND_LOG}})
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.next(&mcpbridgev1.WatchNotificationsResponse{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx := within(t, time.Minute)
	go func() {
		res, err := a.call(ctx, sleepCall("demo", 3))
		if err == nil && firstText(res.GetResult()) != "Slept for 3 seconds." {
			err = fmt.Errorf("%v", res)
		}
		done <- err
	}()
	a.runs(t, "demo", 1)
	b.signal(syscall.SIGTERM)
	f := want{code: connect.CodeUnavailable, reason: "DRAINING"}.check(t, watch.next(&mcpbridgev1.WatchNotificationsResponse{}))
	if f.retry.GetRetryDelay().AsDuration() <= 0 {
		t.Errorf("no RetryInfo: %v", f)
	}
	eventually(t, atOnce, "the ready file is gone", func() bool { return noSuchFile(b.ready) })
	_, err = b.rpc().tools(within(t, patience), &mcpbridgev1.ListToolsRequest{Server: "demo"})
	want{code: connect.CodeUnavailable}.check(t, err)
	if err := <-done; err != nil {
		t.Errorf("the call across SIGTERM: %v", err)
	}
	if status := b.wait(atOnce); status != 0 {
		t.Errorf("exit status %d", status)
	}
	b.nothingLeft(5 * time.Second)
}

// TestChildKilled: a server that was killed is started again for the next call,
// and watchers are told.
func TestChildKilled(t *testing.T) {
	needsProc(t)
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	a := b.rpc()
	if _, err := a.call(within(t, patience), sleepCall("demo", 0)); err != nil {
		t.Fatal(err)
	}
	s, err := a.stream(within(t, patience), "WatchNotifications", &mcpbridgev1.WatchNotificationsRequest{
		Servers: []string{"demo"}, Kinds: []mcpbridgev1.NotificationKind{mcpbridgev1.NotificationKind_NOTIFICATION_KIND_SERVER_STATE}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.next(&mcpbridgev1.WatchNotificationsResponse{}); err != nil {
		t.Fatal(err)
	}
	inFlight := make(chan error, 1)
	ctx := within(t, patience)
	go func() {
		_, err := a.call(ctx, sleepCall("demo", 15))
		inFlight <- err
	}()
	a.runs(t, "demo", 1)
	pid := serverPID(t, b)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	quickly(t, atOnce, "the end of the call in flight", func() {
		f := want{connect.CodeAborted, "REQUEST_LOST", sent, []string{"killed"}}.check(t, <-inFlight)
		if f.upstream.GetProcessExit() != "signal: killed" {
			t.Errorf("process_exit is %q", f.upstream.GetProcessExit())
		}
	})
	res, err := a.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{"message":"again"}`})
	if err != nil || firstText(res.GetResult()) != "again" {
		t.Errorf("the next call: %v %v", res, err)
	}
	var states []mcpbridgev1.ServerState
	for left := false; ; {
		m := &mcpbridgev1.WatchNotificationsResponse{}
		if err := s.next(m); err != nil {
			t.Fatalf("after %v: %v", states, err)
		}
		state := m.GetServerState().GetState()
		states = append(states, state)
		left = left || state != mcpbridgev1.ServerState_SERVER_STATE_READY
		if left && state == mcpbridgev1.ServerState_SERVER_STATE_READY {
			if m.GetServerState().GetRestarts() != 1 {
				t.Errorf("%v", m.GetServerState())
			}
			break
		}
	}
	if alive(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

// serverPID is the process of the bridge's only demo server.
func serverPID(t *testing.T, b *bridge) int {
	t.Helper()
	for _, p := range children(b.cmd.Process.Pid) {
		if strings.Contains(commandLine(p.pid), "demo-server") {
			return p.pid
		}
	}
	t.Fatalf("no demo server among %v", children(b.cmd.Process.Pid))
	return 0
}
