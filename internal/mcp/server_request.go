package mcp

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A ServerRequest is what a handler knows of its call, and its way to talk to
// the client while it works. Its methods may be called from any goroutine; after
// the handler has returned, or after the client has cancelled, they do nothing.
type ServerRequest struct {
	Method    string
	Name      string            // of the tool or prompt; the URI of a resource
	Arguments []byte            // of a tool: a JSON object as it came; nil: none
	Vars      map[string]string // of a prompt: its arguments; of a template: what its expressions stand for
	Params    []byte            // all of the params

	call *serverCall
	ttl  time.Duration

	mu       sync.Mutex
	told     bool // a progress notification went out
	progress float64
}

// Version is the protocol revision of the call.
func (r *ServerRequest) Version() string { return r.call.era.version() }

// Progress tells how far the work is, if the client wants to know. Values must
// grow; others are dropped. total 0: unknown.
func (r *ServerRequest) Progress(progress, total float64, message string) {
	if r.call.in.token == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told && progress <= r.progress {
		return
	}
	r.told, r.progress = true, progress
	p := append([]byte(`{"progressToken":`), r.call.in.token...)
	p = strconv.AppendFloat(append(p, `,"progress":`...), progress, 'f', -1, 64)
	if total > 0 {
		p = strconv.AppendFloat(append(p, `,"total":`...), total, 'f', -1, 64)
	}
	if message != "" && r.Version() >= Version20250326 { // the member is newer than the notification
		p = jsonrpc.AppendString(append(p, `,"message":`...), message)
	}
	r.say("notifications/progress", append(p, '}'))
}

// Log sends a log message, if the client wants that level. data is JSON.
func (r *ServerRequest) Log(level, logger string, data []byte) {
	if l := parseServerLevel(level); r.call.era.wantsLog(l) {
		r.say("notifications/message", serverLogParams(l, logger, data))
	}
}

func serverLogParams(l serverLevel, logger string, data []byte) []byte {
	p := append(append([]byte(`{"level":"`), serverLevels[l]...), '"')
	if logger != "" {
		p = jsonrpc.AppendString(append(p, `,"logger":`...), logger)
	}
	return append(append(append(p, `,"data":`...), data...), '}')
}

// Ask puts questions to the client's user or model: elicitation/create,
// sampling/createMessage, roots/list. The answers are the result objects, in the
// order of the questions.
//
// In the older era they travel at once and Ask waits. In 2026-07-28 the call
// ends with the questions and begins anew with the answers: Ask fails with
// ErrInputRequired, which the handler must return, and the handler runs again
// from its beginning. So what it does before it asks must be safe to repeat, and
// Key must name the same question every time.
func (r *ServerRequest) Ask(ctx context.Context, questions ...ServerQuestion) ([][]byte, error) {
	return r.call.era.ask(ctx, r.call, questions)
}

// Changed tells clients that a list is another one now.
func (r *ServerRequest) Changed(l ServerList) { r.call.server.Changed(l) }

// Updated tells clients that subscribed to it that a resource has changed.
func (r *ServerRequest) Updated(uri string) { r.call.server.Updated(uri) }

func (r *ServerRequest) say(method string, params []byte) {
	if err := r.call.say(&jsonrpc.Notification{Method: method, Params: params}); err != nil {
		r.call.server.log.Debug("notification not delivered", "method", method, "err", err)
	}
}

// NotFound is the error for a resource that a template stands for but that does
// not exist.
func (r *ServerRequest) NotFound() error { return r.call.era.notFound(r.Name) }
