package upstream

import "github.com/mcpbridge/mcp-bridge/internal/mcp"

// A Spec is what a caller wants of a private session.
type Spec struct {
	Principal    string
	ClientInfo   []byte // Implementation as JSON text; nil: the bridge's
	Capabilities Capabilities
	Roots        []byte // the result of roots/list as JSON text; nil: no roots
	MaxVersion   string
	// FailOnLoss ends the session when the server's end of it is lost, instead of
	// renewing it.
	FailOnLoss bool
}

func (s *Session) clientOptions(hint mcp.Hint) mcp.Options {
	o := &s.u.o
	info := s.spec.ClientInfo
	if info == nil {
		info = o.ClientInfo
	}
	return mcp.Options{
		ClientInfo: info, Capabilities: s.spec.Capabilities.JSON,
		Protocol: o.Protocol, MaxVersion: s.spec.MaxVersion, Hint: hint,
		ProbeTimeout: o.ProbeTimeout, Handler: handler{s}, Log: s.log, Stats: o.Stats,
	}
}
