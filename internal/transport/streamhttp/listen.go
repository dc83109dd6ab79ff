package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// steady is how long a stream has to last for the pauses to start anew.
const steady = 30 * time.Second

// Listen implements transport.Conn: it reads the stream that a server may offer
// for what belongs to no exchange. It is to be called once the session is open,
// after the first frame within it.
//
// Besides the contract's reasons it ends with ErrUnsupported where there is no
// such stream, and with a *RefusedError where there is one no more because the
// server has forgotten the session.
func (c *Conn) Listen(ctx context.Context, unsolicited transport.Sink) error {
	l := listener{c: c, take: c.listenSink(unsolicited), k: cursor{lenient: true}}
	for {
		err := l.once(ctx)
		if _, ok := err.(*interruption); !ok {
			return err
		}
		c.log.Debug("event stream ended", "err", err)
		if err := c.client.Wait(ctx, l.pause()); err != nil {
			return err
		}
	}
}

// listener is where a Listen stands.
type listener struct {
	c        *Conn
	take     func([]byte) error
	k        cursor
	accepted bool // there was a stream
	failures int
	after    time.Duration // the server wants at least this pause, this time
}

// pause is how long to wait before the next stream. Some jitter keeps the links
// to a server that was restarted from coming back all at once.
func (l *listener) pause() time.Duration {
	d := max(l.k.pause(l.failures), l.after)
	l.failures, l.after = l.failures+1, 0
	return d + rand.N(d/10+1)
}

// once opens a stream and reads it to its end.
func (l *listener) once(ctx context.Context) error {
	c := l.c
	c.mu.Lock()
	mem := c.mem
	c.mu.Unlock()
	x, resp, err := c.open(ctx, mem, l.k.id)
	if err != nil {
		if _, ok := errors.AsType[*transport.RefusedError](err); ok {
			return transport.ErrUnsupported // a redirect; it leads nowhere
		}
		return sentAlready(ctx, c.client.Closed(), err)
	}
	if !isStream(resp) {
		refused := x.Refusal()
		x.Drain()
		return l.refused(refused, mem)
	}
	if l.k.id != "" {
		c.stats.Resumed.Add(1)
	}
	l.accepted, l.k.moved = true, false
	began := time.Now()
	err = c.read(x, resp, &l.k, l.take)
	// A server that polls closes each stream on purpose, and says when to return.
	polls := l.k.moved && l.k.retry > 0
	if time.Since(began) >= steady || polls {
		l.failures = 0
	}
	return err
}

// refused says what an answer means that is no stream.
func (l *listener) refused(e *transport.RefusedError, mem memory) error {
	e.Session = mem.session != ""
	switch {
	case e.Status == http.StatusMethodNotAllowed, e.Status == http.StatusNotImplemented,
		e.Status >= 200 && e.Status <= 299, e.Status >= 300 && e.Status <= 399:
		return transport.ErrUnsupported
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests, e.Status >= 500:
		l.after = min(e.RetryAfter, maxRetry)
		return &interruption{lost: e}
	case !l.accepted:
		return transport.ErrUnsupported
	case e.Status == http.StatusNotFound && e.Session:
		l.c.forget(mem.session)
		return e
	}
	return &interruption{lost: e}
}

// forget notes that the server knows a session no more.
func (c *Conn) forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mem.session == session {
		c.gone = true
	}
}

// listenSink passes on what is JSON. Here all of it is looked at: there is no
// exchange that could fail of it, so nothing else may come through.
func (c *Conn) listenSink(unsolicited transport.Sink) func([]byte) error {
	return func(data []byte) error {
		if !json.Valid(data) {
			c.stats.Noise.Add(1)
			return &interruption{lost: errors.New("event is no JSON")}
		}
		c.received(data)
		return unsolicited(transport.Inbound{Body: data})
	}
}
