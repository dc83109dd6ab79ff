package mcp

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// Options say how a Client behaves.
type Options struct {
	// ClientInfo is the client's Implementation as JSON text.
	ClientInfo []byte
	// Capabilities gives the client's capabilities as JSON text for a revision;
	// nil: none.
	Capabilities func(version string) []byte
	// Protocol pins an era or a revision; the zero value finds out.
	Protocol Protocol
	// MaxVersion is the newest revision wanted; empty: any.
	MaxVersion string
	// Hint is what an earlier link to the same server has shown.
	Hint Hint
	// ProbeTimeout bounds server/discover; 0: 5 s.
	ProbeTimeout time.Duration
	// Handler takes what belongs to no request, and the server's questions.
	Handler Handler
	Log     *slog.Logger
	Stats   *Stats
}

// setDefaults fills in what was left out.
func (o *Options) setDefaults() {
	if o.Stats == nil {
		o.Stats = &Stats{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = 5 * time.Second
	}
	if len(o.ClientInfo) == 0 {
		o.ClientInfo = []byte(`{"name":"mcp-bridge","version":"0"}`)
	}
	if p := &o.Protocol; p.Era == EraUnknown && p.Version != "" {
		p.Era = EraLegacy
		if p.Version >= Version20260728 {
			p.Era = EraModern
		}
	}
}

func (o *Options) capabilities(version string) []byte {
	if o.Capabilities != nil {
		if c := o.Capabilities(version); len(c) > 0 {
			return c
		}
	}
	return []byte("{}")
}

// wants reports whether a revision is not newer than MaxVersion.
func (o *Options) wants(version string) bool {
	return o.MaxVersion == "" || version <= o.MaxVersion
}

// mayBeModern reports whether the operator leaves the modern era open.
func (o *Options) mayBeModern() bool {
	return o.Protocol.Era != EraLegacy && o.wants(modernVersions[len(modernVersions)-1])
}

// Protocol is what the operator knows about a server.
type Protocol struct {
	Era     Era    // EraUnknown: that of Version, else probe
	Version string // a revision of that era, and no other; empty: the newest that both share
}

// A Handler takes what a server sends of its own accord.
type Handler interface {
	// Notify takes a notification. It is called on the goroutine that reads the
	// link and must not wait.
	Notify(n *Notification)
	// Ask answers a request of the server but for ping. It runs on a goroutine of
	// its own; ctx ends when the server takes the request back or the link ends.
	// tag is that of the request that the question belongs to, if that is known.
	Ask(ctx context.Context, q *jsonrpc.Call, tag any) (result []byte, err *jsonrpc.Error)
}

// Stats counts what the clients of one server had to tolerate.
type Stats struct {
	Late          atomic.Int64 // answers to requests that nobody waits for any more
	Unknown       atomic.Int64 // answers to ids that were never given out, or without an id
	Unreadable    atomic.Int64 // frames that are no message
	Replaced      atomic.Int64 // frames with invalid UTF-8, replaced by U+FFFD
	Refused       atomic.Int64 // requests of the server over the limit, or from a modern server
	Notifications atomic.Int64
	Cancelled     atomic.Int64 // cancellations sent
}
