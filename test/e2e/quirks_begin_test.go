//go:build unix

package e2e_test

import (
	"context"
	"strings"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// pinged checks that the server's pings were answered by an empty result.
func (r *rig) pinged() {
	r.t.Helper()
	answers := r.entries(func(e *entry) bool { return e.Event == "answered" && e.Method == "ping" })
	if len(answers) == 0 {
		r.t.Error("no ping was answered")
	}
	for _, e := range answers {
		if !strings.Contains(string(e.Reply), `"result": {}`) {
			r.t.Errorf("a ping was answered by %s", e.Reply)
		}
	}
}

func pingBeforeInit(r *rig) {
	r.t.Helper()
	works(r)
	r.pinged()
}

func saysPong(r *rig) {
	r.t.Helper()
	id := r.open()
	quickly(r.t, atOnce, "two calls", func() {
		r.says(id, "echo", "{}", "pong")
		r.says(id, "echo", "{}", "pong")
	})
	r.close(id)
	r.pinged()
}

// rootsDuringCall: the question is answered, by roots or by a refusal.
func rootsDuringCall(r *rig) {
	r.t.Helper()
	id := r.open()
	quickly(r.t, atOnce, "the call", func() {
		if text := firstText(r.must(id, "echo", "{}")); text != "roots: result" && text != "roots: error -32601" {
			r.t.Error(text)
		}
	})
	r.close(id)
}

// noInitAnswer: the caller's deadline holds, for a session of his own and for the
// shared one. The start of the latter goes on until its own deadline, then the
// process ends; initialize is not cancelled (2025-11-25 §lifecycle).
func noInitAnswer(r *rig) {
	r.t.Helper()
	onTime := func(what string, do func(ctx context.Context) error) {
		begun := time.Now()
		f := want{code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: notSent}.check(r.t, do(within(r.t, time.Second)))
		if took := time.Since(begun); took > 1200*time.Millisecond {
			r.t.Errorf("%s: the deadline of 1 s passed after %v", what, took)
		}
		if phase := f.info.GetMetadata()["phase"]; !f.cutShort() && phase != "start" {
			r.t.Errorf("%s: phase is %q", what, phase)
		}
	}
	onTime("Initialize", func(ctx context.Context) error {
		_, err := r.initialize(ctx, &mcpbridgev1.InitializeRequest{Server: "q"})
		return err
	})
	onTime("CallTool", func(ctx context.Context) error {
		_, err := r.call(ctx, &mcpbridgev1.CallToolRequest{Server: "q", Name: "echo"})
		return err
	})
	eventually(r.t, r.deadline, "initialize arrives", func() bool { return len(r.received("initialize")) > 0 })
	if r.on == overStdio {
		r.gone(r.received("initialize")[0].PID)
	}
	if n := len(r.received("notifications/cancelled")); n > 0 {
		r.t.Errorf("it was cancelled %d times", n)
	}
}

// modernUnsupported: a server that is too new is not taken for an old one.
func modernUnsupported(r *rig) {
	r.t.Helper()
	startFails(want{connect.CodeFailedPrecondition, "PROTOCOL_VERSION", answered, []string{"2031-01-01"}})(r)
	if n := len(r.received("initialize")); n > 0 {
		r.t.Errorf("initialize was sent %d times", n)
	}
}

// capabilityRequired: a caller who declared nothing learns what is missing.
func capabilityRequired(r *rig) {
	r.t.Helper()
	id := r.open()
	f := r.fails(id, "echo", "{}", want{connect.CodeFailedPrecondition, "CAPABILITY_REQUIRED", answered, []string{"-32021"}})
	if data := f.upstream.GetJsonrpcError().GetDataJson(); !strings.Contains(data, "elicitation") {
		r.t.Errorf("data is %s", data)
	}
	r.close(id)
}

// encodedNames: names that no header can hold can be called.
func encodedNames(r *rig) {
	r.t.Helper()
	id := r.open()
	for _, name := range []string{"größe/π", "=?base64?eA==?=", " padded "} {
		r.says(id, name, "{}", "called "+name)
	}
	r.echoes(id)
	r.close(id)
}

// modernSubscribe: changes reach a watcher, and the end of a subscription is not
// the end of the watch.
func modernSubscribe(r *rig) {
	r.t.Helper()
	s := r.watchKinds(r.t, mcpbridgev1.NotificationKind_NOTIFICATION_KIND_LIST_CHANGED)
	for seen := int32(0); seen < 3; {
		m := &mcpbridgev1.WatchNotificationsResponse{}
		if err := s.next(m); err != nil {
			r.t.Fatalf("after %d changes: %v", seen, err)
		}
		if c := m.GetListChanged(); c != nil {
			if c.List != mcpbridgev1.ListKind_LIST_KIND_TOOLS {
				r.t.Errorf("changed: %v", c.List)
			}
			seen += 1 + m.Merged
		}
	}
	quiet := len(r.received("subscriptions/listen"))
	if quiet == 0 || quiet > 2 {
		r.t.Errorf("%d subscriptions for three changes", quiet)
	}
	// It is opened again by itself.
	eventually(r.t, r.deadline, "the subscription is opened again", func() bool { return len(r.received("subscriptions/listen")) > 1 })
}

// storm: two thousand changes at once disturb nobody.
func storm(r *rig) {
	r.t.Helper()
	id := r.open()
	quickly(r.t, atOnce, "calls", func() { r.echoes(id) })
	s := r.watchKinds(r.t, mcpbridgev1.NotificationKind_NOTIFICATION_KIND_LIST_CHANGED)
	m := &mcpbridgev1.WatchNotificationsResponse{}
	if err := s.next(m); err != nil || m.GetListChanged() == nil && m.GetGap() == nil {
		r.t.Errorf("a watcher of the storm sees %v, %v", m, err)
	}
	r.echoes(id)
	if n := len(r.received("tools/list")); n > 5 {
		r.t.Errorf("the list was read %d times, which nobody asked for", n)
	}
	r.close(id)
}

// strangeProgress: a call with progress that makes no sense is a call.
func strangeProgress(r *rig) {
	r.t.Helper()
	id := r.open()
	for range 2 {
		s, err := r.stream(r.ctx(), "StreamTool", &mcpbridgev1.StreamToolRequest{Call: &mcpbridgev1.CallToolRequest{SessionId: id, Name: "sleep", ArgumentsJson: `{"seconds":0.5}`}})
		if err != nil {
			r.t.Fatal(err)
		}
		for last := 0.0; ; {
			m := &mcpbridgev1.StreamToolResponse{}
			if err := s.next(m); err != nil {
				r.t.Fatalf("the stream ends without a response: %v", err)
			}
			if p := m.GetProgress(); p != nil {
				if p.Current < last || p.Message == "late" {
					r.t.Errorf("progress %v after %v", p, last)
				}
				last = p.Current
			}
			if res := m.GetResponse(); res != nil {
				if got := res.GetResult().GetStructuredContent().GetText(); got != `{"slept":0.5}` {
					r.t.Error(got)
				}
				break
			}
		}
	}
	r.echoes(id)
	r.close(id)
}
