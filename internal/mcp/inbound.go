package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// maxAsks bounds the questions of one server that are open at once.
const maxAsks = 256

// asks holds the server's requests that are being answered.
type asks struct {
	mu sync.Mutex
	m  map[jsonrpc.ID]context.CancelCauseFunc
}

var errWithdrawn = errors.New("the server withdrew its request")

// call answers a request of the server, on a goroutine of its own because the
// answer may have to wait, and sending it does. A modern server has no business
// asking, and gets no answer (2026-07-28 §basic).
func (c *Client) call(m *jsonrpc.Call, p *pending) {
	if c.era().hangsUp() {
		c.refused("request of a server that must not send any dropped", m)
		return
	}
	if m.Method == methodPing {
		c.goSend("answer to ping", func(ctx context.Context) error {
			return c.respond(ctx, &jsonrpc.Response{ID: m.ID, Result: []byte("{}")})
		})
		return
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.asks.mu.Lock()
	_, twice := c.asks.m[m.ID]
	full := len(c.asks.m) >= maxAsks
	if !twice && !full {
		c.asks.m[m.ID] = cancel
	}
	c.asks.mu.Unlock()
	switch {
	case twice: // an answer would be taken for the first one's
		cancel(nil)
		c.refused("second request of the server with the same id dropped", m)
		return
	case full:
		cancel(nil)
		c.refused("request of the server over the limit refused", m)
		c.goSend("refusal", func(ctx context.Context) error {
			return c.respond(ctx, &jsonrpc.Response{ID: m.ID, Error: errTooManyAsks})
		})
		return
	}
	var tag any
	if p != nil {
		tag = p.req.Tag
	} else if c.binding.Shared {
		if sole := c.table.sole(); sole != nil {
			tag = sole.Tag
		}
	}
	if !c.side.start(func() { c.answerCall(ctx, m, tag); cancel(nil) }) {
		cancel(nil)
	}
}

var errTooManyAsks = &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "too many open requests"}

func (c *Client) answerCall(ctx context.Context, m *jsonrpc.Call, tag any) {
	r := &jsonrpc.Response{ID: m.ID}
	if c.o.Handler == nil {
		r.Error = &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "Method not found"}
	} else {
		r.Result, r.Error = c.o.Handler.Ask(ctx, m, tag)
	}
	c.asks.mu.Lock()
	delete(c.asks.m, m.ID)
	c.asks.mu.Unlock()
	if ctx.Err() != nil {
		return // withdrawn: no answer is wanted
	}
	err := c.respond(ctx, r)
	if errors.As(err, new(*transport.TooLargeError)) {
		// The server waits for something, if it be a no.
		r = &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.InternalError, Message: err.Error()}}
		err = c.respond(ctx, r)
	}
	if err != nil && ctx.Err() == nil {
		c.o.Log.Warn("answer to the server not delivered", "method", m.Method, "err", err)
	}
}

// refused counts a request that is not answered as it should be, and tells of the
// first: a server can send any number.
func (c *Client) refused(what string, m *jsonrpc.Call) {
	level := slog.LevelDebug
	if c.o.Stats.Refused.Add(1) == 1 {
		level = slog.LevelWarn
	}
	c.o.Log.Log(c.ctx, level, what, "method", begin([]byte(m.Method)))
}

func (c *Client) respond(ctx context.Context, r *jsonrpc.Response) error {
	e := c.era()
	if _, opening := e.(handshakeEra); opening {
		e = &legacyEra{} // within the session that is being opened
	}
	if e.hangsUp() {
		return nil // it has turned out to be modern
	}
	f := e.label(&Request{})
	f.Body = jsonrpc.Append(nil, r)
	return c.conn.Send(ctx, f, nil)
}

// serverCancelled stops the answering of a request that the server takes back.
func (c *Client) serverCancelled(params []byte) {
	var v struct {
		ID jsontext.Value `json:"requestId"`
	}
	if json.Unmarshal(params, &v, jsontext.AllowDuplicateNames(true)) != nil || len(v.ID) == 0 {
		return
	}
	id := jsonrpc.RawID(v.ID)
	c.asks.mu.Lock()
	cancel := c.asks.m[id]
	c.asks.mu.Unlock()
	if cancel != nil {
		cancel(errWithdrawn)
		return
	}
	// A modern server may end a subscription so (spec issue 3348: three ways).
	if n, ok := id.Int(); ok {
		if r := c.table.get(n); r != nil && r.Method == methodListen {
			if q, _ := c.table.take(n); q != nil {
				m := &jsonrpc.Response{ID: id, Result: []byte("{}")}
				q.end(reply{parsed: m, frame: jsonrpc.Append(nil, m)})
			}
		}
	}
}
