package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A Sender takes what the server says for one call, or outside all calls, to the
// client. The exchange of a call ends at the message that is a response.
//
// Send may be called from any goroutine, before or after HandleCall has
// returned, but never by two goroutines at once for one call. It may wait while
// the client is slow; an error means that the client can't be reached any more.
// The message and its bytes are the sender's to read, not to change.
type Sender interface {
	Send(m jsonrpc.Message) error
}

// ServerOptions say what a server is and has. The lists are fixed for the
// server's life.
type ServerOptions struct {
	Name         string // required
	Title        string
	Version      string // required
	Instructions string

	Tools     []ServerTool
	Resources []ServerResource
	Templates []ServerTemplate
	Prompts   []ServerPrompt

	Versions []string      // the revisions offered; nil: all that we know
	PageSize int           // entries on a page of a list; 0: 100
	ListTTL  time.Duration // how long a client may keep a list (2026-07-28)

	MaxCalls    int           // handlers at work at once; 0: 1024
	MaxListens  int           // open subscriptions of 2026-07-28; 0: 1024
	MaxSessions int           // 0: 1024
	SessionIdle time.Duration // a session unused for so long may be forgotten; 0: 30m
	Questions   time.Duration // how long an input_required round may take; 0: 15m

	Logger *slog.Logger // nil: none
}

// A Server is the server half of MCP, in both eras. Its transports hand it what
// came in, with what the wire says beside it in the context; all that goes out
// goes through the Sender handed in. It returns no protocol output.
type Server struct {
	opts                         ServerOptions
	log                          *slog.Logger
	has                          registry
	info                         []byte   // Implementation, JSON
	legacy                       []string // revisions offered
	modern                       []string
	legacyMethods, modernMethods map[string]serverMethod
	sealer                       stateSealer
	closing                      chan struct{} // closed by Close

	mu      sync.Mutex
	closed  bool
	running int // handlers on goroutines
	open    int // of these, subscriptions
	calls   map[*serverCall]struct{}
	hub     serverHub
	drained chan struct{} // closed when closed and nothing runs

	sessions serverSessions
}

// NewServer makes a server. It fails where what is to be offered contradicts
// itself: two tools of one name, a schema that is no JSON.
func NewServer(o ServerOptions) (*Server, error) {
	if o.Name == "" || o.Version == "" {
		return nil, errors.New("a server needs a name and a version")
	}
	o.PageSize = cmp.Or(o.PageSize, 100)
	o.MaxCalls = cmp.Or(o.MaxCalls, 1024)
	o.MaxListens = cmp.Or(o.MaxListens, 1024)
	o.MaxSessions = cmp.Or(o.MaxSessions, 1024)
	o.SessionIdle = cmp.Or(o.SessionIdle, 30*time.Minute)
	o.Questions = cmp.Or(o.Questions, 15*time.Minute)
	s := &Server{opts: o, log: o.Logger, closing: make(chan struct{}), drained: make(chan struct{}), calls: map[*serverCall]struct{}{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, v := range o.Versions {
		if !KnownVersion(v) {
			return nil, fmt.Errorf("unknown protocol revision %q", v)
		}
	}
	offers := func(v string) bool { return o.Versions == nil || slices.Contains(o.Versions, v) }
	s.legacy = only(legacyVersions, offers)
	s.modern = only(modernVersions, offers)
	s.legacyMethods, s.modernMethods = legacyServerMethods(), modernServerMethods()
	var err error
	if s.info, err = serverJSON(serverImplementation{Name: o.Name, Title: o.Title, Version: o.Version}); err != nil {
		return nil, err
	}
	if s.has, err = newRegistry(&o); err != nil {
		return nil, err
	}
	if s.sealer, err = newStateSealer(); err != nil {
		return nil, err
	}
	s.hub.listens = map[*serverOutbox]serverFilter{}
	s.sessions.byID = map[string]*serverSession{}
	return s, nil
}

func only(in []string, keep func(string) bool) (out []string) {
	for _, v := range in {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// supported are all revisions offered, the newest first.
func (s *Server) supported() []string { return slices.Concat(s.modern, s.legacy) }

// HandleCall takes a call that came in. It may return before the answer is sent.
// It does not wait for handlers, so it may be called from a read loop.
//
// The end of ctx is the end of the call: nothing can be told to the client any
// more. Where hanging up is not meant to cancel, ctx must outlive the exchange.
func (s *Server) HandleCall(ctx context.Context, c jsonrpc.Call, out Sender) {
	in, rpcErr := readServerParams(c.Params)
	if rpcErr != nil {
		s.refuse(out, c.ID, rpcErr)
		return
	}
	era, rpcErr := s.eraOf(ctx, &c, in)
	if rpcErr != nil {
		s.refuse(out, c.ID, rpcErr)
		return
	}
	m, ok := era.method(c.Method)
	if !ok || !m.offered(&s.has) {
		s.refuse(out, c.ID, errorf(jsonrpc.MethodNotFound, "method not found: %s", shorten(c.Method)))
		return
	}
	call := newServerCall(s, ctx, c, in, era, out)
	if !m.slow {
		call.finish(m.run(ctx, call))
		return
	}
	if rpcErr := s.start(call, m); rpcErr != nil {
		s.refuse(out, c.ID, rpcErr)
	}
}

// HandleNotification takes a notification that came in. Unknown and untimely
// ones are ignored.
func (s *Server) HandleNotification(ctx context.Context, n jsonrpc.Notification) {
	switch n.Method {
	case "notifications/cancelled":
		s.cancelled(ctx, n.Params)
	case "notifications/initialized":
		s.initialized(ctx)
	}
}

// HandleUnreadable takes the place of the other entries for bytes that are no
// message: err is jsonrpc's, or says that they were too many. The answer has no
// id.
func (s *Server) HandleUnreadable(_ context.Context, err error, out Sender) {
	code := int64(jsonrpc.InvalidRequest)
	if errors.Is(err, jsonrpc.ErrInvalidJSON) {
		code = jsonrpc.ParseError
	}
	s.refuse(out, jsonrpc.ID{}, &jsonrpc.Error{Code: code, Message: shorten(err.Error())})
}

// Close cancels what is at work and waits until nothing of it is left. Open
// subscriptions end with their result first. ctx bounds the waiting.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
		s.drainedLocked()
	}
	for c := range s.calls {
		if !c.method.listens {
			c.cancel(errServerClosed)
		}
	}
	s.mu.Unlock()
	s.sessions.closeAll()
	select {
	case <-s.drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("server is still at work: %w", context.Cause(ctx))
	}
}

// drainedLocked tells Close when the last handler has gone.
func (s *Server) drainedLocked() {
	if !s.closed || s.running > 0 {
		return
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}
