package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// acquire waits for the session's link and takes it into use; the caller must
// release it. It starts the server where that is not running. A start that fails
// while somebody waits for it is his answer at once; so is the first one after
// lost, the link that he has just met the end of, if any.
func (s *Session) acquire(ctx context.Context, lost *link) (*link, error) {
	waitFor := 0 // the start whose failure would be our answer
	if lost != nil {
		waitFor = lost.start + 1
	}
	for {
		s.mu.Lock()
		if s.liveLocked() {
			l := s.link
			l.use(ctx)
			s.mu.Unlock()
			return l, nil
		}
		if err := s.refusalLocked(ctx, waitFor); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		if waitFor == 0 {
			waitFor = s.starts
			if s.status.State != Starting {
				waitFor++
			}
		}
		s.wantLocked()
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, mcp.Interrupted(mcp.PhaseStart, context.Cause(ctx))
		}
	}
}

// liveLocked reports whether the session takes requests.
func (s *Session) liveLocked() bool {
	return s.status.State == Ready && s.link.client.Err() == nil
}

// refusalLocked tells why it is no use waiting; nil: it is.
func (s *Session) refusalLocked(ctx context.Context, waitFor int) error {
	switch {
	case s.status.State == Closed:
		return s.closedLocked()
	case waitFor > 0 && s.failed >= waitFor:
		return s.notReadyLocked()
	case s.status.State == Failed && time.Now().Before(s.status.Retry):
		return s.notReadyLocked()
	case s.status.State == BackingOff:
		if end, ok := ctx.Deadline(); ok && end.Before(s.status.Retry) {
			return s.notReadyLocked()
		}
	}
	return nil
}

// Want starts the server where that is not running, and does not wait.
func (s *Session) Want() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wantLocked()
}

// wantLocked tells the supervisor that the server is wanted, where it waits for
// that, and begins it with the first wish.
func (s *Session) wantLocked() {
	switch s.status.State {
	case Idle, Unauthorized:
	case Failed:
		if time.Now().Before(s.status.Retry) {
			return
		}
	default:
		return
	}
	select {
	case s.demand <- struct{}{}:
	default:
	}
	if !s.running {
		s.running = true
		s.wg.Add(1)
		go s.supervise()
	}
}

// readyWithin waits until the session takes requests, but not longer than d, and
// not where waiting is no use.
func (s *Session) readyWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	l, err := s.acquire(ctx, nil)
	if err != nil {
		return false
	}
	l.release()
	return true
}

// notReadyLocked is the error for who can't wait for the server.
func (s *Session) notReadyLocked() error {
	var retry time.Duration
	if !s.status.Retry.IsZero() {
		retry = max(time.Until(s.status.Retry), 0)
	}
	return transport.NotSent(&NotReadyError{Server: s.u.o.Name, State: s.status.State, Err: s.err, RetryAfter: retry})
}

// closedLocked is the error for who comes too late.
func (s *Session) closedLocked() error {
	var lost *SessionLostError
	switch {
	case errors.As(s.err, &lost):
		return transport.NotSent(lost)
	case s.err == errIdle:
		return transport.NotSent(ErrUnknownSession)
	}
	return transport.NotSent(transport.ErrClosed)
}
