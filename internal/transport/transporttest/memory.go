package transporttest

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// MemoryOptions say how a link in memory behaves. The zero value is a shared
// link without limits.
type MemoryOptions struct {
	Private  bool // an exchange of its own for each frame that expects an answer
	NoListen bool // private only: Listen returns ErrUnsupported
	// Window is how many frames the server may be ahead of the client's sink on
	// one stream before its next one waits; 0: no limit. A reader that stalls is
	// felt by the server only with a limit.
	Window int
	// Backlog is how many frames may lie unread at the server before Send waits;
	// 0: no limit.
	Backlog int
	Limit   int64  // of frames, both ways; 0: none
	Name    string // of the binding; empty: "memory"
	// Refuse is asked before a frame goes out; its error is what Send returns.
	Refuse func(transport.Frame) error
}

// errHungUp is why a server can't send any more.
var errHungUp = errors.New("transporttest: the client has hung up")

// NewPair makes a link in memory: its client end, and its server end for the
// test. There is no I/O and no goroutine in it, so it works in a synctest bubble.
func NewPair(o MemoryOptions) (transport.Conn, *MemoryPeer) {
	c := &memory{
		o:      o,
		out:    newQueue[*Exchange](o.Backlog),
		in:     newQueue[transport.Inbound](o.Window),
		closed: make(chan struct{}),
		live:   make(map[*Exchange]struct{}),
	}
	return c, &MemoryPeer{c}
}

type memory struct {
	o      MemoryOptions
	out    *queue[*Exchange]
	in     *queue[transport.Inbound] // unsolicited; shared: everything
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	live map[*Exchange]struct{} // private exchanges that Send waits for
}

func (c *memory) Binding() transport.Binding {
	name := c.o.Name
	if name == "" {
		name = "memory"
	}
	return transport.Binding{Name: name, Peer: "memory", Shared: !c.o.Private}
}

func (c *memory) Send(ctx context.Context, f transport.Frame, replies transport.Sink) error {
	if ctx.Err() != nil {
		return transport.NotSent(context.Cause(ctx))
	}
	if n := int64(len(f.Body)); c.o.Limit > 0 && n > c.o.Limit {
		return transport.NotSent(&transport.TooLargeError{Limit: c.o.Limit, Size: n})
	}
	if c.o.Refuse != nil {
		if err := c.o.Refuse(f); err != nil {
			return err
		}
	}
	// The body is the caller's again when Send returns.
	f.Body = append([]byte(nil), f.Body...)
	x := &Exchange{Frame: f, c: c, in: c.in}
	if c.o.Private && f.Expects {
		x.in = newQueue[transport.Inbound](c.o.Window)
		c.mu.Lock()
		c.live[x] = struct{}{}
		c.mu.Unlock()
		defer c.leave(x)
	}
	if err := c.out.push(ctx, x); err != nil {
		return transport.NotSent(err)
	}
	if !c.o.Private || !f.Expects {
		return nil
	}
	return drain(ctx, x.in, replies)
}

func (c *memory) leave(x *Exchange) {
	x.in.end(errHungUp, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, x)
}

func (c *memory) Listen(ctx context.Context, unsolicited transport.Sink) error {
	if c.o.Private && c.o.NoListen {
		return transport.ErrUnsupported
	}
	return drain(ctx, c.in, unsolicited)
}

func (c *memory) Close(context.Context) error {
	c.down(transport.ErrClosed, true)
	return nil
}

// down ends all queues. An exchange that begins meanwhile finds out closed.
func (c *memory) down(err error, drop bool) {
	c.once.Do(func() { close(c.closed) })
	c.out.end(err, drop) // first: whom in tells of the end must not get anything out
	c.in.end(err, drop)
	c.mu.Lock()
	defer c.mu.Unlock()
	for x := range c.live {
		x.in.end(err, drop)
	}
}

// drain passes frames to the sink until the queue ends.
func drain(ctx context.Context, q *queue[transport.Inbound], sink transport.Sink) error {
	for {
		in, err := q.pop(ctx)
		if err != nil {
			return err
		}
		if err := sink(in); errors.Is(err, transport.ErrEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// A MemoryPeer is the server end of a link in memory. Its methods may be called
// from any goroutine.
type MemoryPeer struct{ c *memory }

// Next waits for the next frame and returns its bytes.
func (p *MemoryPeer) Next(ctx context.Context) ([]byte, error) {
	x, err := p.NextExchange(ctx)
	if err != nil {
		return nil, err
	}
	return x.Frame.Body, nil
}

// NextExchange waits for the next frame and returns it with the means to answer.
func (p *MemoryPeer) NextExchange(ctx context.Context) (*Exchange, error) {
	return p.c.out.pop(ctx)
}

// Send says something outside every exchange; on a shared link that is the way
// of answers, too. It waits only where a Window is set.
func (p *MemoryPeer) Send(body []byte) error { return p.SendInbound(transport.Inbound{Body: body}) }

// SendInbound is Send for frames with a size, a tail or a note.
func (p *MemoryPeer) SendInbound(in transport.Inbound) error {
	return p.c.in.push(context.Background(), p.c.limited(in))
}

// Break loses the link: what was sent before still arrives, then everything ends
// with a *transport.LostError around err, which may itself be one.
func (p *MemoryPeer) Break(err error) {
	var lost *transport.LostError
	if !errors.As(err, &lost) {
		err = &transport.LostError{Err: err}
	}
	p.c.down(err, false)
}

// Closed is closed when the link has ended, by either side.
func (p *MemoryPeer) Closed() <-chan struct{} { return p.c.closed }

// limited cuts a frame over the limit as shared bindings do.
func (c *memory) limited(in transport.Inbound) transport.Inbound {
	const keep = 4 << 10
	if n := len(in.Body); c.o.Limit > 0 && int64(n) > c.o.Limit && in.Size == 0 {
		in.Size, in.Tail = int64(n), in.Body[max(0, n-keep):]
		in.Body = in.Body[:min(keep, n)]
	}
	return in
}

// An Exchange is one frame at the server. On a shared link, and for a frame that
// expects no answer, Reply speaks on the link.
type Exchange struct {
	Frame transport.Frame
	c     *memory
	in    *queue[transport.Inbound]
}

// Reply sends a frame for this exchange.
func (x *Exchange) Reply(body []byte) error {
	return x.ReplyInbound(transport.Inbound{Body: body})
}

// ReplyInbound is Reply for frames with a size, a tail or a note.
func (x *Exchange) ReplyInbound(in transport.Inbound) error {
	c := x.c
	if n := int64(len(in.Body)); c.o.Private && c.o.Limit > 0 && n > c.o.Limit {
		x.End(&transport.TooLargeError{Limit: c.o.Limit, Size: n, Inbound: true})
		return nil
	}
	return x.in.push(context.Background(), c.limited(in))
}

// End ends a private exchange after what was replied before: Send returns err,
// or a *transport.NoReplyError where err is nil. On a shared link only the link
// can end; there End does nothing.
func (x *Exchange) End(err error) {
	if !x.c.o.Private || !x.Frame.Expects {
		return
	}
	if err == nil {
		err = &transport.NoReplyError{}
	}
	x.in.end(err, false)
}

// Done is closed when the client waits no longer for this exchange.
func (x *Exchange) Done() <-chan struct{} { return x.in.gone }
