package mcp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// TestJudge is the order in which an HTTP answer is judged.
func TestJudge(t *testing.T) {
	t.Parallel()
	body := func(id, code string) string {
		return `{"jsonrpc":"2.0",` + id + `"error":{"code":` + code + `,"message":"m"}}`
	}
	const own, null, absent, made = `"id":3,`, `"id":null,`, ``, `"id":"server-error",`
	for _, c := range []struct {
		name string
		r    transport.RefusedError
		body string
		want string // errorKind
		rpc  int64  // the code that is told all the same; 0: none
	}{
		{"401 before the body", transport.RefusedError{Status: 401}, body(own, "-32603"), "status", -32603},
		{"403 before the body", transport.RefusedError{Status: 403}, body(own, "-32602"), "status", -32602},
		{"redirect", transport.RefusedError{Status: 307, Location: "https://elsewhere"}, "", "status", 0},
		{"404 with a session", transport.RefusedError{Status: 404, Session: true}, "", "gone", 0},
		{"404 with a session and text", transport.RefusedError{Status: 404, Session: true}, "no such session", "gone", 0},
		{"404 with a session and an error", transport.RefusedError{Status: 404, Session: true}, body(own, "-32001"), "gone", -32001},
		{"404 with a session and somebody's error", transport.RefusedError{Status: 404, Session: true}, body(made, "-32601"), "gone", -32601},
		{"404 with a session and nobody's error", transport.RefusedError{Status: 404, Session: true}, body(null, "-32601"), "gone", -32601},
		{"404 with a session and a method not found", transport.RefusedError{Status: 404, Session: true}, body(own, "-32601"), "server", -32601},
		{"404 with a session and bad params", transport.RefusedError{Status: 404, Session: true}, body(own, "-32602"), "server", -32602},
		{"400 that denies the session", transport.RefusedError{Status: 400, Session: true}, `{"id":3,"error":{"code":-32000,"message":"Bad Request: no valid Session"}}`, "gone", -32000},
		{"400 that denies a session that was not named", transport.RefusedError{Status: 400}, `{"id":3,"error":{"code":-32000,"message":"Bad Request: no valid session"}}`, "server", -32000},
		{"400 with an error of the tool's", transport.RefusedError{Status: 400, Session: true}, body(own, "-32000"), "server", -32000},
		{"404 without a session", transport.RefusedError{Status: 404}, "", "status", 0},
		{"404 without a session and an error", transport.RefusedError{Status: 404}, body(own, "-32001"), "server", -32001},
		{"429 before the body", transport.RefusedError{Status: 429}, body(own, "-32000"), "status", -32000},
		{"429 with a session", transport.RefusedError{Status: 429, Session: true}, "", "status", 0},
		{"own error", transport.RefusedError{Status: 400}, body(own, "-32602"), "server", -32602},
		{"own error, id as a string", transport.RefusedError{Status: 400}, body(`"id":"3",`, "-32602"), "server", -32602},
		{"error with id null", transport.RefusedError{Status: 500}, body(null, "-32603"), "server", -32603},
		{"error without id", transport.RefusedError{Status: 503}, body(absent, "-32603"), "server", -32603},
		{"error of another request", transport.RefusedError{Status: 400}, body(`"id":4,`, "-32602"), "status", -32602},
		{"error with a made up id", transport.RefusedError{Status: 400}, body(made, "-32600"), "status", -32600},
		{"error with a broken letter", transport.RefusedError{Status: 400}, "{\"id\":3,\"error\":{\"code\":7,\"message\":\"\xff\"}}", "server", 7},
		{"a result is no error", transport.RefusedError{Status: 400}, `{"jsonrpc":"2.0","id":3,"result":{}}`, "status", 0},
		{"no JSON", transport.RefusedError{Status: 502}, "<html>bad gateway", "status", 0},
		{"nothing", transport.RefusedError{Status: 504}, "", "status", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.r.Text, c.r.Body = "Text", []byte(c.body)
			conn := &fakeConn{private: true, legacy: true}
			conn.send = func(_ context.Context, _ transport.Frame, method string, _ transport.Sink) (error, bool) {
				return &c.r, method == "tools/list"
			}
			// The probe is 1, initialize 2, the request 3.
			client := openOver(t, conn, mcp.Options{})
			_, err := client.Do(t.Context(), &mcp.Request{Method: "tools/list"})
			if kind := errorKind(err); kind != c.want {
				t.Errorf("judged %s: %v", kind, err)
			}
			if errors.Is(err, transport.ErrNotSent) {
				t.Error("what was answered was sent")
			}
			select {
			case <-client.Done():
				if c.want != "gone" {
					t.Error("the session is over")
				}
			default:
				if c.want == "gone" {
					t.Error("the session goes on")
				}
			}
			var code int64
			var se *mcp.ServerError
			var st *mcp.StatusError
			if errors.As(err, &se) {
				code = se.RPC.Code
				if se.Status != c.r.Status {
					t.Errorf("status %d", se.Status)
				}
			} else if errors.As(err, &st) {
				if st.RPC != nil {
					code = st.RPC.Code
				}
				if st.Status != c.r.Status {
					t.Errorf("status %d", st.Status)
				}
			}
			if code != c.rpc {
				t.Errorf("code %d, want %d", code, c.rpc)
			}
		})
	}
}

// TestSendErrors is what becomes of the errors of Send, and whether they promise
// that nothing was sent.
func TestSendErrors(t *testing.T) {
	t.Parallel()
	weary := errors.New("weary")
	broken := &transport.LostError{Err: errors.New("broken pipe")}
	full := transport.NotSent(transport.ErrQueueFull)
	big := transport.NotSent(&transport.TooLargeError{Limit: 10, Size: 11})
	for _, c := range []struct {
		name     string
		private  bool
		send     error // what Send returns
		cancel   bool  // the context ends with weary before that
		answered bool  // the answer comes before that
		ends     bool  // the link ends before that
		want     string
		notSent  bool
		cancels  int64 // cancellations sent to the server
	}{
		{name: "queue full", send: full, want: "other", notSent: true},
		{name: "too large", send: big, want: "toolarge", notSent: true},
		{name: "too large, private", private: true, send: big, want: "toolarge", notSent: true},
		{name: "lost before", send: transport.NotSent(broken), want: "lost", notSent: true},
		{name: "lost in the middle", send: broken, want: "lost"},
		{name: "lost, private", private: true, send: broken, want: "lost"},
		{name: "not connected, private", private: true, send: transport.NotSent(broken), want: "lost", notSent: true},
		{name: "cancelled while queued", cancel: true, send: transport.NotSent(weary), want: "interrupted:send", notSent: true},
		{name: "cancelled while queued, private", private: true, cancel: true, send: transport.NotSent(weary), want: "interrupted:send", notSent: true},
		{name: "cancelled partly out", cancel: true, send: weary, want: "interrupted:send", cancels: 1},
		{name: "cancelled, private", private: true, cancel: true, send: weary, want: "interrupted:wait", cancels: 1},
		{name: "another error after the end of the context", cancel: true, send: broken, want: "lost"},
		{name: "answered all the same", answered: true, send: weary, cancel: true, want: ""},
		{name: "answered all the same, private", private: true, answered: true, send: broken, want: ""},
		{name: "the link has ended, and it was not sent", ends: true, send: transport.NotSent(broken), want: "lost", notSent: true},
		{name: "the link has ended", ends: true, send: broken, want: "lost"},
		{name: "sink error", private: true, send: errors.New("odd"), want: "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stats := &mcp.Stats{}
				ctx, cancel := context.WithCancelCause(t.Context())
				conn := &fakeConn{private: c.private}
				down := make(chan struct{})
				if c.ends {
					conn.listen = func(ctx context.Context, sink transport.Sink) error {
						for {
							select {
							case in := <-conn.in:
								_ = sink(in)
							case <-down:
								return &transport.LostError{Exit: "exit status 9"}
							}
						}
					}
				}
				conn.send = func(_ context.Context, f transport.Frame, method string, sink transport.Sink) (error, bool) {
					if method != "tools/list" {
						return nil, false
					}
					if c.answered {
						_ = conn.answer(mustID(f.Body), `"result":{}`, sink)
						synctest.Wait()
					}
					if c.ends {
						close(down)
						synctest.Wait()
					}
					if c.cancel {
						cancel(weary)
					}
					return c.send, true
				}
				client := openOver(t, conn, mcp.Options{Stats: stats, Protocol: mcp.Protocol{Era: mcp.EraLegacy}})
				_, err := client.Do(ctx, &mcp.Request{Method: "tools/list"})
				synctest.Wait()
				cancel(nil)
				switch {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want != "" && (errorKind(err) != c.want || errors.Is(err, transport.ErrNotSent) != c.notSent):
					t.Errorf("got %v (%s), not sent: %v", err, errorKind(err), errors.Is(err, transport.ErrNotSent))
				case c.want == "toolarge":
					contains(t, err.Error(), "request of 11 bytes is over max_message_bytes (10)")
				}
				if n := stats.Cancelled.Load(); n != c.cancels {
					t.Errorf("%d cancellations, want %d", n, c.cancels)
				}
				if n := client.InFlight(); n != 0 {
					t.Errorf("%d left in the table", n)
				}
			})
		})
	}
}

func mustID(frame []byte) jsonrpc.ID {
	m, err := jsonrpc.Parse(frame)
	if err != nil {
		return jsonrpc.ID{}
	}
	call, ok := m.(*jsonrpc.Call)
	if !ok {
		return jsonrpc.ID{}
	}
	return call.ID
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	refused := &transport.RefusedError{Status: 500, Text: "Internal Server Error"}
	withBody := &transport.RefusedError{Status: 500, Text: "Internal Server Error", Body: []byte(" oh\n\nno\xff ")}
	elsewhere := &transport.RefusedError{Status: 307, Location: "https://b/", Body: []byte("moved")}
	for want, err := range map[string]error{
		"MCP error -32601: m":                                                &mcp.ServerError{RPC: &jsonrpc.Error{Code: -32601, Message: "m"}},
		"HTTP 500: Internal Server Error":                                    &mcp.StatusError{RefusedError: refused},
		"no response received for request 7":                                 &mcp.NoReplyError{ID: 7, NoReplyError: &transport.NoReplyError{}},
		"HTTP 500: Internal Server Error: MCP error 5: m":                    &mcp.StatusError{RefusedError: withBody, RPC: &jsonrpc.Error{Code: 5, Message: "m"}},
		"HTTP 307: redirect to another origin refused: https://b/":           &mcp.StatusError{RefusedError: elsewhere},
		"no common protocol revision":                                        &mcp.VersionError{},
		"no common protocol revision: the server speaks a, b":                &mcp.VersionError{Server: []string{"a", "b"}},
		"no common protocol revision: the server speaks a; wanted c":         &mcp.VersionError{Server: []string{"a"}, Only: "c", Limit: "d"},
		"no common protocol revision: the server speaks a; wanted at most d": &mcp.VersionError{Server: []string{"a"}, Limit: "d"},
		"the server does not offer tools, which tools/call needs":            &mcp.NotOfferedError{Method: "tools/call", Capability: "tools"},
		"response is over max_message_bytes":                                 &transport.TooLargeError{Inbound: true},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
