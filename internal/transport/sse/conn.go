package sse

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// A Conn is a link to one server. It implements transport.Conn.
type Conn struct {
	client   *origin.Client
	limit    int64
	log      *slog.Logger
	stats    *transport.Stats
	post     http.Header // what all posts have in common; never changed
	endpoint *url.URL

	stream *origin.Exchange
	events *eventstream.Reader // Listen's

	// sinking is held for reading while the sink is called, so that Listen can
	// wait until nobody uses its sink any more.
	sinking sync.RWMutex
	sink    transport.Sink // nil: nobody listens

	mu   sync.Mutex
	lost error // the stream is gone
}

// Binding implements transport.Conn.
func (c *Conn) Binding() transport.Binding {
	u := *c.client.URL()
	u.RawQuery = "" // may be a secret
	return transport.Binding{Name: "sse", Peer: u.String(), Shared: true}
}

// Send implements transport.Conn. The frame has left when the server has
// answered with any success.
func (c *Conn) Send(ctx context.Context, f transport.Frame, _ transport.Sink) error {
	if n := int64(len(f.Body)); n > c.limit {
		return transport.NotSent(&transport.TooLargeError{Limit: c.limit, Size: n})
	}
	if err := c.down(); err != nil {
		return transport.NotSent(err)
	}
	x, err := c.client.Begin(ctx)
	if err != nil {
		return err
	}
	resp, err := x.Do(http.MethodPost, c.endpoint, c.headers(f.Labels), f.Body)
	if err == nil || !errors.Is(err, transport.ErrNotSent) {
		c.stats.Writes.Add(1)
		c.stats.FramesOut.Add(1)
		c.stats.BytesOut.Add(int64(len(f.Body)))
	}
	if err != nil {
		x.End()
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		refused := x.Refusal()
		x.Drain()
		return refused
	}
	if !f.Expects || resp.Body == http.NoBody || origin.Type(resp) == "text/event-stream" {
		x.Drain()
		return nil
	}
	return c.answered(ctx, x, resp)
}

// answered takes the body of a success. It should mean nothing, but some servers
// put the answer there instead of on the stream.
func (c *Conn) answered(ctx context.Context, x *origin.Exchange, resp *http.Response) error {
	body, err := x.ReadAll(c.limit)
	x.End()
	switch {
	case err == nil:
		if origin.MayBeJSON(body) {
			if err := c.deliver(transport.Inbound{Body: body}); err != nil {
				c.stream.Abort(err) // Listen ends with it, as it is Listen's sink
			}
		}
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !origin.IsJSON(origin.Type(resp)):
		return nil // whatever it was, the frame has left
	}
	if big, ok := errors.AsType[*transport.TooLargeError](err); ok {
		c.stats.TooLarge.Add(1)
		return big
	}
	// Not a *LostError, as the link is well.
	return &transport.NoReplyError{Status: resp.StatusCode, Err: err}
}

// headers adds the trace; this form of the protocol repeats nothing else.
func (c *Conn) headers(l transport.Labels) http.Header {
	h := maps.Clone(c.post)
	for _, t := range l.Trace {
		name := http.CanonicalHeaderKey(t.Name)
		if _, taken := h[name]; !taken && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(t.Value) {
			h[name] = []string{t.Value}
		}
	}
	return h
}

func (c *Conn) down() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// Close implements transport.Conn. This form of the protocol has no farewell but
// the end of the stream.
func (c *Conn) Close(context.Context) error {
	c.client.Abort()
	c.stream.End()
	c.client.Close()
	return nil
}
