package upstream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// A Session is a caller's, or all callers', standing with one server. Its
// methods may be called from many goroutines.
type Session struct {
	u    *Upstream
	id   string // empty: the shared one
	spec Spec
	hub  *fanout.Hub
	log  *slog.Logger

	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // the supervisor and what it has started

	ended chan struct{} // closed when nothing of the session is left

	mu         sync.Mutex
	status     Status
	running    bool // the supervisor
	ending     bool // somebody is closing the session
	link       *link
	generation int
	starts     int           // begun
	failed     int           // the number of the last start that failed
	err        error         // why
	changed    chan struct{} // closed at every change of the above
	demand     chan struct{} // capacity 1: somebody wants the server
	roots      []byte
	uses       int // requests and streams under way
	idle       *time.Timer
	idleSince  time.Time
	watchers   int
	watching   chan struct{} // closed at every change of watchers
	missed     bool          // changes may have been missed while somebody watched
	stale      map[string]pages
}

func (u *Upstream) newSession(id string, spec Spec) *Session {
	s := &Session{
		u: u, id: id, spec: spec, roots: spec.Roots,
		hub:     fanout.NewHub(fanout.HubOptions{ReplayEvents: u.o.ReplayEvents}),
		log:     u.o.Log,
		status:  Status{Since: time.Now()},
		changed: make(chan struct{}), demand: make(chan struct{}, 1), watching: make(chan struct{}),
		ended: make(chan struct{}), stale: map[string]pages{},
	}
	if id != "" {
		s.log = s.log.With("session", Shorten(id))
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// ID is the session's id, empty for the shared session.
func (s *Session) ID() string { return s.id }

// Upstream is the server that the session is with.
func (s *Session) Upstream() *Upstream { return s.u }

// Principal is who opened the session; empty for the shared one.
func (s *Session) Principal() string { return s.spec.Principal }

// Hub carries the session's events. Their values are of type *Event.
func (s *Session) Hub() *fanout.Hub { return s.hub }

// Status tells where the session stands.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Generation counts how often the server's end of the session was opened.
func (s *Session) Generation() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}

// Info is what the server said of itself when the session was last opened; nil
// before.
func (s *Session) Info() *mcp.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil
	}
	return s.link.client.Info()
}

// setLocked changes the state, tells watchers, and wakes who waits.
func (s *Session) setLocked(to State, reason string) {
	s.status.State, s.status.Reason, s.status.Since = to, reason, time.Now()
	close(s.changed)
	s.changed = make(chan struct{})
	attrs := []any{"server", s.u.o.Name, "state", to.String()}
	if reason != "" {
		attrs = append(attrs, "reason", reason)
	}
	s.log.Info("server state", attrs...)
	s.publishState()
}
