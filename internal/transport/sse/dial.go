package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// DefaultMaxMessageBytes is the limit where Options name none.
const DefaultMaxMessageBytes = 64 << 20

// maxPreamble is how many events of no concern may come before the address.
const maxPreamble = 16

// Options describe one server.
type Options struct {
	URL             string
	Header          http.Header // what the server is shown, such as Authorization; it never leaves the URL's origin
	UserAgent       string      // empty: "mcp-bridge"
	MaxMessageBytes int64       // of a frame, either way; 0: DefaultMaxMessageBytes
	Log             *slog.Logger
	Stats           *transport.Stats
	RoundTripper    http.RoundTripper // see origin.Options
}

// A Dialer makes links to one server. It implements transport.Dialer.
type Dialer struct{ Options Options }

// Dial opens the event stream and waits for the address. It returns a
// *transport.RefusedError for a status that is no success, and for an address
// on another origin, to which nothing is sent; a *transport.UnreadableError for
// an answer that is something else.
func (d Dialer) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := newConn(d.Options)
	if err != nil {
		return nil, transport.NotSent(err)
	}
	if err := c.dial(ctx); err != nil {
		c.client.Close()
		return nil, transport.NotSent(err)
	}
	return c, nil
}

func newConn(o Options) (*Conn, error) {
	client, err := origin.New(origin.Options{
		URL: o.URL, Header: o.Header, UserAgent: o.UserAgent, RoundTripper: o.RoundTripper, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	c := &Conn{
		client: client,
		limit:  o.MaxMessageBytes,
		log:    o.Log,
		stats:  o.Stats,
		post:   client.Header(),
	}
	if c.limit <= 0 {
		c.limit = DefaultMaxMessageBytes
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.stats == nil {
		c.stats = new(transport.Stats)
	}
	c.post.Set("Content-Type", "application/json")
	return c, nil
}

func (c *Conn) dial(ctx context.Context) error {
	// The stream outlives ctx, which bounds the dialling only.
	x, err := c.client.Begin(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { x.Abort(context.Cause(ctx)) })
	if err = c.begin(x); err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		x.End()
		stop()
	}
	return err
}

func (c *Conn) begin(x *origin.Exchange) error {
	h := c.client.Header()
	h.Set("Accept", "text/event-stream")
	h.Set("Accept-Encoding", "identity") // what compresses a stream may hold it back
	resp, err := x.Do(http.MethodGet, c.client.URL(), h, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return x.Refusal()
	}
	if t := origin.Type(resp); t != "text/event-stream" {
		return &transport.UnreadableError{Err: fmt.Errorf("HTTP %d with content type %.100q is no event stream", resp.StatusCode, t)}
	}
	c.stream, c.events = x, eventstream.NewReader(resp.Body, int(c.limit))
	said, err := c.address()
	if err != nil {
		return err
	}
	base := c.client.URL()
	if resp.Request != nil && resp.Request.URL != nil {
		base = resp.Request.URL // behind redirects
	}
	c.endpoint, err = resolve(base, said)
	if refused, ok := errors.AsType[*transport.RefusedError](err); ok {
		refused.Status = resp.StatusCode
	}
	return err
}

// address waits for the event that names it. It comes first; signs of life may
// come before it.
func (c *Conn) address() (string, error) {
	for range maxPreamble {
		ev, err := c.events.Next()
		if err == io.EOF {
			return "", &transport.UnreadableError{Err: errors.New("event stream ended without an endpoint")}
		}
		if err != nil {
			return "", c.stream.Broken(err)
		}
		if ev.Type == "endpoint" {
			return strings.TrimSpace(string(ev.Data)), nil
		}
		if ev.Type == "message" && len(ev.Data) > 0 {
			break
		}
	}
	return "", &transport.UnreadableError{Err: errors.New("event stream does not begin with an endpoint")}
}

// resolve makes an address of what the server has said.
func resolve(base *url.URL, said string) (*url.URL, error) {
	if said == "" {
		return nil, &transport.UnreadableError{Err: errors.New("endpoint is empty")}
	}
	to, err := base.Parse(said)
	if err != nil {
		return nil, &transport.UnreadableError{Err: fmt.Errorf("endpoint: %w", err)}
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	if !origin.Same(base, to) {
		return nil, &transport.RefusedError{Text: "endpoint on another origin", Location: to.String()}
	}
	return to, nil
}
