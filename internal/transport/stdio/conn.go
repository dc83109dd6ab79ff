package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Defaults of Options.
const (
	DefaultMaxMessageBytes = 64 << 20
	DefaultMaxQueueBytes   = 64 << 20 // and one message
)

// large is the size of a message that makes larger pipes worth their memory.
const large = 64 << 10

// An Inlet is the reading end of a stream.
type Inlet interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

// A Host is what is behind the two streams.
type Host interface {
	// Exited is closed when it has ended.
	Exited() <-chan struct{}
	// Lost makes the error for a link that was lost because of err. It may wait a
	// little to learn how the host ended.
	Lost(err error) *transport.LostError
	// Stop ends the host, gently while ctx lasts, and waits for it.
	Stop(ctx context.Context) error
}

// Options describe a Conn.
type Options struct {
	MaxMessageBytes int64 // 0: the default
	MaxQueueBytes   int64 // bytes that may wait for the pipe; 0: the default
	Peer            string
	Host            Host   // nil: nothing behind the streams
	Grow            func() // called once, with the first large message; may be nil
	Log             *slog.Logger
	Stats           *transport.Stats
}

// A Conn is a link over two byte streams.
type Conn struct {
	o    Options
	in   Inlet
	w    *writer
	grow sync.Once

	reading   sync.Mutex    // held while in is read from
	late      int           // bytes read after the time for last words
	closed    chan struct{} // Close was called
	closeOnce sync.Once
	gone      chan struct{} // nothing is left
	err       error         // of Close; set before gone
	listening atomic.Bool
}

// New makes a Conn that reads from in and writes to out. It starts nothing: all
// reading is done by Listen.
func New(in Inlet, out Outlet, o Options) *Conn {
	if o.MaxMessageBytes <= 0 {
		o.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if o.MaxQueueBytes <= 0 {
		o.MaxQueueBytes = DefaultMaxQueueBytes + o.MaxMessageBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Stats == nil {
		o.Stats = new(transport.Stats)
	}
	c := &Conn{o: o, in: in, closed: make(chan struct{}), gone: make(chan struct{})}
	c.w = newWriter(out, o.MaxQueueBytes, o.Stats, c.lost)
	return c
}

// Binding implements transport.Conn.
func (c *Conn) Binding() transport.Binding {
	return transport.Binding{Name: "stdio", Peer: c.o.Peer, Shared: true}
}

// Send implements transport.Conn.
func (c *Conn) Send(ctx context.Context, f transport.Frame, _ transport.Sink) error {
	if ctx.Err() != nil {
		return transport.NotSent(context.Cause(ctx))
	}
	size := int64(len(f.Body))
	if size > c.o.MaxMessageBytes {
		return transport.NotSent(&transport.TooLargeError{Limit: c.o.MaxMessageBytes, Size: size})
	}
	if size > large {
		c.enlarge()
	}
	return c.w.send(ctx, f.Body)
}

// enlarge asks for larger pipes. That it may be refused is no harm.
func (c *Conn) enlarge() {
	if c.o.Grow != nil {
		c.grow.Do(c.o.Grow)
	}
}

// lost makes the error for a link that was lost because of err.
func (c *Conn) lost(err error) error {
	if c.o.Host == nil {
		return &transport.LostError{Err: err}
	}
	return c.o.Host.Lost(err)
}

// Close implements transport.Conn. The server sees the end of its input before
// anything else happens to it, and its output is read on, so that a full pipe
// keeps it from nothing.
func (c *Conn) Close(ctx context.Context) error {
	first := false
	c.closeOnce.Do(func() { first = true })
	if !first {
		if c.o.Host != nil {
			_ = c.o.Host.Stop(ctx) // hurries the first one, if need be
		}
		<-c.gone
		return c.err
	}
	close(c.closed)
	c.w.close(transport.ErrClosed)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		c.drain()
	}()
	if c.o.Host != nil {
		c.err = c.o.Host.Stop(ctx)
	}
	_ = c.in.Close()
	<-drained
	c.w.wait()
	close(c.gone)
	return c.err
}

// drain reads the output away once Listen has left it.
func (c *Conn) drain() {
	if c.listening.Load() {
		_ = c.in.SetReadDeadline(time.Now()) // calls Listen off
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	buf := make([]byte, 32<<10)
	for {
		// Listen's deadlines may come after this one, but not often.
		_ = c.in.SetReadDeadline(time.Time{})
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c.in}, buf)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}
