package daemon

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/guard"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/sse"
	"github.com/mcpbridge/mcp-bridge/internal/transport/stdio"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// dialing is what dialers need besides a server's entry.
type dialing struct {
	environ   []string
	guard     *guard.Guard
	userAgent string
	log       *slog.Logger
}

// dialers makes the dialers of a server, the most likely binding first: "http"
// and "sse" name the same transport, beginning with its newer or its older form.
func (d dialing) dialers(s *config.Server, stats *transport.Stats) []transport.Dialer {
	log := d.log.With("server", s.Name)
	if s.Kind == config.Stdio {
		return []transport.Dialer{&stdio.Dialer{
			Command: s.Command, Args: s.Args, Env: s.ChildEnv(d.environ), Dir: s.Dir,
			MaxMessageBytes: s.MaxMessageBytes, MaxQueueBytes: s.MaxQueueBytes,
			StopGrace: s.StopGrace, KillGrace: s.StopGrace,
			Guard: d.guard, Log: log, Stats: stats,
		}}
	}
	header := http.Header{}
	for name, value := range s.Headers {
		header.Set(name, value.Reveal())
	}
	modern := &streamhttp.Dialer{Options: streamhttp.Options{
		URL: s.URL, Header: header, UserAgent: d.userAgent, MaxMessageBytes: s.MaxMessageBytes, Log: log, Stats: stats,
	}}
	older := &sse.Dialer{Options: sse.Options{
		URL: s.URL, Header: header, UserAgent: d.userAgent, MaxMessageBytes: s.MaxMessageBytes, Log: log, Stats: stats,
	}}
	if s.SSEFirst {
		return []transport.Dialer{older, modern}
	}
	return []transport.Dialer{modern, older}
}

// protocol is what the operator says of a server's era.
func protocol(s string) mcp.Protocol {
	switch s {
	case "", "auto":
		return mcp.Protocol{}
	case "legacy":
		return mcp.Protocol{Era: mcp.EraLegacy}
	case "modern":
		return mcp.Protocol{Era: mcp.EraModern}
	}
	if s >= mcp.Version20260728 {
		return mcp.Protocol{Era: mcp.EraModern, Version: s}
	}
	return mcp.Protocol{Era: mcp.EraLegacy, Version: s}
}

// clientInfo is what the bridge calls itself towards servers.
func clientInfo(version string) []byte {
	return append(append([]byte(`{"name":"mcp-bridge","title":"mcp-bridge","version":`), jsonrpc.AppendString(nil, version)...), '}')
}

// declared makes of client_capabilities what the shared session declares. Roots
// may be given as a list, which is then what servers are answered.
func declared(raw json.RawMessage) (c upstream.Capabilities, roots []byte, err error) {
	if len(raw) == 0 {
		return c, nil, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return c, nil, err
	}
	if list := m["roots"]; len(list) > 0 && list[0] == '[' {
		roots = append(append([]byte(`{"roots":`), list...), '}')
		m["roots"] = json.RawMessage(`{}`)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return c, nil, err
	}
	c.JSON = func(string) []byte { return text }
	_, c.Sampling = m["sampling"]
	if e, ok := m["elicitation"]; ok {
		var modes map[string]json.RawMessage
		_ = json.Unmarshal(e, &modes) // of another shape: the plain form
		_, c.ElicitationURL = modes["url"]
		_, form := modes["form"]
		c.ElicitationForm = form || len(modes) == 0
	}
	return c, roots, nil
}
