package mcp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A ServerError means that the server answered with a JSON-RPC error.
type ServerError struct {
	RPC    *jsonrpc.Error
	Status int    // the HTTP status that it came with, where that was no 2xx; else 0
	body   []byte // the response, where it came with such a status
}

func (e *ServerError) Error() string { return e.RPC.Error() }

// A StatusError means that the server's HTTP end refused the request, and that
// the status counts, not a JSON-RPC error in the body.
type StatusError struct {
	*transport.RefusedError
	RPC *jsonrpc.Error // what the body says all the same; nil: nothing readable
}

// Error is the status, with the beginning of a text in the body, and the error
// that a readable body holds.
func (e *StatusError) Error() string {
	s := e.RefusedError.Error()
	if e.RPC != nil {
		return s + ": " + clip(e.RPC.Error())
	}
	return s
}

func (e *StatusError) Unwrap() error { return e.RefusedError }

// clip keeps a text from outside under the length that messages may have.
func clip(s string) string {
	const most = 512
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// ErrGone means that the server has forgotten the session: the request was
// refused, not carried out, and a new session must be opened (2025-11-25
// §transports, Session Management). It is wrapped by a *StatusError's chain.
var ErrGone = errors.New("the server has ended the session")

// A goneError is a StatusError of a session that is gone.
type goneError struct{ *StatusError }

func (e *goneError) Unwrap() []error { return []error{ErrGone, e.StatusError} }

// A NoReplyError means that the server ended the exchange of a request without
// answering it.
type NoReplyError struct {
	ID int64 // of the request
	*transport.NoReplyError
}

func (e *NoReplyError) Error() string {
	s := fmt.Sprintf("no response received for request %d", e.ID)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *NoReplyError) Unwrap() error { return e.NoReplyError }

// A ProtocolError means that what the server answered is no valid answer.
type ProtocolError struct{ Reason string }

func (e *ProtocolError) Error() string { return "invalid response: " + e.Reason }

func protocolErrorf(format string, args ...any) error {
	return &ProtocolError{fmt.Sprintf(format, args...)}
}

// A VersionError means that we and the server share no protocol revision.
type VersionError struct {
	Server []string // what the server speaks, or answered; empty: it did not say
	Limit  string   // the newest revision that was wanted; empty: any
	Only   string   // the one revision that was wanted; empty: any up to Limit
}

func (e *VersionError) Error() string {
	s := "no common protocol revision"
	if len(e.Server) > 0 {
		s += ": the server speaks " + clip(strings.Join(e.Server, ", "))
	}
	switch {
	case e.Only != "":
		return s + "; wanted " + e.Only
	case e.Limit != "":
		return s + "; wanted at most " + e.Limit
	}
	return s
}

// A NotOfferedError means that the server did not announce what a method needs,
// so it was not asked.
type NotOfferedError struct{ Method, Capability string }

func (e *NotOfferedError) Error() string {
	return fmt.Sprintf("the server does not offer %s, which %s needs", e.Capability, e.Method)
}

// A ProbeCrashError means that the process died of the probe for the era: start
// it again and open with Hint{Era: EraLegacy}.
type ProbeCrashError struct{ Err error }

func (e *ProbeCrashError) Error() string { return "ended by server/discover: " + e.Err.Error() }
func (e *ProbeCrashError) Unwrap() error { return e.Err }

// A WrongBindingError means that the server refused both eras' first requests in
// a way that says: not on this transport.
type WrongBindingError struct{ Err error }

func (e *WrongBindingError) Error() string { return e.Err.Error() }
func (e *WrongBindingError) Unwrap() error { return e.Err }

// Phases of a request in which its context may end.
const (
	PhaseQueue = "queue" // for a free slot
	PhaseStart = "start" // for the server to be ready
	PhaseSend  = "send"  // for the pipe or the connection to take it
	PhaseWait  = "wait"  // for the answer
)

// An InterruptedError means that the context of a request ended first; Err is
// its cause. It wraps transport.ErrNotSent where the request had not left.
type InterruptedError struct {
	Phase string
	Err   error
}

func (e *InterruptedError) Error() string { return e.Err.Error() }
func (e *InterruptedError) Unwrap() error { return e.Err }

// Interrupted makes the error for a request whose context ended before it was
// sent.
func Interrupted(phase string, cause error) error {
	return transport.NotSent(&InterruptedError{Phase: phase, Err: cause})
}
