//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	connect "connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// exitMidCall: every call in flight ends at once, and later ones do not hang.
func exitMidCall(r *rig) {
	r.t.Helper()
	id := r.open()
	w := want{connect.CodeAborted, "REQUEST_LOST", sent, []string{"exit status 3", "the disk is on fire"}}
	var wg sync.WaitGroup
	for range 3 {
		// Calls that come after the end are carried out by the next process, which dies of them too.
		wg.Go(func() {
			quickly(r.t, atOnce, "a call", func() {
				f := r.fails(id, "echo", "{}", w)
				if f.upstream.GetProcessExit() != "exit status 3" {
					r.t.Errorf("process_exit is %q", f.upstream.GetProcessExit())
				}
			})
		})
	}
	wg.Wait()
	quickly(r.t, atOnce, "the call after", func() { r.fails(id, "echo", "{}", w) })
	r.close(id)
	for _, pid := range r.pids() {
		r.gone(pid)
	}
}

// outputEnds: a closed output is the end, though the process goes on.
func outputEnds(r *rig) {
	r.t.Helper()
	id := r.open()
	pids := r.pids()
	quickly(r.t, atOnce, "the call", func() {
		r.fails(id, "echo", "{}", want{connect.CodeAborted, "REQUEST_LOST", sent, nil})
	})
	for _, pid := range pids {
		r.gone(pid)
	}
	r.close(id)
}

// crashOnInitialized: whichever notices it first says so at once.
func crashOnInitialized(r *rig) {
	r.t.Helper()
	quickly(r.t, 2*atOnce, "Initialize and a call", func() {
		res, err := r.initialize(r.ctx(), &mcpbridgev1.InitializeRequest{Server: "q"})
		if err != nil {
			want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", notSent, nil}.check(r.t, err)
			return
		}
		_, err = r.callJSON(r.ctx(), res.SessionId, "echo", "{}")
		var f *fault
		if errors.As(err, &f) && f.upstream.GetDelivery() == sent {
			want{code: connect.CodeAborted, reason: "REQUEST_LOST"}.check(r.t, err)
		} else {
			want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", notSent, nil}.check(r.t, err)
		}
		r.close(res.SessionId)
	})
	for _, pid := range r.pids() {
		r.gone(pid)
	}
}

// inputNotRead: a call too large for the pipe ends on time, and the session can
// be closed. Meanwhile others are served.
func inputNotRead(r *rig) {
	r.t.Helper()
	id := r.open()
	pids := r.pids()
	eventually(r.t, atOnce, "the server stops reading", func() bool {
		return len(r.entries(func(e *entry) bool { return e.Event == "stopped-reading" })) > 0
	})
	large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	// The server's timeout bounds the first, and the caller's deadline the second.
	for _, ctx := range []context.Context{withoutDeadline{r.ctx()}, within(r.t, time.Second)} {
		begun := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := r.callJSON(ctx, id, "echo", large)
			done <- err
		}()
		if _, err := r.servers(r.ctx()); err != nil {
			r.t.Error(err)
		}
		f := want{code: connect.CodeDeadlineExceeded, reason: "TIMEOUT"}.check(r.t, <-done)
		if took := time.Since(begun); took > 1500*time.Millisecond {
			r.t.Errorf("1 s passed after %v", took)
		}
		if phase := f.info.GetMetadata()["phase"]; !f.cutShort() && phase != "send" {
			r.t.Errorf("phase is %q", phase)
		}
	}
	quickly(r.t, atOnce, "CloseSession", func() { r.close(id) })
	for _, pid := range pids {
		r.gone(pid)
	}
}

// closesQuickly: a process that is deaf to all politeness is killed in the end.
func closesQuickly(r *rig) {
	r.t.Helper()
	id := r.open()
	pids := r.pids()
	r.echoes(id)
	quickly(r.t, atOnce, "CloseSession", func() { r.close(id) })
	for _, pid := range pids {
		r.gone(pid)
	}
}

// orphan: a grandchild that holds the pipes is gone with its group.
func orphan(r *rig) {
	r.t.Helper()
	res, err := r.initialize(r.ctx(), &mcpbridgev1.InitializeRequest{Server: "q"})
	if err != nil {
		r.t.Fatal(err)
	}
	pid, err := strconv.Atoi(res.Instructions[strings.LastIndexByte(res.Instructions, ' ')+1:])
	if err != nil {
		r.t.Fatalf("instructions: %q", res.Instructions)
	}
	if !alive(pid) {
		r.t.Fatalf("there is no grandchild %d", pid)
	}
	r.echoes(res.SessionId)
	quickly(r.t, 2*atOnce, "CloseSession", func() { r.close(res.SessionId) })
	for _, pid := range append(r.pids(), pid) {
		r.gone(pid)
	}
}

// environmentAndFolder: a server has what was configured and what may be
// inherited, and nothing else.
func environmentAndFolder(r *rig) {
	r.t.Helper()
	id := r.open()
	var seen struct {
		CWD   string
		Names []string
		Value string
	}
	text := r.must(id, "env", `{"name":"CONFIGURED"}`).GetStructuredContent().GetText()
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		r.t.Fatal(err)
	}
	if seen.CWD != "/usr" || seen.Value != "its value" {
		r.t.Errorf("cwd %q, CONFIGURED %q", seen.CWD, seen.Value)
	}
	var wants []string
	for _, v := range append(r.b.cmd.Env, "CONFIGURED=") {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains([]string{"CONFIGURED", "PATH", "HOME", "LANG", "TMPDIR"}, name) {
			wants = append(wants, name)
		}
	}
	slices.Sort(wants)
	// Python sets LC_CTYPE by itself where the locale is C.
	seen.Names = slices.DeleteFunc(seen.Names, func(s string) bool { return s == "LC_CTYPE" })
	if diff := cmp.Diff(wants, seen.Names); diff != "" {
		r.t.Error(diff)
	}
	r.close(id)
}

// nullID: an error without an id is the request's where that is sure, over HTTP.
func nullID(r *rig) {
	r.t.Helper()
	id := r.open()
	if r.on == overHTTP {
		quickly(r.t, atOnce, "the call", func() {
			f := r.fails(id, "echo", "{}", want{connect.CodeInternal, "SERVER_ERROR", answered, []string{"MCP error -32603: boom"}})
			if f.upstream.GetJsonrpcError().GetCode() != -32603 {
				r.t.Error(f.upstream)
			}
		})
	} else {
		_, err := r.callJSON(within(r.t, time.Second), id, "echo", "{}")
		want{code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: sent}.check(r.t, err)
	}
	r.names(id)
	r.close(id)
}

// nullMembers: null is no member.
func nullMembers(r *rig) {
	r.t.Helper()
	works(r)
	id := r.open()
	r.fails(id, "nonesuch", "{}", want{connect.CodeInvalidArgument, "INVALID_PARAMS", answered, []string{"Unknown tool"}})
	r.close(id)
}

// late: an answer that comes after its deadline is nobody's.
func late(r *rig) {
	r.t.Helper()
	id := r.open()
	begun := time.Now()
	_, err := r.callJSON(within(r.t, 300*time.Millisecond), id, "sleep", `{"seconds":1.2}`)
	want{connect.CodeDeadlineExceeded, "TIMEOUT", sent, nil}.check(r.t, err)
	if took := time.Since(begun); took > 400*time.Millisecond {
		r.t.Errorf("the deadline of 300 ms passed after %v", took)
	}
	r.echoes(id)
	if r.on == overStdio {
		eventually(r.t, atOnce, "the server is told of the cancellation", func() bool { return len(r.received("notifications/cancelled")) == 1 })
	}
	eventually(r.t, atOnce, "the late answer is sent", func() bool {
		return len(r.entries(func(e *entry) bool { return e.Event == "late" || e.Event == "answer" })) >= 1
	})
	r.echoes(id)
	r.close(id)
}

// outOfOrder: of two calls each gets its own answer, in whatever order.
func outOfOrder(r *rig) {
	r.t.Helper()
	id := r.open()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			args := `{"n":` + strconv.Itoa(n) + `}`
			if res, err := r.callJSON(r.ctx(), id, "echo", args); err != nil || firstText(res) != args {
				r.t.Errorf("%s: %v %v", args, firstText(res), err)
			}
		})
	}
	wg.Wait()
	r.close(id)
}
