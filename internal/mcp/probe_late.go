package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A lateProbe is a probe of a shared link that was not answered in time. It stays
// in the table during the handshake, because a late answer may still count.
type lateProbe struct {
	p        *pending
	received bool // its reply was taken from p.ch
	answered bool // and it came from the server
	left     bool
}

// open reports whether the server still owes the answer.
func (l *lateProbe) open() bool { return l != nil && !l.answered }

// replies is where the answer comes; nil once it has come.
func (l *lateProbe) replies() <-chan reply {
	if l.received {
		return nil
	}
	return l.p.ch
}

func (l *lateProbe) receive(r reply) {
	l.received, l.answered = true, !r.ended
}

// leave waits no longer for the answer.
func (l *lateProbe) leave(t *table) {
	if l == nil || l.left {
		return
	}
	if l.left = true; !l.received {
		if r, taken := t.leave(l.p); taken {
			l.receive(r)
		}
	}
	t.release(l.p)
}

// probeShared is the probe where all traffic is on one stream. Where ctx ends
// before the answer comes, the probe is returned.
func (c *Client) probeShared(ctx context.Context, r *Request, e era) (Result, *lateProbe, error) {
	p, err := c.table.add(r, nil)
	if err != nil {
		return Result{}, nil, transport.NotSent(err)
	}
	if err := c.sendShared(ctx, p, r, e); err != nil {
		interrupted := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		if interrupted && !errors.Is(err, transport.ErrNotSent) {
			return Result{}, &lateProbe{p: p}, nil // a part of it is out
		}
		id := p.id
		rep, answered := c.table.leave(p)
		c.table.release(p)
		if !answered || rep.ended {
			return Result{}, nil, c.sendFailed(ctx, err, id, r, e)
		}
		res, err := c.finish(rep)
		return res, nil, err
	}
	select {
	case rep := <-p.ch:
		return c.probeReplied(p, rep)
	case <-ctx.Done():
	}
	select {
	case rep := <-p.ch: // both at once
		return c.probeReplied(p, rep)
	default:
		return Result{}, &lateProbe{p: p}, nil
	}
}

func (c *Client) probeReplied(p *pending, rep reply) (Result, *lateProbe, error) {
	c.table.release(p)
	res, err := c.finish(rep)
	return res, nil, err
}

// initializeBeside sends initialize and waits for its answer, with the probe
// still open. A session that the server grants counts; where it grants none, or
// keeps silent, a late answer to the probe that names a modern revision does.
func (c *Client) initializeBeside(ctx context.Context, r *Request, late *lateProbe) (Result, handshake, error) {
	e := handshakeEra{}
	p, err := c.table.add(r, nil)
	if err != nil {
		return Result{}, nil, transport.NotSent(err)
	}
	id := p.id
	if err := c.sendShared(ctx, p, r, e); err != nil {
		rep, answered := c.table.leave(p)
		c.table.release(p)
		if answered && !rep.ended {
			res, err := c.finish(rep)
			return res, nil, err
		}
		return Result{}, nil, c.diedOfProbe(c.sendFailed(ctx, err, id, r, e), late)
	}
	res, modern, err := c.awaitBoth(ctx, p, late)
	return res, modern, c.diedOfProbe(err, late)
}

// awaitBoth waits until the answers to initialize, whose entry p is, and to the
// probe decide.
func (c *Client) awaitBoth(ctx context.Context, p *pending, late *lateProbe) (Result, handshake, error) {
	defer c.table.release(p)
	var refused error    // how initialize was answered
	var modern handshake // what the late answer of a modern server leads to
	patience := time.NewTimer(c.o.ProbeTimeout)
	patience.Stop()
	defer patience.Stop()
	answer := (<-chan reply)(p.ch)
	for {
		select {
		case rep := <-answer:
			res, err := c.finish(rep)
			switch _, names := wanted(err); {
			case err == nil:
				return res, nil, nil
			case modern != nil && !rep.ended:
				return Result{}, modern, nil
			case names, !isServerError(err), !late.open():
				return Result{}, nil, err
			}
			refused, answer = err, nil
			patience.Reset(c.o.ProbeTimeout)
		case rep := <-late.replies():
			late.receive(rep)
			modern = c.lateAnswer(rep)
			switch {
			case refused != nil && modern != nil:
				return Result{}, modern, nil
			case refused != nil:
				return Result{}, nil, refused
			case modern != nil:
				patience.Reset(c.o.ProbeTimeout)
			}
		case <-patience.C:
			if refused != nil {
				return Result{}, nil, refused
			}
			if rep, answered := c.table.leave(p); answered {
				if res, err := c.finish(rep); err == nil {
					return res, nil, nil
				}
			}
			return Result{}, modern, nil
		case <-ctx.Done():
			if refused == nil {
				c.table.leave(p)
			}
			return Result{}, nil, &InterruptedError{Phase: PhaseWait, Err: context.Cause(ctx)}
		}
	}
}

// lateAnswer reads a late answer to the probe. Any but a modern one is no news.
func (c *Client) lateAnswer(rep reply) handshake {
	if rep.ended {
		return nil
	}
	res, err := c.finish(rep)
	if want, ok := wanted(err); ok {
		if v, ok := c.mutual(want); ok {
			return func(ctx context.Context) error { return c.discoverAs(ctx, v) }
		}
	}
	if err != nil {
		return nil
	}
	d, err := readDiscover(&res)
	if err != nil {
		return nil
	}
	v, ok := c.mutual(d.Versions)
	if !ok {
		return nil
	}
	return func(context.Context) error { c.adopt(d, v); return nil }
}

// diedOfProbe tells a link that was lost before the probe was answered from one
// that broke for another reason.
func (c *Client) diedOfProbe(err error, late *lateProbe) error {
	if isLost(err) && late.open() && !errors.Is(err, transport.ErrNotSent) {
		return &ProbeCrashError{Err: err}
	}
	return err
}
