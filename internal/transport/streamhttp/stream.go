package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

const (
	defaultRetry = time.Second
	minRetry     = 100 * time.Millisecond
	maxRetry     = 60 * time.Second
	// maxBackoff is up to where the pauses between attempts grow.
	maxBackoff = 30 * time.Second
	// maxResumes is how often in a row a stream is taken up again in vain.
	maxResumes = 5
)

// cursor is how far a stream has come.
type cursor struct {
	id    string // of the last event that had one
	retry time.Duration
	moved bool // id has changed since someone looked
	// lenient passes over events over the limit.
	lenient bool
}

func (k *cursor) see(ev eventstream.Event) {
	// An id that fits into no header can't be named again.
	if ev.HasID && ev.ID != k.id && httpguts.ValidHeaderFieldValue(ev.ID) {
		k.id, k.moved = ev.ID, true
	}
	if ev.HasRetry {
		k.retry = min(max(ev.Retry, minRetry), maxRetry)
	}
}

// pause is how long to wait before attempt n, from 0.
func (k *cursor) pause(n int) time.Duration {
	d := k.retry
	if d == 0 {
		d = defaultRetry
	}
	for range n {
		if d >= maxBackoff {
			break
		}
		d = min(2*d, maxBackoff)
	}
	return d
}

// An interruption is the end of a stream whose exchange is not complete. A sink
// can't make one, whatever error it returns.
type interruption struct {
	lost error // how the connection broke; nil: the stream ended in good order
}

func (i *interruption) Error() string {
	if i.lost == nil {
		return "stream ended"
	}
	return i.lost.Error()
}

// stream takes an answer that is an event stream. Before the sink has enough, a
// stream is broken however it ended, and may be taken up again if the server has
// named a place in it.
func (c *Conn) stream(ctx context.Context, x *origin.Exchange, resp *http.Response, link transport.Link, mem memory, replies transport.Sink) error {
	var k cursor
	err := c.read(x, resp, &k, c.exchangeSink(replies))
	cut, ok := err.(*interruption)
	switch {
	case !ok:
		return err
	case link == transport.LinkWithin && k.id != "":
		return c.resume(ctx, mem, &k, resp.StatusCode, replies)
	case cut.lost != nil:
		return cut.lost
	}
	return &transport.NoReplyError{Status: resp.StatusCode}
}

// exchangeSink passes on what looks like JSON. Other data may have been the
// answer, and so ends the exchange.
func (c *Conn) exchangeSink(replies transport.Sink) func([]byte) error {
	return func(data []byte) error {
		if !origin.MayBeJSON(data) {
			c.stats.Noise.Add(1)
			return &transport.UnreadableError{Err: fmt.Errorf("event is no JSON: %.40q", data)}
		}
		c.received(data)
		return replies(transport.Inbound{Body: data})
	}
}

// read reads one stream to its end, or until take returns an error, and ends the
// exchange. It returns nil if that was ErrEnough.
func (c *Conn) read(x *origin.Exchange, resp *http.Response, k *cursor, take func([]byte) error) error {
	rd := c.readers.Get().(*eventstream.Reader)
	defer c.readers.Put(rd)
	rd.Reset(resp.Body, int(c.limit))
	defer rd.Reset(nil, 0)
	for {
		ev, err := rd.Next()
		if tooLarge(err) {
			c.stats.TooLarge.Add(1)
			if k.lenient {
				continue
			}
			x.End()
			return &transport.TooLargeError{Limit: c.limit, Inbound: true}
		}
		if err != nil {
			err = ended(x, err)
			x.End()
			return err
		}
		k.see(ev)
		if ev.Type != "message" || len(bytes.TrimLeft(ev.Data, " \t\r\n")) == 0 {
			continue
		}
		err = take(ev.Data)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, transport.ErrEnough):
			x.End()
			return err
		case rd.AtEnd():
			x.End()
		default:
			x.Drain()
		}
		return nil
	}
}

func tooLarge(err error) bool {
	_, ok := err.(*eventstream.TooLargeError)
	return ok
}

// ended says what the end of a stream means: an *interruption, or the reason why
// our side ended it.
func ended(x *origin.Exchange, err error) error {
	if err == io.EOF {
		return &interruption{}
	}
	err = x.Broken(err)
	if _, ok := err.(*transport.LostError); ok {
		return &interruption{lost: err}
	}
	return err
}

// resume takes an exchange's stream up again until the exchange is complete
// (2025-11-25 §transports, Resumability and Redelivery). The attempts are
// counted from the last event id.
func (c *Conn) resume(ctx context.Context, mem memory, k *cursor, status int, replies transport.Sink) error {
	var last error
	k.moved = false
	for n := 0; n < maxResumes; n++ {
		if err := c.client.Wait(ctx, k.pause(n)); err != nil {
			return err
		}
		err := c.takeUp(ctx, mem, k, c.exchangeSink(replies))
		if refused, ok := err.(*resumeRefused); ok {
			return &transport.NoReplyError{Status: status, Err: refused}
		}
		if _, ok := err.(*interruption); !ok {
			return err
		}
		last = err
		if k.moved {
			k.moved, n = false, -1
		}
	}
	return &transport.NoReplyError{Status: status, Err: fmt.Errorf("stream taken up %d times in vain: %v", maxResumes, last)}
}

// resumeRefused does not wrap the *transport.RefusedError: it was not the frame
// that was refused, and nobody may send it again because of that.
type resumeRefused struct{ text string }

func (e *resumeRefused) Error() string { return "stream can't be taken up again: " + e.text }

// takeUp asks for the rest of a stream and reads it.
func (c *Conn) takeUp(ctx context.Context, mem memory, k *cursor, take func([]byte) error) error {
	x, resp, err := c.open(ctx, mem, k.id)
	if err != nil {
		// The frame is long out, whatever became of this request.
		return sentAlready(ctx, c.client.Closed(), err)
	}
	if !isStream(resp) {
		text := describe(x.Refusal())
		x.Drain()
		return &resumeRefused{text}
	}
	c.stats.Resumed.Add(1)
	return c.read(x, resp, k, take)
}

// sentAlready takes the promise of ErrNotSent away from the error of a GET.
func sentAlready(ctx context.Context, closed <-chan struct{}, err error) error {
	if refused, ok := errors.AsType[*transport.RefusedError](err); ok {
		return &resumeRefused{describe(refused)}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-closed:
		return transport.ErrClosed
	default:
	}
	return &interruption{lost: err}
}

func describe(e *transport.RefusedError) string {
	if e.Status >= 200 && e.Status <= 299 {
		return fmt.Sprintf("HTTP %d with content type %q", e.Status, e.Type)
	}
	return e.Error()
}

// open begins a GET. id is the last event id; empty: none.
func (c *Conn) open(ctx context.Context, mem memory, id string) (*origin.Exchange, *http.Response, error) {
	x, err := c.client.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	h := remembered(c.get, mem)
	if id != "" {
		h["Last-Event-Id"] = []string{id}
	}
	resp, err := x.Do(http.MethodGet, c.client.URL(), h, nil)
	if err != nil {
		x.End()
		return nil, nil, err
	}
	return x, resp, nil
}

func isStream(resp *http.Response) bool {
	return resp.StatusCode >= 200 && resp.StatusCode <= 299 && origin.Type(resp) == "text/event-stream"
}
