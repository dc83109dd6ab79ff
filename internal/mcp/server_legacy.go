package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A LegacySender can also be told that its call has opened a session. Only over
// such a sender can one be opened.
type LegacySender interface {
	Sender
	// Emit comes before the answer to initialize is sent.
	Emit(SessionInitialized) error
}

// SessionInitialized tells a transport the id that its client's later messages
// belong to.
type SessionInitialized struct{ ID string }

// A ContextState says whether a message may go on.
type ContextState uint8

// The states of a ContextResult.
const (
	Valid ContextState = iota
	SessionUnknown
	SessionRequired
	VersionUnsupported
)

// A ContextResult is what the server makes of the session id and the revision
// that came beside a message. A transport puts it in the context of every
// message, valid or not: where it is not, HandleCall answers with Err.
type ContextResult struct {
	State     ContextState
	SessionID string         // the session that the message belongs to; empty: none
	Batches   bool           // a body may be an array of messages
	Primes    bool           // the client understands an event without data
	Err       *jsonrpc.Error // for the transport to answer what is no call

	session *serverSession
}

type serverContextKey struct{}

// Attach gives a context for the message.
func (r ContextResult) Attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, serverContextKey{}, r)
}

func contextOf(ctx context.Context) ContextResult {
	r, ok := ctx.Value(serverContextKey{}).(ContextResult)
	if !ok {
		return sessionRequired()
	}
	return r
}

func sessionOf(ctx context.Context) *serverSession { return contextOf(ctx).session }

func sessionScope(ctx context.Context) *serverScope {
	if ss := sessionOf(ctx); ss != nil {
		return ss.scope
	}
	return nil
}

func sessionRequired() ContextResult {
	return ContextResult{State: SessionRequired, Err: errorf(serverBusy, "a session is required: call initialize first")}
}

// CreateContext judges the session id and the revision that a transport found
// beside a message; both may be empty. Messages of revisions without sessions
// are valid without one.
func (s *Server) CreateContext(sessionID, version string) ContextResult {
	switch {
	case slices.Contains(s.modern, version):
		return ContextResult{State: Valid}
	case version != "" && !slices.Contains(s.legacy, version):
		return ContextResult{State: VersionUnsupported, Err: s.unsupported(version)}
	case sessionID == "":
		return sessionRequired()
	}
	ss := s.sessions.get(sessionID)
	if ss == nil {
		return ContextResult{State: SessionUnknown, Err: errorf(-32001, "session not found")}
	}
	if version != "" && version != ss.version {
		return ContextResult{State: VersionUnsupported, Err: s.unsupported(version)}
	}
	ss.touch()
	return ContextResult{
		State: Valid, SessionID: sessionID, session: ss,
		Batches: ss.version == Version20250326, // 2025-03-26 §basic, Batching; gone in the next revision
		Primes:  ss.version >= Version20251125, // 2025-11-25 §transports, Resumability
	}
}

// HandleResponse delivers the client's answer to a question of the server.
// Nothing is sent.
func (s *Server) HandleResponse(ctx context.Context, r jsonrpc.Response) {
	if ss := sessionOf(ctx); ss != nil {
		ss.answer(&r)
	}
}

// Terminate ends a session with all that runs in it.
func (s *Server) Terminate(sessionID string) { s.sessions.end(sessionID) }

// HandleListen lends a session a sender for what belongs to no call. It blocks
// until ctx or the session ends or the sender fails, and says why. A session may
// have several; each message goes to one of them. What comes while there is none
// is kept, up to a bound.
func (s *Server) HandleListen(ctx context.Context, out Sender) error {
	ss := sessionOf(ctx)
	if ss == nil {
		return errors.New("no session to listen to")
	}
	ss.listening(1)
	defer ss.listening(-1)
	return ss.news.drain(ctx, ss.ended, func(n serverNews) error { return out.Send(n.notification("")) })
}

func (s *Server) initialized(ctx context.Context) {
	if ss := sessionOf(ctx); ss != nil {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.ready = true
	}
}

// eraOf finds out which era a call belongs to: it says so itself.
func (s *Server) eraOf(ctx context.Context, c *jsonrpc.Call, in *serverParams) (serverEra, *jsonrpc.Error) {
	l, _ := labelsOf(ctx)
	opens := c.Method == "initialize" && !in.hasVersion
	switch {
	case opens && len(s.legacy) == 0:
		return nil, s.unsupported(strings.Trim(string(in.Wanted), `"`))
	case opens:
	case len(s.legacy) == 0, len(s.modern) > 0 && (in.hasVersion || slices.Contains(s.modern, l.Version)):
		return s.modernCall(ctx, c, in)
	}
	r := contextOf(ctx)
	if opens || c.Method == "ping" && r.State == SessionRequired {
		return &legacyServerEra{s: s, session: r.session}, nil
	}
	if r.session == nil {
		if r.Err == nil { // the transport saw a revision without sessions, the body says otherwise
			r = sessionRequired()
		}
		return nil, r.Err
	}
	return &legacyServerEra{s: s, session: r.session}, nil
}
