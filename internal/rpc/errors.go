package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// The reasons of errors, as they stand in ErrorInfo and UpstreamError.
const (
	reasonServerNotFound     = "SERVER_NOT_FOUND"
	reasonSessionNotFound    = "SESSION_NOT_FOUND"
	reasonSessionElsewhere   = "SESSION_ELSEWHERE"
	reasonSessionLost        = "SESSION_LOST"
	reasonInvalidRequest     = "INVALID_REQUEST"
	reasonTimeout            = "TIMEOUT"
	reasonCancelled          = "CANCELLED"
	reasonServerUnavailable  = "SERVER_UNAVAILABLE"
	reasonNotStarted         = "NOT_STARTED"
	reasonOverloaded         = "OVERLOADED"
	reasonDraining           = "DRAINING"
	reasonRequestLost        = "REQUEST_LOST"
	reasonNoResponse         = "NO_RESPONSE"
	reasonInvalidResponse    = "INVALID_RESPONSE"
	reasonMessageTooLarge    = "MESSAGE_TOO_LARGE"
	reasonListTooLong        = "LIST_TOO_LONG"
	reasonMethodNotFound     = "METHOD_NOT_FOUND"
	reasonNotOffered         = "NOT_OFFERED"
	reasonInvalidParams      = "INVALID_PARAMS"
	reasonResourceNotFound   = "RESOURCE_NOT_FOUND"
	reasonURLElicitation     = "URL_ELICITATION_REQUIRED"
	reasonCapabilityRequired = "CAPABILITY_REQUIRED"
	reasonProtocolVersion    = "PROTOCOL_VERSION"
	reasonServerError        = "SERVER_ERROR"
	reasonUnauthenticated    = "UPSTREAM_UNAUTHENTICATED"
	reasonForbidden          = "UPSTREAM_FORBIDDEN"
	reasonRateLimited        = "RATE_LIMITED"
	reasonRedirectRefused    = "REDIRECT_REFUSED"
	reasonHTTPError          = "HTTP_ERROR"
	reasonUnimplemented      = "UNIMPLEMENTED"
	reasonInternal           = "INTERNAL"
)

const (
	notSent  = mcpbridgev1.Delivery_DELIVERY_NOT_SENT
	sent     = mcpbridgev1.Delivery_DELIVERY_SENT
	wasReply = mcpbridgev1.Delivery_DELIVERY_ANSWERED

	byServer    = mcpbridgev1.ErrorOrigin_ERROR_ORIGIN_SERVER
	byTransport = mcpbridgev1.ErrorOrigin_ERROR_ORIGIN_TRANSPORT
	byBridge    = mcpbridgev1.ErrorOrigin_ERROR_ORIGIN_BRIDGE
)

// A requestError is a fault of the request itself: nothing was sent.
type requestError struct{ text string }

func (e *requestError) Error() string { return e.text }

func invalid(format string, args ...any) error {
	return &requestError{fmt.Sprintf(format, args...)}
}

// A limitError means that a list is longer than the bridge follows.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// A capabilityError means that a request wants to declare more than its session
// did, which a server of an older revision can't be told any more.
type capabilityError struct{ server string }

func (e *capabilityError) Error() string {
	return fmt.Sprintf("options.capabilities: server %q was told less of its client when the session began", e.server)
}

// An unimplementedError means that the bridge can't do what was asked. answered:
// it was the server's answer that asked for it.
type unimplementedError struct {
	text     string
	answered bool
}

func (e *unimplementedError) Error() string { return e.text }

// errDraining ends streams and refuses calls while the bridge is ending.
var errDraining = errors.New("the bridge is shutting down: connect again")

// about is what a request was about, as far as its errors depend on it.
type about struct {
	server  string // empty: none was involved
	private bool   // a session of its caller alone
	method  string // the MCP method
	// repeatable: carrying it out twice does no harm.
	repeatable   bool
	exposeStderr bool
	notify       bool          // no answer was expected
	given        time.Duration // the caller's own timeout; 0: not known
}

// about collects it for a request on x, which may be nil. tool is the tool that
// was called, if one was. Only errors need it, so nothing is kept ready.
func (s *Service) about(ctx context.Context, x *upstream.Session, method, tool string) about {
	a := about{method: method, given: given(ctx)}
	if x == nil {
		return a
	}
	u := x.Upstream()
	a.server, a.private, a.exposeStderr = u.Name(), x.ID() != "", u.Options().ExposeStderr
	switch method {
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list",
		"resources/read", "prompts/get", "completion/complete", "ping":
		a.repeatable = true
	case methodCallTool:
		a.repeatable = u.Options().TrustAnnotations && s.hints.repeatable(u, tool)
	}
	return a
}

// fail makes the error that a caller gets.
func (s *Service) fail(err error, a about) error {
	if err == nil {
		return nil
	}
	var done *connect.Error
	if errors.As(err, &done) {
		return done // of the stream to the caller, who is gone
	}
	return s.classify(err, a).build(a, s.o.Redact)
}

// classify is the table of errors, and hides what is not in it.
func (s *Service) classify(err error, a about) *failure {
	f := classify(err, a)
	if f.reason == reasonInternal {
		s.o.Log.Error("unexpected error", "server", a.server, "method", a.method, "err", err)
		f.message = "internal error of the bridge"
	}
	return f
}
