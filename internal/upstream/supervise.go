package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// stableAfter is how long a link must last to count as a start that went well,
// even if nobody asked anything of it.
const stableAfter = 10 * time.Second

// A history is what the supervisor remembers of the links before.
type history struct {
	failures int   // starts and links that failed in a row
	renewed  bool  // a session that had proved nothing was renewed without a pause
	before   *link // the last one
}

// supervise is the life of a session: wait until it is wanted, open a link,
// watch over it, and decide what follows when it is lost. It is the only one who
// opens links, so starts are single-flight, and the start belongs to the server,
// not to the caller who asked first.
func (s *Session) supervise() {
	defer s.wg.Done()
	var h history
	for s.awaitTurn(&h) {
		l, err := s.start()
		if err != nil {
			s.startFailed(err, &h)
			continue
		}
		s.attend(l)
		select {
		case <-l.client.Done():
			s.lost(l, &h)
		case <-s.ctx.Done():
			return
		}
	}
}

// awaitTurn waits until a link is to be opened, as the state asks for. It reports
// false where the session has ended.
func (s *Session) awaitTurn(h *history) bool {
	switch st := s.Status(); st.State {
	case Closed:
		return false
	case Ready: // its link is gone, and is renewed at once
		return true
	case BackingOff:
		timer := time.NewTimer(time.Until(st.Retry))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			return false
		}
	default:
		select {
		case <-s.demand:
		case <-s.ctx.Done():
			return false
		}
	}
	if h.before != nil {
		// Two processes of one server may be in each other's way.
		select {
		case <-h.before.closed:
		case <-s.ctx.Done():
			return false
		}
	}
	return true
}

// start opens a link.
func (s *Session) start() (*link, error) {
	s.mu.Lock()
	if s.status.State == Closed {
		s.mu.Unlock()
		return nil, transport.ErrClosed
	}
	select {
	case <-s.demand: // this start is what was wished for, by however many
	default:
	}
	s.starts++
	s.status.Retry = time.Time{}
	s.setLocked(Starting, "")
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(s.ctx, s.u.o.StartTimeout)
	defer cancel()
	client, err := s.u.open(ctx, s)
	if err != nil {
		if ctx.Err() != nil && s.ctx.Err() == nil {
			err = fmt.Errorf("not ready within start_timeout (%v)", s.u.o.StartTimeout)
		}
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := newLink(client, s.starts)
	if s.status.State == Closed {
		s.retireLocked(l, true)
		return nil, transport.ErrClosed
	}
	s.link = l
	s.err = nil
	s.generation++
	if s.generation > 1 {
		s.status.Restarts++
	}
	s.startIdleLocked()
	s.setLocked(Ready, "")
	return l, nil
}

// startFailed deals with a start that failed.
func (s *Session) startFailed(err error, h *history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.State == Closed {
		return
	}
	s.failed = s.starts
	s.setbackLocked(err, h)
}

// lost deals with a link that takes no more requests.
func (s *Session) lost(l *link, h *history) {
	err := l.client.Err()
	gone := errors.Is(err, mcp.ErrGone)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.State == Closed {
		return // who closes the session closes the link
	}
	s.retireLocked(l, !gone)
	h.before = l
	s.missed = s.missed || s.watchers > 0
	if l.proved.Load() || time.Since(l.born) >= stableAfter {
		h.failures, h.renewed = 0, false
	}
	switch {
	case s.id != "" && s.spec.FailOnLoss:
		s.err = &SessionLostError{Err: err}
		s.setLocked(Closed, err.Error())
		s.hub.Close()
	case gone && !h.renewed:
		// Refused, not broken: the server is well, only the session is new. But
		// some refuse whatever they just began, over and over.
		h.renewed = true
		s.err = err
	default:
		s.setbackLocked(err, h)
	}
}

// setbackLocked decides how it goes on after a failure.
func (s *Session) setbackLocked(err error, h *history) {
	s.err = err
	h.failures++
	b := &s.u.o.Restart
	var refused *transport.RefusedError
	errors.As(err, &refused)
	switch {
	case refused != nil && (refused.Status == 401 || refused.Status == 403):
		h.failures = 0
		s.setLocked(Unauthorized, err.Error())
	case errors.As(err, new(*mcp.VersionError)), b.GiveUp > 0 && h.failures >= b.GiveUp:
		h.failures = 0 // after the cool-down everything begins anew
		s.status.Retry = time.Now().Add(b.CoolDown)
		s.setLocked(Failed, err.Error())
	default:
		pause := b.delay(h.failures)
		if refused != nil {
			pause = max(pause, min(refused.RetryAfter, b.CoolDown))
		}
		s.status.Retry = time.Now().Add(pause)
		s.setLocked(BackingOff, err.Error())
	}
}
