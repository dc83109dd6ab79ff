package upstream

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// An Upstream is one configured server at run time.
type Upstream struct {
	o        Options
	verdict  verdict
	shared   *Session
	inFlight atomic.Int64
	winding  sync.WaitGroup // sessions that are being closed, lists that are being written
	closing  chan struct{}

	mu       sync.Mutex
	sessions map[string]*Session
	saving   bool
	closed   bool
}

// New makes an Upstream. Nothing is started.
func New(o Options) *Upstream {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lists == nil {
		o.Lists = NewLists("")
	}
	if o.Stats == nil {
		o.Stats = &mcp.Stats{}
	}
	u := &Upstream{o: o, sessions: map[string]*Session{}, closing: make(chan struct{})}
	u.shared = u.newSession("", Spec{Capabilities: o.Capabilities, Roots: o.Roots})
	return u
}

// Name is the server's configured name.
func (u *Upstream) Name() string { return u.o.Name }

// Options are those that the Upstream was made with.
func (u *Upstream) Options() *Options { return &u.o }

// Shared is the session that callers share.
func (u *Upstream) Shared() *Session { return u.shared }

// InFlight is the number of requests under way.
func (u *Upstream) InFlight() int { return int(u.inFlight.Load()) }

// Sessions is the number of sessions whose server's end is open or wanted, the
// shared one included.
func (u *Upstream) Sessions() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.sessions)
	if u.shared.Status().State != Idle {
		n++
	}
	return n
}

// admit takes a slot for a request.
func (u *Upstream) admit() error {
	for {
		n := u.inFlight.Load()
		if limit := u.o.MaxInFlight; limit > 0 && n >= int64(limit) {
			return transport.NotSent(&OverloadedError{What: "max_in_flight", Limit: limit})
		}
		if u.inFlight.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (u *Upstream) leave() { u.inFlight.Add(-1) }

// openSession opens a private session under id and waits until it is ready. It
// is not there where that fails.
func (u *Upstream) openSession(ctx context.Context, id string, spec Spec) (*Session, error) {
	u.mu.Lock()
	switch {
	case u.closed:
		u.mu.Unlock()
		return nil, transport.NotSent(ErrClosing)
	case u.o.MaxSessions > 0 && len(u.sessions) >= u.o.MaxSessions:
		u.mu.Unlock()
		return nil, transport.NotSent(&OverloadedError{What: "max_sessions", Limit: u.o.MaxSessions})
	}
	s := u.newSession(id, spec)
	u.sessions[id] = s
	u.mu.Unlock()
	l, err := s.acquire(ctx, nil)
	if err == nil {
		l.release()
		return s, nil
	}
	if u.forget(s) {
		// Its caller gets the answer now; the process is ended meanwhile.
		go func() {
			defer u.winding.Done()
			s.Close(context.Background())
		}()
	}
	return nil, err
}

// closeSession ends a private session.
func (u *Upstream) closeSession(ctx context.Context, s *Session) {
	if u.forget(s) {
		defer u.winding.Done()
	}
	s.Close(ctx)
}

// forget takes a private session out of the table. Who gets true must call
// winding.Done when it is closed, because Close no longer sees it.
func (u *Upstream) forget(s *Session) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sessions[s.id] != s {
		return false
	}
	delete(u.sessions, s.id)
	u.winding.Add(1)
	return true
}

func (u *Upstream) session(id string) (*Session, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, ok := u.sessions[id]
	return s, ok
}

// saveAfter lets pages gather before they are written: they come in rows.
const saveAfter = time.Second

// saveLists writes the lists in a moment, unless that is going to happen anyway.
func (u *Upstream) saveLists() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.saving {
		return
	}
	u.saving = true
	u.winding.Add(1)
	go func() {
		defer u.winding.Done()
		timer := time.NewTimer(saveAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-u.closing:
			return // Close writes
		}
		u.mu.Lock()
		u.saving = false
		u.mu.Unlock()
		u.writeLists()
	}()
}

func (u *Upstream) writeLists() {
	if err := u.o.Lists.Save(); err != nil {
		u.o.Log.Warn("the lists can't be kept", "server", u.o.Name, "err", err)
	}
}

// Close ends all sessions. When it returns, nothing of the server is left. ctx
// bounds the gentle part.
func (u *Upstream) Close(ctx context.Context) {
	u.mu.Lock()
	if !u.closed {
		u.closed = true
		close(u.closing)
	}
	all := []*Session{u.shared}
	for _, s := range u.sessions {
		all = append(all, s)
	}
	u.sessions = map[string]*Session{}
	u.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { s.Close(ctx) })
	}
	wg.Wait()
	u.winding.Wait()
	u.writeLists()
}
