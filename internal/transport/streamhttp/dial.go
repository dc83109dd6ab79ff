package streamhttp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// DefaultMaxMessageBytes is the limit where Options name none.
const DefaultMaxMessageBytes = 64 << 20

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

// Dial makes a Conn. Nothing is sent: whether the server is there shows with the
// first frame.
func (d Dialer) Dial(context.Context) (transport.Conn, error) {
	c, err := New(d.Options)
	if err != nil {
		return nil, transport.NotSent(err)
	}
	return c, nil
}

// New makes a Conn. It fails only if the options are wrong.
func New(o Options) (*Conn, error) {
	client, err := origin.New(origin.Options{
		URL: o.URL, Header: o.Header, UserAgent: o.UserAgent, RoundTripper: o.RoundTripper, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	c := &Conn{
		client:  client,
		limit:   o.MaxMessageBytes,
		log:     o.Log,
		stats:   o.Stats,
		post:    client.Header(),
		get:     client.Header(),
		del:     client.Header(),
		readers: sync.Pool{New: func() any { return new(eventstream.Reader) }},
		closed:  make(chan struct{}),
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
	c.post.Set("Accept", "application/json, text/event-stream")
	c.get.Set("Accept", "text/event-stream")
	// What compresses a stream may hold it back.
	c.get.Set("Accept-Encoding", "identity")
	return c, nil
}
