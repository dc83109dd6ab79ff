package transport

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotSent is wrapped by every error after which the server certainly has
	// not seen the frame, not even in part: repeating it is safe.
	ErrNotSent = errors.New("not sent")
	// ErrEnough is what a sink returns when its exchange is complete.
	ErrEnough = errors.New("enough")
	// ErrUnsupported means that the binding has no channel of that kind.
	ErrUnsupported = errors.New("not supported by this transport")
	// ErrClosed means that our side closed the link.
	ErrClosed = errors.New("transport closed")
	// ErrQueueFull means that more bytes wait for the pipe than are allowed. It
	// comes wrapped with ErrNotSent.
	ErrQueueFull = errors.New("write queue is full")
)

// NotSent marks err with the promise of ErrNotSent. It keeps err's text.
func NotSent(err error) error {
	if err == nil || errors.Is(err, ErrNotSent) {
		return err
	}
	return &notSentError{err}
}

type notSentError struct{ error }

func (e *notSentError) Unwrap() error        { return e.error }
func (e *notSentError) Is(target error) bool { return target == ErrNotSent }

// A LostError means that the connection is gone: the process ended, the socket
// broke. On a private binding only the exchange is lost, on a shared one all of
// the link.
type LostError struct {
	Err    error    // what was noticed
	Exit   string   // how the process ended, such as "exit status 3"; empty: none, or not known
	Stderr []string // the last lines it wrote to standard error; for logs and the operator's callers
}

func (e *LostError) Error() string {
	s := "connection lost"
	if e.Exit != "" {
		s = "process ended: " + e.Exit
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *LostError) Unwrap() error { return e.Err }

// A NoReplyError means that the server ended an exchange without an answer: the
// stream ended, or the status was 2xx without a body.
type NoReplyError struct {
	Status int   // HTTP status
	Err    error // why the stream could not be resumed, if that was tried
}

func (e *NoReplyError) Error() string {
	s := "no response received"
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *NoReplyError) Unwrap() error { return e.Err }

// A TooLargeError means that a frame is over the limit. Outbound ones come
// wrapped with ErrNotSent.
type TooLargeError struct {
	Limit   int64 // 0: not known
	Size    int64 // 0: not known, but over the limit
	Inbound bool
}

func (e *TooLargeError) Error() string {
	what := "request"
	if e.Inbound {
		what = "response"
	}
	if e.Size > 0 {
		what = fmt.Sprintf("%s of %d bytes", what, e.Size)
	}
	if e.Limit > 0 {
		return fmt.Sprintf("%s is over max_message_bytes (%d)", what, e.Limit)
	}
	return what + " is over max_message_bytes"
}

// A RefusedError means that the server answered a frame with a status that is no
// success. Only this frame is concerned, the link is well. What the status
// means for the protocol is the protocol's to say; Body is handed up unread.
type RefusedError struct {
	Status     int    // HTTP status
	Text       string // its reason phrase
	Type       string // content type of the body, without parameters
	Body       []byte // bounded
	Session    bool   // the frame named a session
	RetryAfter time.Duration
	// WWWAuthenticate and MCPAuthServer are the headers of those names.
	WWWAuthenticate string
	MCPAuthServer   string
	// Location is set where the server pointed to another origin: nothing was
	// sent there.
	Location string
}

func (e *RefusedError) Error() string {
	if e.Location != "" {
		return fmt.Sprintf("HTTP %d: redirect to another origin refused: %s", e.Status, e.Location)
	}
	return fmt.Sprintf("HTTP %d: %s", e.Status, e.Text)
}

// An UnreadableError means that the server sent something in place of a frame
// that can't be one, such as an event whose data is no JSON.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "unreadable message: " + e.Err.Error() }
func (e *UnreadableError) Unwrap() error { return e.Err }

// A TimeoutError is the cause of a context that a Clock ended.
type TimeoutError struct {
	Limit time.Duration // the clock's own limit
	Total bool          // the total limit, not the idle one
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("request timeout after %dms", e.Limit.Milliseconds())
}

// Timeout makes it a timeout for package net's conventions.
func (e *TimeoutError) Timeout() bool { return true }
