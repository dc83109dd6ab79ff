//go:build unix

package e2e_test

import (
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// atOnce is what an answer that needs no waiting may take on a busy machine.
const atOnce = 5 * time.Second

// works is what most quirks must come to: nothing is seen of them, on a private
// session and on the shared one.
func works(r *rig) {
	r.t.Helper()
	id := r.open()
	names := strings.Join(r.names(id), " ")
	if names != "echo sleep blob" {
		r.t.Errorf("tools: %s", names)
	}
	r.echoes(id)
	if err := r.ping(r.ctx(), &mcpbridgev1.PingRequest{SessionId: id}); err != nil {
		r.t.Errorf("Ping: %v", err)
	}
	r.close(id)
	r.fails(id, "echo", "{}", want{code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND"})
	res, err := r.call(r.ctx(), &mcpbridgev1.CallToolRequest{Server: "q", Name: "echo", ArgumentsJson: `{"shared":true}`})
	if err != nil || !sameJSON(res.GetResult().GetStructuredContent().GetText(), `{"shared":true}`) {
		r.t.Errorf("on the shared session: %v %v", res, err)
	}
}

// fast works without waiting for anything.
func fast(r *rig) {
	r.t.Helper()
	quickly(r.t, atOnce, "everything", func() { works(r) })
}

// startFails: Initialize fails at once, and so does a call to the shared session.
func startFails(w want) func(r *rig) {
	return func(r *rig) {
		r.t.Helper()
		quickly(r.t, atOnce, "Initialize", func() {
			f := r.refused(w)
			if strings.Contains(strings.Join(w.says, " "), "exit status") && (f.upstream.GetProcessExit() == "" || len(f.upstream.GetStderrTail()) == 0) {
				r.t.Errorf("no exit status, or no tail of standard error: %v", f.upstream)
			}
		})
		quickly(r.t, atOnce, "CallTool", func() {
			_, err := r.call(r.ctx(), &mcpbridgev1.CallToolRequest{Server: "q", Name: "echo"})
			w.check(r.t, err)
		})
		if n := len(r.received("tools/call")); n > 0 {
			r.t.Errorf("%d calls were sent", n)
		}
	}
}

// callFails: a tool fails at once, and the session lives.
func callFails(tool string, w want) func(r *rig) {
	return func(r *rig) {
		r.t.Helper()
		id := r.open()
		quickly(r.t, atOnce, tool, func() { r.fails(id, tool, "{}", w) })
		r.names(id)
		r.close(id)
	}
}

// lostOnce: the answer to a call is lost, which the caller learns at once; the
// server sees the call once; the session lives.
func lostOnce(w want) func(r *rig) {
	return func(r *rig) {
		r.t.Helper()
		id := r.open()
		quickly(r.t, atOnce, "the call", func() { r.fails(id, "echo", `{"n":1}`, w) })
		r.names(id)
		r.close(id)
		if n := r.executed("echo"); n != 1 {
			r.t.Errorf("the call was carried out %d times", n)
		}
	}
}

const accented = "žluťoučký kůň 🙂 日本語"

// accents: text survives being cut inside its characters.
func accents(r *rig) {
	r.t.Helper()
	id := r.open()
	r.says(id, "echo", `{"a":"ß🙂"}`, `{"a":"ß🙂"}`+accented)
	r.says(id, "echo", `{}`, `{}`+accented)
	r.close(id)
}

// huge: a result of 16 MiB arrives as a whole, and the session lives.
func huge(r *rig) {
	r.t.Helper()
	id := r.open()
	for range 2 {
		text := firstText(r.must(id, "blob", `{"size":1}`))
		if len(text) != 16<<20 || strings.Trim(text, "é") != "" {
			r.t.Errorf("%d bytes of text", len(text))
		}
	}
	r.close(id)
}

// separators: other line ends than LF are text.
func separators(r *rig) {
	r.t.Helper()
	id := r.open()
	r.says(id, "echo", `{}`, "a\u2028b\u2029c\u0085d")
	r.says(id, "echo", `{}`, "a\u2028b\u2029c\u0085d")
	r.close(id)
}

// watchKinds opens a watch of server q and returns its events; it has started
// when watchKinds returns.
func (r *rig) watchKinds(t *testing.T, kinds ...mcpbridgev1.NotificationKind) stream {
	t.Helper()
	s, err := r.stream(within(t, r.deadline), "WatchNotifications", &mcpbridgev1.WatchNotificationsRequest{Servers: []string{"q"}, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	m := &mcpbridgev1.WatchNotificationsResponse{}
	if err := s.next(m); err != nil || m.GetStarted() == nil {
		t.Fatalf("a watch begins with %v, %v", m, err)
	}
	return s
}
