package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// retrySoon is the advice where nothing better is known.
const retrySoon = time.Second

// A failure is what becomes of an error: everything that its caller is told.
type failure struct {
	about    about
	code     connect.Code
	reason   string
	delivery mcpbridgev1.Delivery
	origin   mcpbridgev1.ErrorOrigin
	message  string
	retry    time.Duration // 0: no advice
	status   int           // HTTP
	rpc      *jsonrpc.Error
	lost     *transport.LostError
	metadata map[string]string

	gone bool // on the way: the server had forgotten the session
}

// classify is the table of errors: what happened → code, reason, delivery. What
// counts is the outermost error that has a row: one that was given as the reason
// of another says nothing by itself.
func classify(err error, a about) *failure {
	f := &failure{about: a, delivery: sent, origin: byBridge, message: err.Error()}
	if errors.Is(err, transport.ErrNotSent) {
		f.delivery = notSent
	}
	errors.As(err, &f.lost)
	switch {
	case outermost(err, f.row):
	case f.delivery == notSent: // could not be dialled or started
		f.unavailable()
	default:
		f.is(connect.CodeInternal, reasonInternal, f.delivery)
	}
	return f
}

// outermost shows err and what it wraps to visit, the outer before the inner,
// until visit is true.
func outermost(err error, visit func(error) bool) bool {
	for err != nil {
		if visit(err) {
			return true
		}
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				if outermost(e, visit) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

// row fills in the row of an error, if it has one.
func (f *failure) row(err error) bool {
	switch e := err.(type) {
	case *requestError:
		f.is(connect.CodeInvalidArgument, reasonInvalidRequest, notSent)
	case *capabilityError:
		f.is(connect.CodeFailedPrecondition, reasonCapabilityRequired, notSent)
	case *unimplementedError:
		f.is(connect.CodeUnimplemented, reasonUnimplemented, notSent)
		if e.answered {
			f.delivery = wasReply
		}
	case *upstream.UnknownServerError:
		f.is(connect.CodeNotFound, reasonServerNotFound, notSent)
	case *upstream.SessionLostError:
		f.is(connect.CodeAborted, reasonSessionLost, notSent)
	case *upstream.OverloadedError:
		f.overloaded()
	case *upstream.NotReadyError:
		f.notReady(e)
	case *mcp.InterruptedError:
		f.interrupted(e.Phase, e.Err)
	case *transport.TimeoutError:
		f.interrupted(mcp.PhaseWait, e)
	case *mcp.VersionError:
		f.origin = byServer
		f.is(connect.CodeFailedPrecondition, reasonProtocolVersion, wasReply)
	case *limitError:
		f.is(connect.CodeResourceExhausted, reasonListTooLong, wasReply)
	case *mcp.NotOfferedError:
		f.is(connect.CodeUnimplemented, reasonNotOffered, notSent)
	case *mcp.StatusError:
		f.refused(e.RefusedError, e.RPC)
	case *transport.RefusedError:
		f.refused(e, nil)
	case *mcp.ServerError:
		f.origin, f.status = byServer, e.Status
		f.answered(e.RPC)
	case *mcp.ProtocolError:
		f.is(connect.CodeInternal, reasonInvalidResponse, wasReply)
	case *transport.UnreadableError:
		f.is(connect.CodeInternal, reasonInvalidResponse, wasReply)
	case *transport.TooLargeError:
		f.is(connect.CodeResourceExhausted, reasonMessageTooLarge, notSent)
		if e.Inbound {
			f.delivery = wasReply
		}
	case *mcp.NoReplyError:
		f.message = e.Error()
		return f.row(e.NoReplyError)
	case *transport.NoReplyError:
		f.origin, f.status = byTransport, e.Status
		f.isLost(reasonNoResponse)
	case *transport.LostError:
		f.origin = byTransport
		if f.delivery == notSent {
			f.retry = retrySoon
			f.unavailable()
		} else {
			f.isLost(reasonRequestLost)
		}
	default:
		return f.sentinel(err)
	}
	return true
}

// sentinel is row for errors that are values.
func (f *failure) sentinel(err error) bool {
	switch err {
	case upstream.ErrUnknownSession:
		f.is(connect.CodeNotFound, reasonSessionNotFound, notSent)
	case upstream.ErrElsewhere:
		f.is(connect.CodeFailedPrecondition, reasonSessionElsewhere, notSent)
	case errDraining:
		f.draining()
	case errNotStarted:
		f.is(connect.CodeUnavailable, reasonNotStarted, notSent)
	case transport.ErrQueueFull:
		f.overloaded()
	case context.Canceled, context.DeadlineExceeded:
		f.interrupted(mcp.PhaseWait, err)
	case mcp.ErrGone:
		f.gone = true // the row is that of the status that comes with it
		return false
	case transport.ErrClosed, upstream.ErrClosing:
		f.closed()
	default:
		return false
	}
	return true
}

func (f *failure) is(code connect.Code, reason string, d mcpbridgev1.Delivery) {
	f.code, f.reason, f.delivery = code, reason, d
}

func (f *failure) unavailable() {
	f.origin = byTransport
	f.is(connect.CodeUnavailable, reasonServerUnavailable, notSent)
}

func (f *failure) overloaded() {
	f.retry = retrySoon
	f.is(connect.CodeResourceExhausted, reasonOverloaded, notSent)
}

func (f *failure) draining() {
	f.retry = retrySoon
	f.is(connect.CodeUnavailable, reasonDraining, notSent)
}

// closed: our side ended the link: the session was closed, or the server removed,
// or the bridge is ending.
func (f *failure) closed() {
	f.message = transport.ErrClosed.Error()
	switch {
	case f.delivery != notSent:
		f.isLost(reasonRequestLost)
	case f.about.private:
		f.message = upstream.ErrUnknownSession.Error()
		f.is(connect.CodeNotFound, reasonSessionNotFound, notSent)
	default:
		f.message = errDraining.Error()
		f.draining()
	}
}

// isLost is a request that left and was not answered: ABORTED, which nobody
// repeats by himself, unless repeating is safe.
func (f *failure) isLost(reason string) {
	code := connect.CodeAborted
	if f.about.repeatable {
		code = connect.CodeUnavailable
	}
	f.is(code, reason, sent)
}

// interrupted: the context of the request ended in a phase of it.
func (f *failure) interrupted(phase string, cause error) {
	var te *transport.TimeoutError
	switch {
	case errors.As(cause, &te):
		f.timeout(phase, te.Limit)
	case errors.Is(cause, context.DeadlineExceeded):
		f.timeout(phase, f.about.given)
	case errors.Is(cause, errDraining):
		f.message = errDraining.Error()
		f.draining()
	default:
		f.metadata = map[string]string{"phase": phase}
		f.message = "cancelled by the caller"
		f.is(connect.CodeCanceled, reasonCancelled, f.delivery)
	}
}

func (f *failure) timeout(phase string, limit time.Duration) {
	what := "request"
	if f.about.notify {
		what = "notify"
	}
	f.metadata = map[string]string{"phase": phase}
	f.message = fmt.Sprintf("%s timeout after %dms", what, limit.Milliseconds())
	f.is(connect.CodeDeadlineExceeded, reasonTimeout, f.delivery)
}

// notReady: the server could not be started or reached. Some of the reasons have
// rows of their own.
func (f *failure) notReady(e *upstream.NotReadyError) {
	f.unavailable()
	f.retry = max(e.RetryAfter, 0)
	outermost(e.Err, func(err error) bool {
		switch e := err.(type) {
		case *mcp.StatusError:
			f.notStarted(e.RefusedError, e.RPC)
		case *transport.RefusedError:
			f.notStarted(e, nil)
		case *mcp.VersionError:
			f.retry = 0
			f.row(e)
		case *mcp.ServerError:
			f.origin, f.rpc, f.status = byServer, e.RPC, e.Status
		case *transport.NoReplyError:
			f.status = e.Status
		default:
			return false
		}
		return true
	})
}

// answered maps a JSON-RPC error.
func (f *failure) answered(e *jsonrpc.Error) {
	f.rpc, f.message = e, e.Error()
	code, reason := connect.CodeUnknown, reasonServerError
	switch e.Code {
	case jsonrpc.MethodNotFound:
		code, reason = connect.CodeUnimplemented, reasonMethodNotFound
	case jsonrpc.ResourceNotFound:
		code, reason = connect.CodeNotFound, reasonResourceNotFound
	case jsonrpc.InvalidParams:
		code, reason = connect.CodeInvalidArgument, reasonInvalidParams
		if f.about.method == "resources/read" {
			code, reason = connect.CodeNotFound, reasonResourceNotFound
		}
	case jsonrpc.URLElicitationRequired:
		code, reason = connect.CodeFailedPrecondition, reasonURLElicitation
	case jsonrpc.MissingCapability:
		code, reason = connect.CodeFailedPrecondition, reasonCapabilityRequired
	case jsonrpc.UnsupportedProtocolVersion:
		code, reason = connect.CodeFailedPrecondition, reasonProtocolVersion
	case jsonrpc.ParseError, jsonrpc.InvalidRequest, jsonrpc.InternalError, jsonrpc.HeaderMismatch:
		code = connect.CodeInternal
	}
	f.is(code, reason, wasReply)
}
