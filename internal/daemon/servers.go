package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// newUpstream makes the run-time side of a server's entry.
func (d *daemon) newUpstream(s *config.Server) (*upstream.Upstream, error) {
	o := upstream.Options{
		Name: s.Name, Transport: kind(s), Protocol: protocol(s.Protocol), ClientInfo: clientInfo(d.o.Version),
		Timeout: s.Timeout, MaxTimeout: s.MaxTimeout, StartTimeout: s.StartTimeout, ProbeTimeout: s.ProbeTimeout,
		StaleAfter: s.StaleAfter, SessionIdle: s.SessionIdleTimeout,
		MaxInFlight: s.MaxInFlight, MaxSessions: s.MaxSessions, ReplayEvents: d.o.Config.ReplayBuffer,
		Restart: upstream.Backoff{
			Initial: s.Restart.Initial, Max: s.Restart.Max, Factor: s.Restart.Factor, Jitter: s.Restart.Jitter,
			GiveUp: s.Restart.GiveUpAfter, CoolDown: s.Restart.RetryAfter,
		},
		TrustAnnotations: s.TrustAnnotations,
		ExposeStderr:     d.loopback,
		Lists:            upstream.NewLists(d.listsFile(s)),
		Log:              d.log, Transports: &transport.Stats{}, Stats: &mcp.Stats{},
	}
	if s.ExposeStderr != nil {
		o.ExposeStderr = *s.ExposeStderr
	}
	var err error
	if o.Capabilities, o.Roots, err = declared(s.ClientCapabilities); err != nil {
		return nil, fmt.Errorf("server %s: client_capabilities: %w", s.Name, err)
	}
	o.Dialers = d.dialing.dialers(s, o.Transports)
	return upstream.New(o), nil
}

// kind is the transport of a server, as callers are told it.
func kind(s *config.Server) string {
	switch {
	case s.Kind == config.Stdio:
		return "stdio"
	case s.SSEFirst:
		return "sse"
	}
	return "http"
}

// listsFile is where a server's last known lists are kept: by its configuration,
// secrets included, so that lists of one account are never shown for another.
func (d *daemon) listsFile(s *config.Server) string {
	if d.o.CacheDir == "" {
		return ""
	}
	env, headers := map[string]string{}, map[string]string{}
	for k, v := range s.Env {
		env[k] = v.Reveal()
	}
	for k, v := range s.Headers {
		headers[k] = v.Reveal()
	}
	b, err := json.Marshal([]any{s.Kind, s.Command, s.Args, env, s.Dir, s.URL, headers, s.Protocol, string(s.ClientCapabilities)})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return filepath.Join(d.o.CacheDir, "lists", hex.EncodeToString(sum[:16])+".json")
}
