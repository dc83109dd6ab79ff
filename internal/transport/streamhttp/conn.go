package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// farewellTime bounds the DELETE of a session.
const farewellTime = 2 * time.Second

// A Conn is a link to one server. It implements transport.Conn.
type Conn struct {
	client *origin.Client
	limit  int64
	log    *slog.Logger
	stats  *transport.Stats

	// What all requests of a kind have in common. They are never changed.
	post, get, del http.Header

	readers sync.Pool // of *eventstream.Reader

	mu      sync.Mutex
	mem     memory
	gone    bool // the server has forgotten the session
	odd     bool // an odd session id was told
	closing bool
	closed  chan struct{}
}

// memory is what a frame with LinkWithin is sent with.
type memory struct {
	session string // Mcp-Session-Id; empty: none
	version string // of the last frame within the session
}

// Binding implements transport.Conn.
func (c *Conn) Binding() transport.Binding {
	u := *c.client.URL()
	u.RawQuery = "" // may be a secret
	return transport.Binding{Name: "streamable-http", Peer: u.String()}
}

// Send implements transport.Conn.
func (c *Conn) Send(ctx context.Context, f transport.Frame, replies transport.Sink) error {
	if n := int64(len(f.Body)); n > c.limit {
		return transport.NotSent(&transport.TooLargeError{Limit: c.limit, Size: n})
	}
	mem := c.recall(f)
	h, err := c.headers(f.Labels, mem)
	if err != nil {
		return transport.NotSent(err)
	}
	x, err := c.client.Begin(ctx)
	if err != nil {
		return err
	}
	resp, err := x.Do(http.MethodPost, c.client.URL(), h, f.Body)
	if err == nil || !errors.Is(err, transport.ErrNotSent) {
		c.stats.Writes.Add(1)
		c.stats.FramesOut.Add(1)
		c.stats.BytesOut.Add(int64(len(f.Body)))
	}
	if err != nil {
		x.End()
		if refused, ok := errors.AsType[*transport.RefusedError](err); ok {
			refused.Session = mem.session != ""
		}
		return err
	}
	c.keep(f.Link, mem, resp)
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		refused := x.Refusal()
		refused.Session = mem.session != ""
		x.Drain()
		return refused
	case !f.Expects:
		x.Drain()
		return nil
	case origin.Type(resp) == "text/event-stream":
		return c.stream(ctx, x, resp, f.Link, mem, replies)
	}
	return c.single(x, resp, replies)
}

// single takes an answer that is not a stream. Whether it is JSON is not judged
// here, as there are servers that send JSON by another name.
func (c *Conn) single(x *origin.Exchange, resp *http.Response, replies transport.Sink) error {
	body, err := x.ReadAll(c.limit)
	x.End()
	if err != nil {
		if _, ok := errors.AsType[*transport.TooLargeError](err); ok {
			c.stats.TooLarge.Add(1)
		}
		return err
	}
	if len(body) == 0 {
		return &transport.NoReplyError{Status: resp.StatusCode}
	}
	c.received(body)
	err = replies(transport.Inbound{Body: body, Note: note(resp)})
	switch {
	case err == nil:
		return &transport.NoReplyError{Status: resp.StatusCode}
	case errors.Is(err, transport.ErrEnough):
		return nil
	}
	return err
}

func (c *Conn) received(body []byte) {
	c.stats.FramesIn.Add(1)
	c.stats.BytesIn.Add(int64(len(body)))
}

// note says what an answer calls itself, if that is not JSON.
func note(resp *http.Response) string {
	t := origin.Type(resp)
	if origin.IsJSON(t) {
		return ""
	}
	if t == "" {
		t = "without a content type"
	}
	return fmt.Sprintf("HTTP %d %.100s", resp.StatusCode, t)
}

// recall returns what a frame is sent with, and remembers its revision for the
// requests that are no frames.
func (c *Conn) recall(f transport.Frame) memory {
	if f.Link != transport.LinkWithin {
		return memory{version: f.Labels.Version}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Labels.Version != "" {
		c.mem.version = f.Labels.Version
	}
	return c.mem
}

// keep remembers what an answer says of the session.
func (c *Conn) keep(link transport.Link, mem memory, resp *http.Response) {
	if link == transport.LinkNone {
		return
	}
	ok := resp.StatusCode >= 200 && resp.StatusCode <= 299
	id := ""
	if h := resp.Header["Mcp-Session-Id"]; len(h) > 0 {
		id = h[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case link == transport.LinkOpen && ok:
		if !validSession(id) {
			c.oddLocked("session id is not printable")
			id = ""
		}
		c.mem.session, c.gone = id, false
	case link == transport.LinkWithin && mem.session == c.mem.session:
		if id != "" && id != mem.session {
			c.oddLocked("server named another session")
		}
		if ok {
			c.gone = false
		} else if resp.StatusCode == http.StatusNotFound {
			c.gone = mem.session != ""
		}
	}
}

// oddLocked counts a session id that is not used, and tells it once.
func (c *Conn) oddLocked(what string) {
	c.stats.Noise.Add(1)
	if !c.odd {
		c.odd = true
		c.log.Warn(what + "; ignored")
	}
}

// Close implements transport.Conn.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	first, mem, gone := !c.closing, c.mem, c.gone
	c.closing = true
	c.mu.Unlock()
	if !first {
		select {
		case <-c.closed:
		case <-ctx.Done():
		}
		return nil
	}
	defer close(c.closed)
	c.client.Abort()
	if mem.session != "" && !gone && ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(ctx, farewellTime)
		defer cancel()
		c.client.Farewell(ctx, http.MethodDelete, remembered(c.del, mem))
	}
	c.client.Close()
	return nil
}
