package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

const (
	// lastWords is how long output is read on when the process has ended, or takes
	// no more input, without an end of the output.
	lastWords = 200 * time.Millisecond
	// pipeMax is as much as can lie in a pipe.
	pipeMax = 1 << 20
)

var errListening = errors.New("stdio: Listen was called twice")

// Listen implements transport.Conn.
func (c *Conn) Listen(ctx context.Context, unsolicited transport.Sink) error {
	if !c.listening.CompareAndSwap(false, true) {
		return errListening
	}
	stop := c.interrupt(ctx)
	defer stop()
	l := lines{max: int(c.o.MaxMessageBytes), large: c.enlarge}
	read := func(p []byte) (int, error) { return c.read(ctx, p) }
	for {
		in, err := l.next(read)
		if err != nil {
			return c.ended(ctx, err)
		}
		if in.Size > 0 {
			c.o.Stats.TooLarge.Add(1)
		}
		c.o.Stats.BytesIn.Add(max(in.Size, int64(len(in.Body))) + 1)
		if !beginsMessage(in.Body) {
			c.noise(in.Body)
			continue
		}
		c.o.Stats.FramesIn.Add(1)
		if err := unsolicited(in); errors.Is(err, transport.ErrEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// read reads on behalf of Listen until the link is closed; then Close reads.
func (c *Conn) read(ctx context.Context, p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isClosed() {
		return 0, transport.ErrClosed
	}
	n, err := c.in.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil && !c.isClosed() && c.late < pipeMax {
		// The time for last words is over; what was said before is still read.
		_ = c.in.SetReadDeadline(time.Now().Add(lastWords / 10))
		n, err = c.in.Read(p)
		c.late += n
	}
	return n, err
}

func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// interrupt sees to it that a Read ends when ctx does or the link is closed, and
// soon after the process has ended or no longer takes input: another process may
// hold the output open for ever.
func (c *Conn) interrupt(ctx context.Context) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	var exited <-chan struct{}
	if c.o.Host != nil {
		exited = c.o.Host.Exited()
	}
	go func() {
		defer close(done)
		select {
		case <-over:
			return
		case <-exited:
		case <-c.w.down:
		case <-c.closed:
		case <-ctx.Done():
		}
		_ = c.in.SetReadDeadline(time.Now().Add(lastWords))
		select {
		case <-over:
		case <-c.closed:
			_ = c.in.SetReadDeadline(time.Now())
		case <-ctx.Done():
			_ = c.in.SetReadDeadline(time.Now())
		}
	}()
	return func() { close(over); <-done }
}

// ended says why Listen ends when reading has ended with err.
func (c *Conn) ended(ctx context.Context, err error) error {
	if c.isClosed() {
		return transport.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if reason := c.w.reason(); reason != nil {
		return reason
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errOutputEnded
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errNoInput // or the process has ended, which Lost says better
	}
	return c.w.fail(c.lost(err))
}

var (
	errOutputEnded = errors.New("the server closed its output")
	errNoInput     = errors.New("the server takes no more input")
)
