// Package eventstream reads and writes the event streams of the HTML standard
// (§9.2 Server-sent events): it turns bytes into events and back.
//
// It is pure: an io.Reader goes in, an io.Writer goes out. It does not know
// HTTP, MCP, JSON, and who connects or connects again.
package eventstream

import (
	"fmt"
	"time"
)

// An Event is one block of a stream.
type Event struct {
	// Type is the event's name; "message" where the stream gave none.
	Type string
	// ID is the last event id that the stream has named so far, in this event or
	// in one before.
	ID    string
	HasID bool // this event named it
	// Data is what the data lines hold, joined by line feeds; nil if the block has
	// no data line. Such a block is no event to the standard, but its id and its
	// retry count. The caller owns the bytes.
	Data     []byte
	Retry    time.Duration
	HasRetry bool
}

// A TooLargeError means that the data of an event is over the reader's limit.
type TooLargeError struct {
	Limit int
	// Head is the beginning of the data, a few KiB.
	Head []byte
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("event is over the limit of %d bytes", e.Limit)
}

const (
	// headSize and tailSize are how much is kept of an event over the limit.
	headSize = 4 << 10
	tailSize = 4 << 10
	// maxField bounds the lines that are not data. A longer id is ignored; a
	// longer type is cut, which makes it a type that nobody knows.
	maxField = 4 << 10
	// maxRetry is what a retry counts as if it says more.
	maxRetry = 24 * time.Hour
)
