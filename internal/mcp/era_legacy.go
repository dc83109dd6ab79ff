package mcp

import "github.com/mcpbridge/mcp-bridge/internal/transport"

// legacyEra is an open session of a revision up to 2025-11-25.
type legacyEra struct{ version string }

func (e *legacyEra) appendMeta(dst []byte, _ *Request) []byte { return dst }

func (e *legacyEra) label(r *Request) transport.Frame {
	return transport.Frame{
		Link:   transport.LinkWithin,
		Labels: transport.Labels{Version: e.version, Trace: r.Trace},
	}
}

// hangsUp is false: a disconnection is no cancellation (2025-11-25 §transports).
func (e *legacyEra) hangsUp() bool { return false }

// handshakeEra is a legacy link before its initialize is answered: no session
// and no version are named (2025-11-25 §lifecycle, Initialization).
type handshakeEra struct{}

func (handshakeEra) appendMeta(dst []byte, _ *Request) []byte { return dst }
func (handshakeEra) hangsUp() bool                            { return false }
func (handshakeEra) label(*Request) transport.Frame {
	return transport.Frame{Link: transport.LinkOpen}
}
