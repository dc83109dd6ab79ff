package upstream

import (
	"errors"
	"fmt"
	"time"
)

// A NotReadyError means that the server could not be started or reached, so the
// request was not sent.
type NotReadyError struct {
	Server     string
	State      State
	Err        error         // why
	RetryAfter time.Duration // when it may be better; 0: not known
}

func (e *NotReadyError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("server %q is %s", e.Server, e.State)
	}
	return fmt.Sprintf("server %q is %s: %v", e.Server, e.State, e.Err)
}

func (e *NotReadyError) Unwrap() error { return e.Err }

// An UnknownServerError means that no server of that name is configured.
type UnknownServerError struct {
	Name  string
	Known []string
}

func (e *UnknownServerError) Error() string { return fmt.Sprintf("no server %q", e.Name) }

// ErrUnknownSession means that there is no such session, or that it is another
// caller's.
var ErrUnknownSession = errors.New("no such session")

// ErrElsewhere means that the session belongs to another instance of the bridge.
var ErrElsewhere = errors.New("the session belongs to another instance of the bridge")

// A SessionLostError means that the server's end of a session is lost, and that
// its caller did not want it renewed.
type SessionLostError struct{ Err error }

func (e *SessionLostError) Error() string { return "the session is lost: " + e.Err.Error() }
func (e *SessionLostError) Unwrap() error { return e.Err }

// An OverloadedError means that a limit is reached; the request was not sent.
type OverloadedError struct {
	What  string // the limit, by its name in the configuration
	Limit int
}

func (e *OverloadedError) Error() string {
	return fmt.Sprintf("too much at once: %s (%d) is reached", e.What, e.Limit)
}

// ErrClosing means that the server was removed, or that the bridge is ending.
var ErrClosing = errors.New("transport closed")
