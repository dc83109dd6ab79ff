//go:build unix

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// failures are what can become of a call, by the tool that makes it happen. A
// code of 0 means that nothing is seen of it.
var failures = []struct {
	scenario, on, tool string
	timeout            time.Duration // the caller's deadline; 0: none
	abort              bool          // the caller leaves while the call runs
	want               want
	status             int // HTTP
	exit               string
}{
	{scenario: "a bad line", on: both, tool: "noise"},
	{scenario: "bad JSON", on: both, tool: "badjson", want: want{connect.CodeInternal, "INVALID_RESPONSE", answered, nil}},
	{scenario: "JSON that is no result", on: both, tool: "badresult", want: want{connect.CodeInternal, "INVALID_RESPONSE", answered, nil}},
	{scenario: "bad JSON in an event", on: overHTTP, tool: "badevent", want: want{connect.CodeInternal, "INVALID_RESPONSE", answered, nil}},
	{scenario: "an error of the server", on: both, tool: "rpcerror", want: want{connect.CodeInternal, "SERVER_ERROR", answered, []string{"MCP error -32603: broken inside"}}},

	{scenario: "the process ends", on: overStdio, tool: "end", want: want{connect.CodeAborted, "REQUEST_LOST", sent, []string{"exit status 7", "out of memory"}}, exit: "exit status 7"},
	{scenario: "the connection ends", on: overHTTP, tool: "end", want: want{connect.CodeAborted, "REQUEST_LOST", sent, nil}},

	{scenario: "HTTP 500", on: overHTTP, tool: "500", want: want{connect.CodeUnknown, "HTTP_ERROR", answered, []string{"HTTP 500: ", "it broke"}}, status: 500},
	{scenario: "HTTP 418", on: overHTTP, tool: "418", want: want{connect.CodeUnknown, "HTTP_ERROR", answered, []string{"HTTP 418: ", "it broke"}}, status: 418},
	{scenario: "HTTP 403", on: overHTTP, tool: "403", want: want{connect.CodeFailedPrecondition, "UPSTREAM_FORBIDDEN", answered, []string{"HTTP 403"}}, status: 403},
	{scenario: "HTTP 429", on: overHTTP, tool: "429", want: want{connect.CodeResourceExhausted, "RATE_LIMITED", answered, []string{"HTTP 429"}}, status: 429},
	{scenario: "HTTP 502", on: overHTTP, tool: "502", want: want{connect.CodeAborted, "REQUEST_LOST", sent, []string{"HTTP 502"}}, status: 502},
	{scenario: "HTTP 503", on: overHTTP, tool: "503", want: want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", answered, []string{"HTTP 503"}}, status: 503},
	{scenario: "HTTP 504", on: overHTTP, tool: "504", want: want{connect.CodeAborted, "REQUEST_LOST", sent, []string{"HTTP 504"}}, status: 504},

	{scenario: "a stream without an answer", on: overHTTP, tool: "sseend", want: want{connect.CodeAborted, "NO_RESPONSE", sent, []string{"no response received for request "}}, status: 200},
	{scenario: "no body", on: overHTTP, tool: "empty", want: want{connect.CodeAborted, "NO_RESPONSE", sent, []string{"no response received for request "}}, status: 200},

	{scenario: "the caller's deadline", on: both, tool: "silent", timeout: 300 * time.Millisecond, want: want{connect.CodeDeadlineExceeded, "TIMEOUT", sent, []string{"request timeout after "}}},
	{scenario: "the server's timeout", on: both, tool: "silent", want: want{connect.CodeDeadlineExceeded, "TIMEOUT", sent, []string{"request timeout after 900ms"}}},
	{scenario: "the caller leaves", on: both, tool: "silent", abort: true, want: want{code: connect.CodeCanceled}},
}

// TestFailures: each way to fail has its code, and the next call is well.
func TestFailures(t *testing.T) {
	for _, f := range failures {
		for on := range strings.SplitSeq(f.on, ",") {
			t.Run(f.scenario+"/"+on, func(t *testing.T) {
				t.Parallel()
				s := newScripted(t, on)
				id := s.warm(t)
				ctx, cancel := context.WithCancel(within(t, patience))
				defer cancel()
				if f.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, f.timeout)
					defer cancel()
				}
				if f.timeout == 0 && !f.abort {
					ctx = withoutDeadline{ctx}
				}
				if f.abort {
					go func() {
						s.sawCall(t)
						cancel()
					}()
				}
				begun := time.Now()
				res, err := s.call(ctx, &mcpbridgev1.CallToolRequest{SessionId: id, Name: f.tool})
				took := time.Since(begun)
				if f.want.code == 0 {
					if err != nil || firstText(res.GetResult()) != "fine" {
						t.Errorf("%v, %v", res, err)
					}
				} else {
					e := f.want.check(t, err)
					if int(e.upstream.GetHttpStatus()) != f.status || e.upstream.GetProcessExit() != f.exit {
						t.Errorf("status %d, exit %q", e.upstream.GetHttpStatus(), e.upstream.GetProcessExit())
					}
					if n := strings.Count(e.message, "it broke"); n > 1 {
						t.Errorf("the body stands %d times in the message: %s", n, e.message)
					}
					if phase := e.info.GetMetadata()["phase"]; f.want.reason == "TIMEOUT" && !e.cutShort() && phase != "wait" {
						t.Errorf("phase is %q", phase)
					}
				}
				if f.timeout > 0 && took > f.timeout+100*time.Millisecond || took > atOnce {
					t.Errorf("took %v", took)
				}
				if f.tool == "silent" {
					s.sawCancellation(t)
				}
				if res, err := s.call(within(t, patience), &mcpbridgev1.CallToolRequest{SessionId: id, Name: "ok"}); err != nil || firstText(res.GetResult()) != "fine" {
					t.Errorf("the next call: %v, %v", res, err)
				}
			})
		}
	}
}

// withoutDeadline hides a deadline from the client, which would send it.
type withoutDeadline struct{ context.Context }

func (withoutDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// A scripted server is one whose tools are failures.
type scripted struct {
	api
	on   string
	seen string // file; stdio
	http *scriptedHTTP
}

func newScripted(t *testing.T, on string) *scripted {
	t.Helper()
	s := &scripted{on: on, seen: filepath.Join(t.TempDir(), "seen")}
	entry := roleEnv("scripted", "SEEN="+s.seen)
	if on == overHTTP {
		s.http = newScriptedHTTP(t)
		entry = "    url: " + s.http.url + "\n"
	}
	s.api = serveConfig(t, "servers:\n  s:\n    timeout: 900ms\n"+entry).rpc()
	return s
}

func (s *scripted) warm(t *testing.T) string {
	t.Helper()
	res, err := s.initialize(within(t, patience), &mcpbridgev1.InitializeRequest{Server: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return res.SessionId
}

func (s *scripted) messages() []string {
	if s.on == overHTTP {
		return s.http.messages()
	}
	text, _ := os.ReadFile(s.seen)
	return strings.Fields(string(text))
}

func (s *scripted) saw(method string) bool {
	for _, m := range s.messages() {
		if m == method {
			return true
		}
	}
	return false
}

// sawCall waits until the call has arrived.
func (s *scripted) sawCall(t *testing.T) {
	eventually(t, patience, "the server has the call", func() bool { return s.saw("tools/call") })
}

// sawCancellation waits until the server knows that nobody waits for the call:
// by a notification, or over HTTP by the end of the connection.
func (s *scripted) sawCancellation(t *testing.T) {
	t.Helper()
	eventually(t, atOnce, "the server is told of the cancellation", func() bool {
		return s.saw("notifications/cancelled") || s.on == overHTTP && s.saw("left")
	})
}
