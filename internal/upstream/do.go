package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Do sends a request on the session, starting the server where it is not
// running, and waits for the result. A request that certainly was not carried
// out because the session was gone or the link lost is sent once more; nothing
// else is ever repeated.
func (s *Session) Do(ctx context.Context, r *mcp.Request) (res mcp.Result, err error) {
	if err := s.u.admit(); err != nil {
		return mcp.Result{}, err
	}
	defer s.u.leave()
	err = s.onLink(ctx, func(l *link) (err error) {
		res, err = l.client.Do(ctx, r)
		l.prove(err)
		return err
	})
	return res, err
}

// Notify sends a notification on the session, and once more as Do does.
func (s *Session) Notify(ctx context.Context, r *mcp.Request) error {
	if err := s.u.admit(); err != nil {
		return err
	}
	defer s.u.leave()
	return s.onLink(ctx, func(l *link) error { return l.client.Notify(ctx, r) })
}

// Ping checks that the server answers. It takes no slot of max_in_flight: a
// server that is busy is well.
func (s *Session) Ping(ctx context.Context) error {
	return s.onLink(ctx, func(l *link) error {
		err := l.client.Ping(ctx)
		l.prove(err)
		return err
	})
}

// onLink sends something on the session's link, twice at most.
func (s *Session) onLink(ctx context.Context, send func(*link) error) error {
	s.begin()
	defer s.finish()
	var lost *link
	for {
		l, err := s.acquire(ctx, lost)
		if err != nil {
			return err
		}
		err = send(l)
		l.release()
		if err == nil || lost != nil || !repeatable(ctx, err, l) {
			return err
		}
		lost = l
	}
}

// prove notes that the server has answered a request, if it has: the link was
// not in vain.
func (l *link) prove(err error) {
	if err == nil || errors.As(err, new(*mcp.ServerError)) {
		l.proved.Store(true)
	}
}

// lossGrace is how long the end of a link may take to be noticed by its reader
// when a writer has met it.
const lossGrace = time.Second

// repeatable reports whether a request that failed on a link was certainly not
// carried out, for no fault of its own: the server had forgotten the session, or
// the link was down before the request left.
func repeatable(ctx context.Context, err error, l *link) bool {
	switch {
	case errors.Is(err, mcp.ErrGone):
		return true
	case !errors.Is(err, transport.ErrNotSent):
		return false
	case errors.Is(err, transport.ErrClosed):
		return l.client.Err() != nil
	case !errors.As(err, new(*transport.LostError)):
		return false
	case !l.client.Binding().Shared:
		return l.client.Err() != nil // else only the exchange is lost
	}
	timer := time.NewTimer(lossGrace)
	defer timer.Stop()
	select {
	case <-l.client.Done():
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
