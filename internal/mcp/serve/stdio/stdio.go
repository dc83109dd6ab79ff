// Package stdio serves MCP as lines of JSON on two byte streams: one client, one
// message a line (2025-11-25 and 2026-07-28 §transports/stdio).
//
// It does not know: methods, sessions' contents, processes.
package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// Options bound what a client can do to us. The zero Options are good.
type Options struct {
	MaxMessage int           // bytes of a line; 0: 64 MiB
	MaxQueue   int           // bytes that may wait for the client to read; 0: 16 MiB
	Stall      time.Duration // how long a full queue may wait before the client counts as gone; 0: 30s
	Grace      time.Duration // for calls at work when the input ends; 0: 500ms
	Logger     *slog.Logger  // nil: none
}

// ErrStalled means that the client has stopped reading.
var ErrStalled = errors.New("the client does not read")

// Serve lets one client speak to s until the input ends, which is a good end, or
// ctx ends, or the output fails. Calls at work get Grace to answer after the end
// of the input, then they are cancelled.
//
// in and out are closed in the end if they can be, because nothing else releases
// a read or write that hangs. Where even that does not help, as with a terminal,
// Serve leaves the read behind, to end with the process.
func Serve(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer, o Options) error {
	o.MaxMessage = cmp.Or(o.MaxMessage, 64<<20)
	o.MaxQueue = cmp.Or(o.MaxQueue, 16<<20)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 500*time.Millisecond)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &conn{server: s, log: o.Logger, w: newWriter(out, o.MaxQueue, o.Stall), inFlight: map[jsonrpc.ID]struct{}{}, idle: make(chan struct{}, 1)}
	r := &reader{in: in, limit: o.MaxMessage, lines: make(chan line)}

	var own sync.WaitGroup
	own.Go(c.w.run)
	own.Go(func() { r.run(ctx.Done()) })
	err := c.serve(mcp.ContextWithLink(ctx), r, o.Grace, &own)
	c.end()
	c.w.close()
	cancel(err)
	closeAndWait(&own, c.w.done, in, out)
	if werr := c.w.failure(); err == nil && werr != nil {
		return werr
	}
	return err
}

// closeAndWait waits for our goroutines: first for what is queued to get out,
// then with force.
func closeAndWait(own *sync.WaitGroup, written <-chan struct{}, in io.Reader, out io.Writer) {
	const patience, nudge = time.Second, 250 * time.Millisecond
	if c, ok := in.(io.Closer); ok {
		_ = c.Close() // releases a read that hangs; there is nothing left to lose
	}
	select {
	case <-written:
	case <-time.After(patience):
	}
	if c, ok := out.(io.Closer); ok {
		_ = c.Close()
	}
	gone := make(chan struct{})
	go func() { // ends with the goroutines it waits for
		own.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(nudge):
	}
}

// conn is the one client.
type conn struct {
	server *mcp.Server
	log    *slog.Logger
	w      *writer
	idle   chan struct{} // one token: nothing is in flight

	mu       sync.Mutex
	session  string // as the server told us
	inFlight map[jsonrpc.ID]struct{}
	listen   func() // starts the session's own traffic
}

// serve reads until the end and hands over.
func (c *conn) serve(ctx context.Context, r *reader, grace time.Duration, own *sync.WaitGroup) error {
	c.listen = func() {
		id := c.session
		own.Go(func() {
			err := c.server.HandleListen(c.server.CreateContext(id, "").Attach(ctx), c)
			c.log.Debug("session ended", "err", err)
		})
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.w.dead:
			return c.w.failure()
		case l, ok := <-r.lines:
			if !ok {
				c.settle(ctx, grace)
				if errors.Is(r.err, io.EOF) {
					return nil
				}
				return fmt.Errorf("reading: %w", r.err)
			}
			c.handle(ctx, l)
		}
	}
}

func (c *conn) handle(ctx context.Context, l line) {
	if l.err != nil {
		c.server.HandleUnreadable(ctx, l.err, c)
		return
	}
	res := c.server.CreateContext(c.sessionID(), "")
	ctx = res.Attach(ctx)
	members, isBatch, err := jsonrpc.ParseBatch(l.text)
	switch {
	case err != nil:
		c.server.HandleUnreadable(ctx, err, c)
	case isBatch && (!res.Batches || len(members) == 0):
		c.server.HandleUnreadable(ctx, fmt.Errorf("%w: an array", jsonrpc.ErrNotMessage), c)
	case isBatch:
		for _, m := range members {
			c.deliver(ctx, m)
		}
	default:
		c.deliver(ctx, l.text)
	}
}

func (c *conn) deliver(ctx context.Context, text []byte) {
	m, err := jsonrpc.Parse(text)
	if err != nil {
		c.server.HandleUnreadable(ctx, err, c)
		return
	}
	switch m := m.(type) {
	case *jsonrpc.Call:
		c.mu.Lock()
		c.inFlight[m.ID] = struct{}{}
		c.mu.Unlock()
		c.server.HandleCall(ctx, *m, c)
	case *jsonrpc.Notification:
		c.server.HandleNotification(ctx, *m)
	case *jsonrpc.Response:
		c.server.HandleResponse(ctx, *m)
	}
}

func (c *conn) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Send queues a line.
func (c *conn) Send(m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		defer c.answered(r.ID)
	}
	return c.w.write(append(jsonrpc.Append(nil, m), '\n'))
}

// Emit notes the session of this pipe; a later one takes its place.
func (c *conn) Emit(e mcp.SessionInitialized) error {
	c.mu.Lock()
	old := c.session
	c.session = e.ID
	c.mu.Unlock()
	if old != "" {
		c.server.Terminate(old)
	}
	c.listen()
	return nil
}

func (c *conn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inFlight, id)
	if len(c.inFlight) == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// settle waits for what is in flight when the client says no more. A call that
// the client has cancelled is never answered, so there must be a bound.
func (c *conn) settle(ctx context.Context, grace time.Duration) {
	end := time.NewTimer(grace)
	defer end.Stop()
	for {
		c.mu.Lock()
		n := len(c.inFlight)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-end.C:
			return
		case <-c.w.dead:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *conn) end() {
	if id := c.sessionID(); id != "" {
		c.server.Terminate(id)
	}
}
