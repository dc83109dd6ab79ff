package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

const (
	notSent  = v1.Delivery_DELIVERY_NOT_SENT
	sent     = v1.Delivery_DELIVERY_SENT
	answered = v1.Delivery_DELIVERY_ANSWERED

	byServer    = v1.ErrorOrigin_ERROR_ORIGIN_SERVER
	byTransport = v1.ErrorOrigin_ERROR_ORIGIN_TRANSPORT
	byBridge    = v1.ErrorOrigin_ERROR_ORIGIN_BRIDGE
)

func rpcError(code int) error {
	return &mcp.ServerError{RPC: &jsonrpc.Error{Code: int64(code), Message: "no"}}
}

func status(e transport.RefusedError) error {
	return &mcp.StatusError{RefusedError: &e}
}

// notReady is what a request meets that waits for a server in vain.
func notReady(err error) error {
	return transport.NotSent(&upstream.NotReadyError{Server: "s", State: upstream.BackingOff, Err: err, RetryAfter: 3 * time.Second})
}

type row struct {
	name     string
	err      error
	about    rpc.Context // Server "s" and Method "tools/call" where it is empty
	code     connect.Code
	reason   string
	delivery v1.Delivery
	origin   v1.ErrorOrigin
	message  string // empty: not looked at
	metadata map[string]string
	retry    time.Duration // -1: some
	status   int32
}

func filled(c rpc.Context) rpc.Context {
	if c.Server == "" {
		c.Server = "s"
	}
	if c.Method == "" {
		c.Method = "tools/call"
	}
	return c
}

var (
	timeout = &transport.TimeoutError{Limit: 300 * time.Millisecond}
	lost    = &transport.LostError{Err: errors.New("EOF"), Exit: "exit status 3", Stderr: []string{"a", "b"}}
	read    = rpc.Context{Repeat: true, Method: "resources/read"}
)

// rows is the contract's table of errors, line by line.
var rows = []row{
	{name: "unknown server", err: transport.NotSent(&upstream.UnknownServerError{Name: "x"}),
		code: connect.CodeNotFound, reason: "SERVER_NOT_FOUND", delivery: notSent, origin: byBridge, message: `no server "x"`},
	{name: "unknown session", err: transport.NotSent(upstream.ErrUnknownSession),
		code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND", delivery: notSent, origin: byBridge},
	{name: "another instance's session", err: transport.NotSent(upstream.ErrElsewhere),
		code: connect.CodeFailedPrecondition, reason: "SESSION_ELSEWHERE", delivery: notSent, origin: byBridge},
	{name: "session lost", err: transport.NotSent(&upstream.SessionLostError{Err: lost}),
		code: connect.CodeAborted, reason: "SESSION_LOST", delivery: notSent, origin: byBridge},
	{name: "malformed request", err: rpc.Invalid("bad"),
		code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST", delivery: notSent, origin: byBridge, message: "bad"},
	{name: "not told to a legacy server", err: rpc.CapabilityError("s"),
		code: connect.CodeFailedPrecondition, reason: "CAPABILITY_REQUIRED", delivery: notSent, origin: byBridge},
	{name: "not implemented", err: rpc.Unimplemented("no", false),
		code: connect.CodeUnimplemented, reason: "UNIMPLEMENTED", delivery: notSent, origin: byBridge},
	{name: "an answer not implemented", err: rpc.Unimplemented("no", true),
		code: connect.CodeUnimplemented, reason: "UNIMPLEMENTED", delivery: answered, origin: byBridge},

	{name: "timeout before it was sent", err: mcp.Interrupted(mcp.PhaseStart, timeout),
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: notSent, origin: byBridge,
		message: "request timeout after 300ms", metadata: map[string]string{"phase": "start"}},
	{name: "timeout while sending", err: mcp.Interrupted(mcp.PhaseSend, timeout),
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: notSent, origin: byBridge, metadata: map[string]string{"phase": "send"}},
	{name: "timeout in the queue", err: mcp.Interrupted(mcp.PhaseQueue, timeout),
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: notSent, origin: byBridge, metadata: map[string]string{"phase": "queue"}},
	{name: "timeout while waiting", err: &mcp.InterruptedError{Phase: mcp.PhaseWait, Err: timeout},
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: sent, origin: byBridge,
		message: "request timeout after 300ms", metadata: map[string]string{"phase": "wait"}},
	{name: "a deadline that had passed", err: mcp.Interrupted(mcp.PhaseSend, context.DeadlineExceeded), about: rpc.Context{Given: 7 * time.Millisecond},
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: notSent, origin: byBridge, message: "request timeout after 7ms"},
	{name: "timeout of a notification", err: mcp.Interrupted(mcp.PhaseSend, timeout), about: rpc.Context{Notify: true, Method: "notifications/x"},
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: notSent, origin: byBridge, message: "notify timeout after 300ms"},
	{name: "a bare timeout", err: timeout,
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: sent, origin: byBridge, metadata: map[string]string{"phase": "wait"}},
	{name: "a bare deadline", err: context.DeadlineExceeded,
		code: connect.CodeDeadlineExceeded, reason: "TIMEOUT", delivery: sent, origin: byBridge},
	{name: "cancelled before it was sent", err: mcp.Interrupted(mcp.PhaseStart, context.Canceled),
		code: connect.CodeCanceled, reason: "CANCELLED", delivery: notSent, origin: byBridge, message: "cancelled by the caller"},
	{name: "cancelled", err: &mcp.InterruptedError{Phase: mcp.PhaseWait, Err: context.Canceled},
		code: connect.CodeCanceled, reason: "CANCELLED", delivery: sent, origin: byBridge},
	{name: "cancelled by something odd", err: &mcp.InterruptedError{Phase: mcp.PhaseWait, Err: errors.New("odd")},
		code: connect.CodeCanceled, reason: "CANCELLED", delivery: sent, origin: byBridge},

	{name: "a server that can't be started", err: notReady(errors.New("no such file")),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport,
		message: `server "s" is backing off: no such file`, retry: 3 * time.Second},
	{name: "a server whose process ends at once", err: notReady(lost),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport, retry: 3 * time.Second},
	{name: "a server that does not answer its probe", err: notReady(&mcp.InterruptedError{Phase: mcp.PhaseWait, Err: timeout}),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport},
	{name: "a server that refuses initialize", err: notReady(rpcError(-32603)),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byServer},
	{name: "a server that answers initialize with nonsense", err: notReady(&mcp.ProtocolError{Reason: "x"}),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport},
	{name: "a server that died of the probe", err: notReady(&mcp.ProbeCrashError{Err: lost}),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport},
	{name: "a server that speaks on no binding", err: notReady(&mcp.WrongBindingError{Err: status(transport.RefusedError{Status: 405, Text: "Method Not Allowed"})}),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport, status: 405},
	{name: "a server that wants credentials to begin", err: notReady(status(transport.RefusedError{Status: 401, Text: "Unauthorized", WWWAuthenticate: "Bearer"})),
		code: connect.CodeFailedPrecondition, reason: "UPSTREAM_UNAUTHENTICATED", delivery: answered, origin: byTransport,
		message: "HTTP 401: Unauthorized", metadata: map[string]string{"www_authenticate": "Bearer"}, status: 401},
	{name: "a server that is too busy to begin", err: notReady(status(transport.RefusedError{Status: 503, Text: "Service Unavailable", RetryAfter: 9 * time.Second})),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: answered, origin: byTransport, retry: 9 * time.Second, status: 503},
	{name: "a gateway that fails at the beginning", err: notReady(status(transport.RefusedError{Status: 502, Text: "Bad Gateway"})),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport, status: 502},
	{name: "an endpoint on another origin", err: notReady(&transport.RefusedError{Status: 200, Location: "https://evil.example"}),
		code: connect.CodeFailedPrecondition, reason: "REDIRECT_REFUSED", delivery: answered, origin: byTransport,
		metadata: map[string]string{"location": "https://evil.example"}, status: 200},
	{name: "no common revision", err: notReady(&mcp.VersionError{Server: []string{"1999-01-01"}}),
		code: connect.CodeFailedPrecondition, reason: "PROTOCOL_VERSION", delivery: answered, origin: byServer},
	{name: "the link was down", err: transport.NotSent(lost),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport, retry: -1},
	{name: "not dialled", err: transport.NotSent(errors.New("connection refused")),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport},
	{name: "would have to be started", err: rpc.ErrNotStarted,
		code: connect.CodeUnavailable, reason: "NOT_STARTED", delivery: notSent, origin: byBridge},

	{name: "too many in flight", err: transport.NotSent(&upstream.OverloadedError{What: "max_in_flight", Limit: 1}),
		code: connect.CodeResourceExhausted, reason: "OVERLOADED", delivery: notSent, origin: byBridge, retry: -1},
	{name: "a full queue", err: transport.NotSent(transport.ErrQueueFull),
		code: connect.CodeResourceExhausted, reason: "OVERLOADED", delivery: notSent, origin: byBridge, retry: -1},
	{name: "draining", err: rpc.ErrDraining,
		code: connect.CodeUnavailable, reason: "DRAINING", delivery: notSent, origin: byBridge, retry: -1},
	{name: "a wait that draining ends", err: mcp.Interrupted(mcp.PhaseStart, rpc.ErrDraining),
		code: connect.CodeUnavailable, reason: "DRAINING", delivery: notSent, origin: byBridge, retry: -1},

	{name: "process lost", err: lost,
		code: connect.CodeAborted, reason: "REQUEST_LOST", delivery: sent, origin: byTransport},
	{name: "process lost under a read", err: lost, about: read,
		code: connect.CodeUnavailable, reason: "REQUEST_LOST", delivery: sent, origin: byTransport},
	{name: "a loss because of a cancelled context", err: &transport.LostError{Err: context.Canceled},
		code: connect.CodeAborted, reason: "REQUEST_LOST", delivery: sent, origin: byTransport},
	{name: "session closed under the call", err: transport.ErrClosed,
		code: connect.CodeAborted, reason: "REQUEST_LOST", delivery: sent, origin: byBridge, message: "transport closed"},
	{name: "server removed under the call", err: upstream.ErrClosing,
		code: connect.CodeAborted, reason: "REQUEST_LOST", delivery: sent, origin: byBridge, message: "transport closed"},
	{name: "server removed before", err: transport.NotSent(upstream.ErrClosing),
		code: connect.CodeUnavailable, reason: "DRAINING", delivery: notSent, origin: byBridge, retry: -1},
	{name: "session closed before", err: transport.NotSent(transport.ErrClosed), about: rpc.Context{Private: true},
		code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND", delivery: notSent, origin: byBridge},
	{name: "stream ended without the response", err: &transport.NoReplyError{Status: 200},
		code: connect.CodeAborted, reason: "NO_RESPONSE", delivery: sent, origin: byTransport, status: 200},
	{name: "stream of a request ended without the response", err: &mcp.NoReplyError{ID: 7, NoReplyError: &transport.NoReplyError{Status: 202}},
		code: connect.CodeAborted, reason: "NO_RESPONSE", delivery: sent, origin: byTransport, status: 202, message: "no response received for request 7"},
	{name: "stream that could not be taken up", about: read,
		err:  &transport.NoReplyError{Status: 200, Err: &transport.RefusedError{Status: 401}},
		code: connect.CodeUnavailable, reason: "NO_RESPONSE", delivery: sent, origin: byTransport, status: 200},

	{name: "no valid result", err: &mcp.ProtocolError{Reason: "x"},
		code: connect.CodeInternal, reason: "INVALID_RESPONSE", delivery: answered, origin: byBridge, message: "invalid response: x"},
	{name: "an event that is no JSON", err: &transport.UnreadableError{Err: errors.New("x")},
		code: connect.CodeInternal, reason: "INVALID_RESPONSE", delivery: answered, origin: byBridge},
	{name: "a request over the limit", err: transport.NotSent(&transport.TooLargeError{Limit: 1, Size: 2}),
		code: connect.CodeResourceExhausted, reason: "MESSAGE_TOO_LARGE", delivery: notSent, origin: byBridge},
	{name: "a response over the limit", err: &transport.TooLargeError{Limit: 1, Size: 2, Inbound: true},
		code: connect.CodeResourceExhausted, reason: "MESSAGE_TOO_LARGE", delivery: answered, origin: byBridge},
	{name: "a list over the limit", err: rpc.LimitError("x"),
		code: connect.CodeResourceExhausted, reason: "LIST_TOO_LONG", delivery: answered, origin: byBridge},

	{name: "-32601", err: rpcError(-32601),
		code: connect.CodeUnimplemented, reason: "METHOD_NOT_FOUND", delivery: answered, origin: byServer, message: "MCP error -32601: no"},
	{name: "not announced", err: transport.NotSent(&mcp.NotOfferedError{Method: "m", Capability: "c"}),
		code: connect.CodeUnimplemented, reason: "NOT_OFFERED", delivery: notSent, origin: byBridge},
	{name: "-32602", err: rpcError(-32602), code: connect.CodeInvalidArgument, reason: "INVALID_PARAMS", delivery: answered, origin: byServer},
	{name: "-32602 to a read", err: rpcError(-32602), about: read, code: connect.CodeNotFound, reason: "RESOURCE_NOT_FOUND", delivery: answered, origin: byServer},
	{name: "-32002", err: rpcError(-32002), code: connect.CodeNotFound, reason: "RESOURCE_NOT_FOUND", delivery: answered, origin: byServer},
	{name: "-32042", err: rpcError(-32042), code: connect.CodeFailedPrecondition, reason: "URL_ELICITATION_REQUIRED", delivery: answered, origin: byServer},
	{name: "-32021", err: rpcError(-32021), code: connect.CodeFailedPrecondition, reason: "CAPABILITY_REQUIRED", delivery: answered, origin: byServer},
	{name: "-32022", err: rpcError(-32022), code: connect.CodeFailedPrecondition, reason: "PROTOCOL_VERSION", delivery: answered, origin: byServer},
	{name: "-32700", err: rpcError(-32700), code: connect.CodeInternal, reason: "SERVER_ERROR", delivery: answered, origin: byServer},
	{name: "-32600", err: rpcError(-32600), code: connect.CodeInternal, reason: "SERVER_ERROR", delivery: answered, origin: byServer},
	{name: "-32603", err: rpcError(-32603), code: connect.CodeInternal, reason: "SERVER_ERROR", delivery: answered, origin: byServer},
	{name: "-32020", err: rpcError(-32020), code: connect.CodeInternal, reason: "SERVER_ERROR", delivery: answered, origin: byServer},
	{name: "-1", err: rpcError(-1), code: connect.CodeUnknown, reason: "SERVER_ERROR", delivery: answered, origin: byServer, message: "MCP error -1: no"},
	{name: "an error with a status", err: &mcp.ServerError{RPC: &jsonrpc.Error{Code: -32602, Message: "no"}, Status: 400},
		code: connect.CodeInvalidArgument, reason: "INVALID_PARAMS", delivery: answered, origin: byServer, status: 400},

	{name: "401", err: status(transport.RefusedError{Status: 401, Text: "Unauthorized", WWWAuthenticate: "Bearer realm=x", MCPAuthServer: "https://a.example"}),
		code: connect.CodeFailedPrecondition, reason: "UPSTREAM_UNAUTHENTICATED", delivery: answered, origin: byTransport, status: 401,
		metadata: map[string]string{"www_authenticate": "Bearer realm=x", "mcp_auth_server": "https://a.example"}},
	{name: "403", err: status(transport.RefusedError{Status: 403, Text: "Forbidden: not you", Type: "text/plain", Body: []byte("not you")}),
		code: connect.CodeFailedPrecondition, reason: "UPSTREAM_FORBIDDEN", delivery: answered, origin: byTransport, status: 403, message: "HTTP 403: Forbidden: not you"},
	{name: "429", err: status(transport.RefusedError{Status: 429, RetryAfter: 7 * time.Second}),
		code: connect.CodeResourceExhausted, reason: "RATE_LIMITED", delivery: answered, origin: byTransport, status: 429, retry: 7 * time.Second},
	{name: "503", err: status(transport.RefusedError{Status: 503}),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: answered, origin: byTransport, status: 503, retry: -1},
	{name: "502", err: status(transport.RefusedError{Status: 502}),
		code: connect.CodeAborted, reason: "REQUEST_LOST", delivery: sent, origin: byTransport, status: 502},
	{name: "504 to a read", err: status(transport.RefusedError{Status: 504}), about: read,
		code: connect.CodeUnavailable, reason: "REQUEST_LOST", delivery: sent, origin: byTransport, status: 504},
	{name: "a redirect elsewhere", err: status(transport.RefusedError{Status: 307, Location: "https://evil.example/mcp"}),
		code: connect.CodeFailedPrecondition, reason: "REDIRECT_REFUSED", delivery: answered, origin: byTransport, status: 307,
		message: "HTTP 307: redirect to another origin refused: https://evil.example/mcp", metadata: map[string]string{"location": "https://evil.example/mcp"}},
	{name: "another status", err: status(transport.RefusedError{Status: 418, Text: "I'm a teapot", Type: "text/html", Body: []byte("<p>short\nand stout")}),
		code: connect.CodeUnknown, reason: "HTTP_ERROR", delivery: answered, origin: byTransport, status: 418, message: "HTTP 418: I'm a teapot: <p>short and stout"},
	{name: "a bare status", err: &transport.RefusedError{Status: 500, Text: "Internal Server Error"},
		code: connect.CodeUnknown, reason: "HTTP_ERROR", delivery: answered, origin: byTransport, status: 500, message: "HTTP 500: Internal Server Error"},
	{name: "a status with an error of another request", err: &mcp.StatusError{RefusedError: &transport.RefusedError{Status: 400, Text: "Bad Request"}, RPC: &jsonrpc.Error{Code: -32600, Message: "x"}},
		code: connect.CodeUnknown, reason: "HTTP_ERROR", delivery: answered, origin: byTransport, status: 400, message: "HTTP 400: Bad Request: MCP error -32600: x"},
	{name: "a session forgotten twice", err: errors.Join(mcp.ErrGone, status(transport.RefusedError{Status: 404, Text: "Not Found"})),
		code: connect.CodeUnknown, reason: "HTTP_ERROR", delivery: answered, origin: byTransport, status: 404},
	{name: "a session forgotten before it was sent", err: transport.NotSent(errors.Join(mcp.ErrGone, status(transport.RefusedError{Status: 404, Text: "Not Found"}))),
		code: connect.CodeUnavailable, reason: "SERVER_UNAVAILABLE", delivery: notSent, origin: byTransport, status: 404},

	{name: "what has no row", err: errors.New("secret of the bridge"),
		code: connect.CodeInternal, reason: "INTERNAL", delivery: sent, origin: byBridge, message: "internal error of the bridge"},
}

func TestTable(t *testing.T) {
	t.Parallel()
	s := rpc.New(rpc.Options{Servers: upstream.NewSet(nil)})
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			c := filled(r.about)
			// What wraps an error changes nothing.
			for _, err := range []error{r.err, fmt.Errorf("while calling: %w", r.err)} {
				v := judge(t, s.Fail(err, c))
				if v.Code != r.code || v.Reason != r.reason {
					t.Errorf("%v %s, want %v %s (%s)", v.Code, v.Reason, r.code, r.reason, v.Message)
				}
				u := v.Upstream
				if u == nil {
					t.Fatal("no UpstreamError")
				}
				if u.Delivery != r.delivery || u.Origin != r.origin || u.HttpStatus != r.status {
					t.Errorf("%v, %v, HTTP %d; want %v, %v, HTTP %d", u.Delivery, u.Origin, u.HttpStatus, r.delivery, r.origin, r.status)
				}
				if u.Server != "s" || u.Method != c.Method || v.Metadata["server"] != "s" {
					t.Errorf("server %q, method %q, metadata %v", u.Server, u.Method, v.Metadata)
				}
				if r.message != "" && err == r.err && v.Message != r.message {
					t.Errorf("message %q, want %q", v.Message, r.message)
				}
				for k, want := range r.metadata {
					if v.Metadata[k] != want {
						t.Errorf("metadata %q: %q, want %q", k, v.Metadata[k], want)
					}
				}
				if _, phase := v.Metadata["phase"]; phase != (r.reason == "TIMEOUT" || r.reason == "CANCELLED") {
					t.Errorf("metadata %v", v.Metadata)
				}
				if _, is := err.(*mcp.ServerError); is != (u.JsonrpcError != nil) && is {
					t.Error("the server's error is not shown")
				}
				switch d := v.Retry.GetRetryDelay().AsDuration(); {
				case r.retry > 0 && d != r.retry, r.retry < 0 && d <= 0:
					t.Errorf("retry after %v, want %v", d, r.retry)
				case d > 0 && r.code != connect.CodeUnavailable && r.code != connect.CodeResourceExhausted:
					t.Errorf("advice to retry %v", r.code)
				}
			}
		})
	}
}

func TestNoServerNoUpstreamError(t *testing.T) {
	t.Parallel()
	s := rpc.New(rpc.Options{Servers: upstream.NewSet(nil)})
	v := judge(t, s.Fail(rpc.Invalid("bad"), rpc.Context{Method: "tools/call"}))
	if v.Upstream != nil || v.Reason != "INVALID_REQUEST" {
		t.Errorf("%+v", v)
	}
}

func TestStderrIsShownOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	s := rpc.New(rpc.Options{Servers: upstream.NewSet(nil), Redact: strings.NewReplacer("hunter2", "[redacted]").Replace})
	long := strings.Repeat("é", 200)
	err := &transport.LostError{Exit: "signal: killed", Stderr: []string{"first", "password hunter2", "bad\xff", long}}
	v := judge(t, s.Fail(err, filled(rpc.Context{Stderr: true})))
	tail := v.Upstream.StderrTail
	if len(tail) != 3 || tail[0] != "password [redacted]" || tail[1] != "bad\uFFFD" || len(tail[2]) > 200 || !utf8.ValidString(tail[2]) {
		t.Errorf("%q", tail)
	}
	if v.Upstream.ProcessExit != "signal: killed" || !strings.Contains(v.Message, "password [redacted]") {
		t.Errorf("%q %q", v.Upstream.ProcessExit, v.Message)
	}
	v = judge(t, s.Fail(err, filled(rpc.Context{})))
	if len(v.Upstream.StderrTail) != 0 || strings.Contains(v.Message, "stderr") {
		t.Errorf("%+v", v)
	}
}

func TestSecretsAreRemovedEverywhere(t *testing.T) {
	t.Parallel()
	s := rpc.New(rpc.Options{Servers: upstream.NewSet(nil), Redact: strings.NewReplacer("hunter2", "[redacted]").Replace})
	for _, err := range []error{
		&mcp.ServerError{RPC: &jsonrpc.Error{Code: -1, Message: "hunter2", Data: []byte(`{"key":"hunter2"}`)}},
		status(transport.RefusedError{Status: 401, Text: "hunter2", WWWAuthenticate: "hunter2", MCPAuthServer: "hunter2"}),
		status(transport.RefusedError{Status: 307, Location: "https://hunter2@x"}),
		notReady(errors.New("hunter2")),
	} {
		e := s.Fail(err, filled(rpc.Context{Stderr: true}))
		b, merr := proto.Marshal(wire(t, e))
		if merr != nil {
			t.Fatal(merr)
		}
		if strings.Contains(string(b), "hunter2") || !strings.Contains(string(b), "[redacted]") {
			t.Errorf("%v shows %q", err, b)
		}
	}
}

// wire is an error as google.rpc.Status, which is what goes into trailers.
func wire(t testing.TB, e *connect.Error) *spb.Status {
	t.Helper()
	st := &spb.Status{Code: int32(e.Code()), Message: e.Message()}
	for _, d := range e.Details() {
		st.Details = append(st.Details, connectproto.ErrorDetailToAny(d))
	}
	return st
}

func TestAStatusStaysSmall(t *testing.T) {
	t.Parallel()
	s := rpc.New(rpc.Options{Servers: upstream.NewSet(nil)})
	for _, unit := range []string{"x", "é", "\xff", "\x01", "%"} {
		big := strings.Repeat(unit, 20_000)
		tail := []string{big, big, big, big}
		for name, err := range map[string]error{
			"rpc":      &mcp.ServerError{RPC: &jsonrpc.Error{Code: -1, Message: big, Data: []byte(`"` + strings.Repeat("d", 5000) + `"`)}},
			"status":   status(transport.RefusedError{Status: 401, Text: big, Body: []byte(big), WWWAuthenticate: big, MCPAuthServer: big}),
			"location": status(transport.RefusedError{Status: 307, Location: big}),
			"lost":     &transport.LostError{Err: errors.New(big), Exit: big, Stderr: tail},
			"both":     notReady(errors.Join(&transport.LostError{Exit: big, Stderr: tail}, status(transport.RefusedError{Status: 401, Text: big, Body: []byte(big), WWWAuthenticate: big, MCPAuthServer: big}))),
			"request":  rpc.Invalid(big),
		} {
			e := s.Fail(err, rpc.Context{Server: big, Method: big, Stderr: true})
			if n := len(e.Message()); n >= 1<<10 {
				t.Errorf("%s of %q: a message of %d bytes", name, unit, n)
			}
			if !utf8.ValidString(e.Message()) {
				t.Errorf("%s of %q: %q", name, unit, e.Message())
			}
			if n := proto.Size(wire(t, e)); n >= 4<<10 {
				t.Errorf("%s of %q: a status of %d bytes", name, unit, n)
			}
		}
	}
}

func TestDataIsLeftOutOnlyWhereItDoesNotFit(t *testing.T) {
	t.Parallel()
	s := rpc.New(rpc.Options{Servers: upstream.NewSet(nil)})
	for size, omitted := range map[int]bool{100: false, 2000: false, 5000: true} {
		data := `"` + strings.Repeat("d", size) + `"`
		e := judge(t, s.Fail(&mcp.ServerError{RPC: &jsonrpc.Error{Code: -1, Message: "m", Data: []byte(data)}}, filled(rpc.Context{}))).Upstream.JsonrpcError
		if e.DataOmitted != omitted || (e.DataJson == data) == omitted {
			t.Errorf("%d bytes: omitted %v", size, e.DataOmitted)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"": "", "abc": "abc", "abcdefgh": "ab…", "ééé": "é…", "a\xffb": "a\uFFFDb"} {
		if got := rpc.Cut(s, 5); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// covered are the errors that rows are made of, by type or name.
func covered() map[string]bool {
	seen := map[string]bool{}
	var note func(err error)
	note = func(err error) {
		if err == nil {
			return
		}
		seen[fmt.Sprintf("%T", err)] = true
		for name, v := range sentinels {
			if err == v {
				seen[name] = true
			}
		}
		if errors.Is(err, transport.ErrNotSent) {
			seen["transport.ErrNotSent"] = true
		}
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			note(u.Unwrap())
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				note(e)
			}
		}
	}
	for _, r := range rows {
		note(r.err)
	}
	return seen
}

var sentinels = map[string]error{
	"transport.ErrClosed": transport.ErrClosed, "transport.ErrQueueFull": transport.ErrQueueFull,
	"mcp.ErrGone": mcp.ErrGone, "upstream.ErrUnknownSession": upstream.ErrUnknownSession,
	"upstream.ErrElsewhere": upstream.ErrElsewhere, "upstream.ErrClosing": upstream.ErrClosing,
}

// inner are exported errors that never come out of a room as they are.
var inner = map[string]string{
	"transport.ErrEnough":      "a sink's word to its binding",
	"transport.ErrUnsupported": "a binding's word to the protocol",
}

func TestEveryErrorHasARow(t *testing.T) {
	t.Parallel()
	have := covered()
	found := 0
	for dir, pkg := range map[string]string{"../transport": "transport", "../mcp": "mcp", "../upstream": "upstream"} {
		for _, name := range exportedErrors(t, dir, pkg) {
			found++
			if !have[name] && inner[strings.TrimPrefix(name, "*")] == "" {
				t.Errorf("%s has no row", name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d errors found: %v", found, maps.Keys(have))
	}
}
