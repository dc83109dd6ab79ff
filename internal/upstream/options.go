package upstream

import (
	"log/slog"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Options are what an Upstream must know of its server. All durations and limits
// must be set; Defaults has those of the configuration.
type Options struct {
	Name      string // as configured
	Transport string // for people: "stdio", "http", "sse"
	// Dialers make links, the most likely kind first. The next is tried where the
	// server says that it does not speak on this one.
	Dialers []transport.Dialer

	Protocol         mcp.Protocol
	ClientInfo       []byte        // Implementation as JSON text
	Capabilities     Capabilities  // of the shared session
	Roots            []byte        // of the shared session: the result of roots/list; nil: no roots
	Timeout          time.Duration // of a request without a deadline
	MaxTimeout       time.Duration // ceiling of any request; 0: none
	StartTimeout     time.Duration
	ProbeTimeout     time.Duration
	StaleAfter       time.Duration
	SessionIdle      time.Duration
	MaxInFlight      int
	MaxSessions      int
	Restart          Backoff
	ReplayEvents     int
	TrustAnnotations bool
	ExposeStderr     bool
	Lists            *Lists // last known lists; nil: kept in memory only
	Log              *slog.Logger
	Transports       *transport.Stats
	Stats            *mcp.Stats
}

// Defaults are those of the configuration.
func Defaults() Options {
	return Options{
		Timeout: 30 * time.Second, StartTimeout: time.Minute, ProbeTimeout: 5 * time.Second,
		StaleAfter: 250 * time.Millisecond, SessionIdle: 30 * time.Minute,
		MaxInFlight: 1024, MaxSessions: 100, ReplayEvents: 1024,
		Restart: Backoff{Initial: 500 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: 0.2, GiveUp: 5, CoolDown: 5 * time.Minute},
	}
}

// Capabilities are what a session declares to its server.
type Capabilities struct {
	// JSON gives them as JSON text for a revision; nil: none.
	JSON func(version string) []byte
	// What of it matters for answering the server.
	Sampling, ElicitationForm, ElicitationURL bool
}
