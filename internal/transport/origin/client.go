package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Options say where the server is and what it is shown.
type Options struct {
	// URL is the address. A user and password in it become an Authorization
	// header.
	URL string
	// Header is sent with every request. What is the binding's own to say, such as
	// Content-Type, is left out.
	Header    http.Header
	UserAgent string // empty: "mcp-bridge"
	// RoundTripper carries the requests; nil: a transport of the client's own.
	// Its connections are its owner's to close, and a request that was given one of
	// them always counts as sent.
	RoundTripper http.RoundTripper
	Log          *slog.Logger // nil: none
}

// A Client makes requests to one origin.
type Client struct {
	url    *url.URL
	header http.Header
	host   string // for the Host header; empty: as in the URL
	log    *slog.Logger
	rt     http.RoundTripper
	own    *network // nil with a foreign RoundTripper

	closed chan struct{}
	drains sync.WaitGroup

	mu       sync.Mutex
	closing  bool
	live     map[*Exchange]struct{}
	draining int
}

// New checks o and returns a Client. Nothing is sent.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("server URL: %w", err)
	}
	u.Scheme, u.Fragment, u.RawFragment = strings.ToLower(u.Scheme), "", ""
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("server URL %s: want http:// or https:// and a host", u.Redacted())
	}
	c := &Client{
		log:    o.Log,
		rt:     o.RoundTripper,
		closed: make(chan struct{}),
		live:   make(map[*Exchange]struct{}),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.configure(o, u); err != nil {
		return nil, err
	}
	u.User = nil
	c.url = u
	if c.rt == nil {
		c.own = newNetwork()
		c.rt = c.own
	}
	return c, nil
}

// reserved are headers whose value is the binding's or HTTP's to say. Many
// examples for other clients configure Accept and Content-Type, so that is no
// error.
func reserved(name string) bool {
	switch name {
	case "Accept", "Content-Type", "Content-Length", "Last-Event-Id", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
		"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect":
		return true
	}
	return strings.HasPrefix(name, "Mcp-Param-")
}

// configure prepares what every request has in common.
func (c *Client) configure(o Options, u *url.URL) error {
	c.header = http.Header{"User-Agent": {"mcp-bridge"}}
	if o.UserAgent != "" {
		if !httpguts.ValidHeaderFieldValue(o.UserAgent) {
			return errors.New("user agent is no valid header value")
		}
		c.header.Set("User-Agent", o.UserAgent)
	}
	for name, values := range o.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("header %q: not a header name", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("header %s: not a header value", name) // it may be a secret
			}
		}
		switch name = http.CanonicalHeaderKey(name); {
		case name == "Host" && len(values) > 0:
			c.host = values[0]
		case reserved(name):
			c.log.Info("configured header is left out", "header", name)
		case len(values) > 0:
			c.header[name] = append(c.header[name][:0:0], values...)
		}
	}
	if u.User != nil && c.header.Get("Authorization") == "" {
		password, _ := u.User.Password()
		r := http.Request{Header: c.header}
		r.SetBasicAuth(u.User.Username(), password)
	}
	return nil
}

// URL is the address, without credentials. It must not be changed.
func (c *Client) URL() *url.URL { return c.url }

// Header returns a copy of the headers of every request, to be filled up and
// given to Exchange.Do.
func (c *Client) Header() http.Header { return c.header.Clone() }

// Closed is closed when Close has begun.
func (c *Client) Closed() <-chan struct{} { return c.closed }

// Wait waits for d, or for the end of ctx or of the client, whose reason it
// returns.
func (c *Client) Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return transport.ErrClosed
	}
}

// Abort ends every exchange with transport.ErrClosed and lets no new one begin,
// but for those of Farewell.
func (c *Client) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	c.closing = true
	close(c.closed)
	for x := range c.live {
		x.cancel(transport.ErrClosed)
	}
}

// Close aborts what is left and waits until nothing of it is.
func (c *Client) Close() {
	c.Abort()
	c.mu.Lock()
	for x := range c.live {
		x.cancel(transport.ErrClosed)
	}
	c.mu.Unlock()
	c.drains.Wait()
	if c.own != nil {
		c.own.close()
	}
}

// Farewell makes one last request, also after Abort, and does not care what
// becomes of it.
func (c *Client) Farewell(ctx context.Context, method string, h http.Header) {
	x := c.begin(ctx)
	c.mu.Lock()
	c.live[x] = struct{}{}
	c.mu.Unlock()
	defer x.End()
	resp, err := x.Do(method, c.url, h, nil)
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	}
}
