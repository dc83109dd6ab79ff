//go:build unix

package e2e_test

import (
	"context"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
)

// TestDeadline: a deadline of 300 ms is one of 300 ms, and the server is told.
func TestDeadline(t *testing.T) {
	for _, over := range []string{overStdio, overHTTP} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			b := serveConfig(t, "servers:\n  demo:\n"+demoOver(t, over))
			for _, name := range []string{"connect", "grpc", "json"} {
				a := api{b.callers(t)[name]}
				detailed := 0
				for range 3 {
					if !a.givesUp(t) {
						detailed++
					}
				}
				if detailed == 0 {
					t.Errorf("%s: the details of the error never arrive in time", name)
				}
			}
			_, err := b.rpc().call(within(t, time.Millisecond), sleepCall("demo", 10))
			want{code: connect.CodeDeadlineExceeded}.check(t, err)
			if _, err := b.rpc().call(within(t, patience), sleepCall("demo", 0)); err != nil {
				t.Errorf("after a deadline of 1 ms: %v", err)
			}
		})
	}
}

// givesUp calls a tool that takes too long, and reports whether the client's own
// clock was faster than the answer of the bridge.
func (a api) givesUp(t *testing.T) (cutShort bool) {
	t.Helper()
	before := a.stats(t, "demo", "sleep")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := a.call(ctx, sleepCall("demo", 10))
	if took := time.Since(begun); took > 400*time.Millisecond {
		t.Errorf("%T: 300 ms took %v", a.caller, took)
	}
	f := want{connect.CodeDeadlineExceeded, "TIMEOUT", sent, []string{"request timeout after "}}.check(t, err)
	if !f.cutShort() && f.info.GetMetadata()["phase"] != "wait" {
		t.Errorf("%T: %v", a.caller, f.info)
	}
	eventually(t, 3*time.Second, "the server is told", func() bool {
		s := a.stats(t, "demo", "sleep")
		return s.Cancelled == before.Cancelled+1 && s.Running == 0
	})
	return f.cutShort()
}

// TestClientGoesAway: a call that nobody waits for is cancelled at the server.
func TestClientGoesAway(t *testing.T) {
	for _, over := range []string{overStdio, overHTTP} {
		for _, name := range []string{"connect", "grpc", "json"} {
			t.Run(over+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := serveConfig(t, "servers:\n  demo:\n"+demoOver(t, over))
				a := api{b.callers(t)[name]}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := a.call(ctx, sleepCall("demo", 30))
					done <- err
				}()
				a.runs(t, "demo", 1)
				cancel()
				want{code: connect.CodeCanceled}.check(t, <-done)
				a.cancelled(t, "demo")
			})
		}
	}
}

func demoOver(t *testing.T, over string) string {
	t.Helper()
	if over == overHTTP {
		return "    url: " + startDemoHTTP(t) + "\n"
	}
	return demoEntry()
}
