package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// How long a verdict about the era is believed. A stale modern one fails loudly
// and is dropped then; a stale legacy one would work silently after the server
// was upgraded, so it expires.
const (
	legacyVerdict      = time.Hour
	provisionalVerdict = time.Minute
)

// A verdict is what the last links to a server have shown.
type verdict struct {
	mu      sync.Mutex
	hint    mcp.Hint
	dialer  int
	expires time.Time
}

func (v *verdict) get() (mcp.Hint, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hint.Era == mcp.EraLegacy && time.Now().After(v.expires) {
		v.hint = mcp.Hint{}
	}
	return v.hint, v.dialer
}

// set notes what a link that was opened has shown. Nothing new is learnt of the
// era where it was taken for granted: then learnt is false.
func (v *verdict) set(h mcp.Hint, learnt bool, dialer int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dialer = dialer
	if !learnt {
		return
	}
	life := legacyVerdict
	if h.Provisional {
		life = provisionalVerdict
	}
	v.hint, v.expires = h, time.Now().Add(life)
}

func (v *verdict) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hint = mcp.Hint{}
}

// open makes a link for a session: it dials, and opens the session in the era
// that the server speaks. Where the server refuses one binding, the next is
// tried.
func (u *Upstream) open(ctx context.Context, s *Session) (*mcp.Client, error) {
	_, first := u.verdict.get()
	var refusal error
	for i := range u.o.Dialers {
		at := (first + i) % len(u.o.Dialers)
		client, err := u.openOn(ctx, s, at)
		if err == nil || !refusesBinding(err) {
			return client, err
		}
		if refusal == nil {
			refusal = err
		}
	}
	return nil, refusal
}

// openOn tries one binding. A server whose process died of the probe is started
// again, and one that fails in the era that it was known for is asked once more
// for its era.
func (u *Upstream) openOn(ctx context.Context, s *Session, at int) (*mcp.Client, error) {
	hint, _ := u.verdict.get()
	remembered := hint.Era == mcp.EraLegacy
	for {
		client, err := u.openAs(ctx, s, at, hint)
		switch {
		case err == nil:
			// Who wants at most an older revision learns nothing of the era.
			u.verdict.set(client.Info().Verdict, !remembered && s.spec.MaxVersion == "", at)
			return client, nil
		case remembered && contradicts(ctx, err):
			u.verdict.forget()
			hint, remembered = mcp.Hint{}, false
		case errors.As(err, new(*mcp.ProbeCrashError)) && hint.Era != mcp.EraLegacy:
			hint = mcp.Hint{Era: mcp.EraLegacy}
		default:
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

// openAs makes one link.
func (u *Upstream) openAs(ctx context.Context, s *Session, at int, hint mcp.Hint) (*mcp.Client, error) {
	conn, err := u.o.Dialers[at].Dial(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	return mcp.Open(ctx, conn, s.clientOptions(hint))
}

// A dialError tells what failed before anything could be said.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// contradicts reports whether the failure of a handshake in the old era may mean
// that the server has left it: it refused, did not understand, went away or kept
// silent. A failure to reach it, and one of authorization or load, means nothing.
func contradicts(ctx context.Context, err error) bool {
	if errors.As(err, new(*dialError)) {
		return false
	}
	for _, evidence := range []any{
		new(*mcp.ServerError), new(*mcp.VersionError), new(*mcp.WrongBindingError),
		new(*mcp.ProtocolError), new(*transport.NoReplyError), new(*transport.LostError),
	} {
		if errors.As(err, evidence) {
			return true
		}
	}
	return ctx.Err() != nil
}

// refusesBinding reports whether a server said: not on this binding.
func refusesBinding(err error) bool {
	if errors.As(err, new(*mcp.WrongBindingError)) {
		return true
	}
	var refused *transport.RefusedError
	if !errors.As(err, new(*dialError)) || !errors.As(err, &refused) || refused.Location != "" {
		return false
	}
	switch refused.Status {
	case 400, 404, 405, 406:
		return true
	}
	return false
}
