package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

var errIdle = errors.New("the session was idle for too long")

// begin and finish keep the session from ending as idle.
func (s *Session) begin() {
	if s.id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	if s.idle != nil {
		s.idle.Stop()
	}
}

func (s *Session) finish() {
	if s.id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	s.idleSince = time.Now()
	if s.uses == 0 && s.idle != nil && !s.ending {
		s.idle.Reset(s.u.o.SessionIdle)
	}
}

// Hold keeps a private session from ending as idle until release is called: for
// streams.
func (s *Session) Hold() (release func()) {
	s.begin()
	return sync.OnceFunc(s.finish)
}

// startIdleLocked lets the time of a private session that is open run.
func (s *Session) startIdleLocked() {
	if s.id == "" || s.idle != nil || s.u.o.SessionIdle <= 0 {
		return
	}
	s.idleSince = time.Now()
	s.idle = time.AfterFunc(s.u.o.SessionIdle, s.endIdle)
	if s.uses > 0 {
		s.idle.Stop()
	}
}

// endIdle ends a private session that nobody has used for long.
func (s *Session) endIdle() {
	s.mu.Lock()
	// Where the timer has fired, stopping it comes too late.
	used := s.uses > 0 || time.Since(s.idleSince) < s.u.o.SessionIdle
	ours := !used && s.endLocked(errIdle)
	s.mu.Unlock()
	if !ours {
		return
	}
	if s.u.forget(s) {
		defer s.u.winding.Done()
	}
	s.log.Info("session ended: idle", "server", s.u.o.Name)
	s.wind(context.Background())
}

// Lost tells why a session ended that its caller did not want renewed: a
// *SessionLostError, or nil.
func (s *Session) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost *SessionLostError
	if errors.As(s.err, &lost) {
		return lost
	}
	return nil
}

// Close ends the session: requests in flight end with transport.ErrClosed, its
// process or HTTP session is gone when Close returns. ctx bounds the gentle part.
func (s *Session) Close(ctx context.Context) {
	s.mu.Lock()
	ours := s.endLocked(transport.ErrClosed)
	s.mu.Unlock()
	if ours {
		s.wind(ctx)
	}
	<-s.ended
}

// endLocked lets the session take nothing more. It reports whether the caller is
// the one who winds it up.
func (s *Session) endLocked(why error) bool {
	if s.ending {
		return false
	}
	s.ending = true
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.status.State != Closed { // not lost before
		s.err = why
		s.setLocked(Closed, why.Error())
	}
	return true
}

// wind closes all that a session has. No link is added any more.
func (s *Session) wind(ctx context.Context) {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	// Older links, which may be ending, have no more time than this one.
	defer context.AfterFunc(ctx, func() { s.cancel(transport.ErrClosed) })()
	if l != nil {
		_ = l.client.Close(ctx)
	}
	s.cancel(transport.ErrClosed)
	s.wg.Wait()
	s.hub.Close()
	close(s.ended)
}
