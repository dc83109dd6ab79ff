package sse

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// Listen implements transport.Conn. The stream ends with it: without a listener
// the link is of no use.
func (c *Conn) Listen(ctx context.Context, unsolicited transport.Sink) error {
	c.sinking.Lock()
	c.sink = unsolicited
	c.sinking.Unlock()
	stop := context.AfterFunc(ctx, func() { c.stream.Abort(context.Cause(ctx)) })
	err := c.listen()
	stop()
	c.mu.Lock()
	c.lost = err
	if _, ok := err.(*transport.LostError); !ok && err != transport.ErrClosed {
		c.lost = &transport.LostError{Err: errors.New("nobody listens")}
	}
	c.mu.Unlock()
	c.stream.End()
	c.sinking.Lock()
	c.sink = nil
	c.sinking.Unlock()
	if errors.Is(err, transport.ErrEnough) {
		return nil
	}
	return err
}

// listen reads the stream to its end. It never returns nil.
func (c *Conn) listen() error {
	for {
		ev, err := c.events.Next()
		if big, ok := err.(*eventstream.TooLargeError); ok {
			if err := c.oversize(big); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return c.ended(err)
		}
		if ev.Type != "message" || len(bytes.TrimLeft(ev.Data, " \t\r\n")) == 0 {
			continue
		}
		if !origin.MayBeJSON(ev.Data) {
			c.stats.Noise.Add(1)
			continue
		}
		if err := c.deliver(transport.Inbound{Body: ev.Data}); err != nil {
			return err
		}
	}
}

// oversize passes on what is kept of an event over the limit, since nobody here
// can tell whose it was.
func (c *Conn) oversize(big *eventstream.TooLargeError) error {
	size, tail, err := c.events.Skip()
	if err != nil {
		return c.ended(err)
	}
	c.stats.TooLarge.Add(1)
	return c.deliver(transport.Inbound{Body: big.Head, Size: size, Tail: tail})
}

// ended says what the end of the stream means.
func (c *Conn) ended(err error) error {
	if err == io.EOF {
		return c.stream.Broken(errors.New("event stream ended"))
	}
	return c.stream.Broken(err)
}

// deliver calls the listener's sink. It may be called from several goroutines.
func (c *Conn) deliver(in transport.Inbound) error {
	c.sinking.RLock()
	defer c.sinking.RUnlock()
	if c.sink == nil {
		c.stats.Noise.Add(1)
		return nil
	}
	c.stats.FramesIn.Add(1)
	c.stats.BytesIn.Add(max(in.Size, int64(len(in.Body))))
	return c.sink(in)
}
