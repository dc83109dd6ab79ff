package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A serverMethod is one row of an era's method table.
type serverMethod struct {
	offered func(*registry) bool
	run     func(context.Context, *serverCall) ([]byte, error)
	dress   serverDress // what the era adds to the result
	slow    bool        // runs on a goroutine of its own, and can be cancelled
	listens bool        // lasts until one side ends it
}

// serverEra is what differs between the eras in the life of one call.
type serverEra interface {
	version() string
	method(name string) (serverMethod, bool)
	// scope is where ids of calls are known, so that they can be cancelled; nil:
	// hanging up is the only way.
	scope() *serverScope
	// wantsLog tells whether a log message of that level goes to the client.
	wantsLog(level serverLevel) bool
	// dress completes a result.
	dress(c *serverCall, d serverDress, result []byte) ([]byte, error)
	notFound(uri string) *jsonrpc.Error
	missingCapability(*ServerCapabilityError) *jsonrpc.Error
	ask(ctx context.Context, c *serverCall, questions []ServerQuestion) ([][]byte, error)
}

// A serverCall is one call in the server: from HandleCall to its answer, or to
// the moment the client gives it up. After either nothing more is sent for it.
type serverCall struct {
	server  *Server
	rpc     jsonrpc.Call
	in      *serverParams
	era     serverEra
	request *ServerRequest
	ctx     context.Context // the handler's; the call's own life, as in net/http
	cancel  context.CancelCauseFunc
	method  serverMethod

	out  Sender
	send sync.Mutex  // one message at a time, the answer last
	over atomic.Bool // answered or given up

	asking serverAsking
}

func newServerCall(s *Server, ctx context.Context, rpc jsonrpc.Call, in *serverParams, era serverEra, out Sender) *serverCall {
	c := &serverCall{server: s, rpc: rpc, in: in, era: era, ctx: ctx, out: out}
	c.request = &ServerRequest{call: c, Method: rpc.Method, Params: rpc.Params}
	c.method, _ = era.method(rpc.Method)
	return c
}

// say sends a notification or a question on the call's way, unless it is over.
func (c *serverCall) say(m jsonrpc.Message) error {
	c.send.Lock()
	defer c.send.Unlock()
	if c.over.Load() {
		return errCallOver
	}
	return c.out.Send(m)
}

// giveUp is the client's cancellation: nothing more is sent. It never waits.
func (c *serverCall) giveUp() {
	c.over.Store(true)
	c.cancel(errClientCancels)
}

// finish answers.
func (c *serverCall) finish(result []byte, err error) {
	if c.over.Load() {
		return
	}
	r := &jsonrpc.Response{ID: c.rpc.ID}
	if errors.Is(err, ErrInputRequired) {
		r.Result, err = c.server.inputRequired(c)
	} else if err == nil {
		r.Result, err = c.era.dress(c, c.method.dress, result)
	}
	if err != nil {
		r.Result, r.Error = nil, c.server.wireError(c, err)
	}
	c.send.Lock()
	defer c.send.Unlock()
	if c.over.Swap(true) {
		return
	}
	if err := c.out.Send(r); err != nil {
		c.server.log.Debug("answer not delivered", "method", c.rpc.Method, "id", c.rpc.ID.String(), "err", err)
	}
}

// start runs a handler on a goroutine that Close waits for.
func (s *Server) start(c *serverCall, m serverMethod) *jsonrpc.Error {
	c.ctx, c.cancel = context.WithCancelCause(c.ctx)
	if rpcErr := s.admit(c); rpcErr != nil {
		c.cancel(nil)
		return rpcErr
	}
	go func() {
		defer s.leave(c)
		c.finish(c.guarded(m))
	}()
	return nil
}

// admit gives the call a place among those at work.
func (s *Server) admit(c *serverCall) *jsonrpc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errorf(jsonrpc.InternalError, "%v", errServerClosed)
	case c.method.listens && s.open >= s.opts.MaxListens, !c.method.listens && s.running-s.open >= s.opts.MaxCalls:
		return errorf(serverBusy, "too many requests at once")
	}
	if sc := c.era.scope(); sc != nil && !sc.add(c) {
		return errorf(jsonrpc.InvalidRequest, "a request with this id is in flight")
	}
	s.running++
	if c.method.listens {
		s.open++
	}
	s.calls[c] = struct{}{}
	return nil
}

func (s *Server) leave(c *serverCall) {
	if sc := c.era.scope(); sc != nil {
		sc.remove(c)
	}
	c.cancel(nil)
	s.mu.Lock()
	s.running--
	if c.method.listens {
		s.open--
	}
	delete(s.calls, c)
	s.drainedLocked()
	s.mu.Unlock()
}

// guarded turns a handler's panic into an error: one bad tool must not end the
// process that serves all the others.
func (c *serverCall) guarded(m serverMethod) (result []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return m.run(c.ctx, c)
}

// A serverScope knows the calls of one link or session by their ids.
type serverScope struct {
	mu    sync.Mutex
	calls map[jsonrpc.ID]*serverCall
}

func newServerScope() *serverScope { return &serverScope{calls: map[jsonrpc.ID]*serverCall{}} }

// add is false where the id is in use.
func (sc *serverScope) add(c *serverCall) bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if _, taken := sc.calls[c.rpc.ID]; taken {
		return false
	}
	sc.calls[c.rpc.ID] = c
	return true
}

func (sc *serverScope) remove(c *serverCall) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.calls[c.rpc.ID] == c {
		delete(sc.calls, c.rpc.ID)
	}
}

// take finds a call and frees its id: for the client, a cancelled call is over.
func (sc *serverScope) take(id jsonrpc.ID) *serverCall {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	c := sc.calls[id]
	delete(sc.calls, id)
	return c
}

func (sc *serverScope) len() int {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return len(sc.calls)
}

// cancelAll ends every call of a session that is over.
func (sc *serverScope) cancelAll(cause error) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, c := range sc.calls {
		c.cancel(cause)
	}
}
