package mcp

import (
	"context"
	"errors"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Do sends a request and waits for its result.
//
// Its errors: *ServerError (the server said no), *StatusError (its HTTP end said
// no; one that wraps ErrGone means that the session is forgotten),
// *ProtocolError, *NotOfferedError, *InterruptedError (ctx ended first), and
// those of transport.Conn.Send. One that wraps transport.ErrNotSent was
// certainly not carried out.
func (c *Client) Do(ctx context.Context, r *Request) (Result, error) {
	if err := c.caps.check(r.Method); err != nil {
		return Result{}, transport.NotSent(err)
	}
	return c.do(ctx, r, c.era())
}

func (c *Client) do(ctx context.Context, r *Request, e era) (Result, error) {
	rep, err := c.exchange(ctx, r, e)
	if err != nil {
		return Result{}, err
	}
	return c.finish(rep)
}

// exchange sends a request and waits for the reply to it, which may be an error
// itself.
func (c *Client) exchange(ctx context.Context, r *Request, e era) (reply, error) {
	if c.binding.Shared {
		return c.exchangeShared(ctx, r, e)
	}
	return c.exchangePrivate(ctx, r, e)
}

func (c *Client) exchangeShared(ctx context.Context, r *Request, e era) (reply, error) {
	p, err := c.table.add(r, nil)
	if err != nil {
		return reply{}, transport.NotSent(err)
	}
	id := p.id
	if err := c.sendShared(ctx, p, r, e); err != nil {
		rep, answered := c.table.leave(p)
		c.table.release(p)
		if answered && !rep.ended {
			return rep, nil
		}
		return reply{}, c.sendFailed(ctx, err, id, r, e)
	}
	select {
	case rep := <-p.ch:
		c.table.release(p)
		return rep, nil
	case <-ctx.Done():
	}
	rep, answered := c.table.leave(p)
	c.table.release(p)
	if answered {
		return rep, nil
	}
	c.cancelRequest(ctx, id, r, e)
	return reply{}, &InterruptedError{Phase: PhaseWait, Err: context.Cause(ctx)}
}

// sendShared writes the frame of p.
func (c *Client) sendShared(ctx context.Context, p *pending, r *Request, e era) error {
	buf := frameBuffers.Get().(*[]byte)
	f := e.label(r)
	f.Body, f.Expects = appendCall((*buf)[:0], p.id, r, e), true
	err := c.conn.Send(ctx, f, nil)
	if err == nil || errors.Is(err, transport.ErrNotSent) {
		releaseFrame(buf, f.Body)
	}
	return err
}

func (c *Client) exchangePrivate(ctx context.Context, r *Request, e era) (reply, error) {
	sendCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p, err := c.table.add(r, stop)
	if err != nil {
		return reply{}, transport.NotSent(err)
	}
	// A binding may go on reading the body after the answer came, so the buffer
	// is not reused.
	f := e.label(r)
	f.Body, f.Expects = appendCall(nil, p.id, r, e), true
	err = c.conn.Send(sendCtx, f, func(in transport.Inbound) error { return c.receivePrivate(in, p) })
	rep, answered := c.table.leave(p)
	id, odd := p.id, p.odd
	c.table.release(p)
	var silent *transport.NoReplyError
	switch {
	case answered && !rep.ended:
		return rep, nil
	case answered && (err == nil || errors.Is(err, errAnswered)):
		if errors.Is(err, transport.ErrNotSent) {
			rep.err = transport.NotSent(rep.err)
		}
		return rep, nil
	case odd != nil && (err == nil || isNoReply(err)):
		return reply{}, odd
	case err == nil:
		return reply{}, &NoReplyError{ID: id, NoReplyError: &transport.NoReplyError{}}
	case errors.As(err, &silent):
		return reply{}, &NoReplyError{ID: id, NoReplyError: silent}
	}
	return reply{}, c.sendFailed(ctx, err, id, r, e)
}

// sendFailed makes Send's error one of a request, and cancels at the server what
// may have reached it.
func (c *Client) sendFailed(ctx context.Context, err error, id int64, r *Request, e era) error {
	var refused *transport.RefusedError
	if errors.As(err, &refused) {
		return c.judge(refused, id)
	}
	if ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	if errors.Is(err, transport.ErrNotSent) {
		return Interrupted(PhaseSend, context.Cause(ctx))
	}
	c.cancelRequest(ctx, id, r, e)
	phase := PhaseWait
	if c.binding.Shared {
		phase = PhaseSend // a part is out, and the binding sends the rest
	}
	return &InterruptedError{Phase: phase, Err: context.Cause(ctx)}
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, r *Request) error {
	return c.notify(ctx, r, c.era())
}

func (c *Client) notify(ctx context.Context, r *Request, e era) error {
	if err := c.table.closed(); err != nil {
		return transport.NotSent(err)
	}
	f := e.label(r)
	f.Body = appendNotification(nil, r)
	err := c.conn.Send(ctx, f, nil)
	var refused *transport.RefusedError
	switch {
	case errors.As(err, &refused):
		return c.judge(refused, 0)
	case err == nil || ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)):
		return err
	case errors.Is(err, transport.ErrNotSent):
		return Interrupted(PhaseSend, context.Cause(ctx))
	}
	return &InterruptedError{Phase: PhaseSend, Err: context.Cause(ctx)}
}
