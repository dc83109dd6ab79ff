package mcp

import (
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Keys of `_meta` that the protocol reserves (2026-07-28 §basic, _meta).
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaClientInfo   = metaPrefix + "clientInfo"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServerInfo   = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
)

// modernEra is a server of 2026-07-28 or later: every request says all that the
// server must know of its client.
type modernEra struct {
	version      string
	fixed        []byte // version and client info, as members
	capabilities []byte // unless a request has its own
}

func newModernEra(version string, o *Options) *modernEra {
	e := &modernEra{version: version}
	e.fixed = append(e.fixed, `"`+metaVersion+`":`...)
	e.fixed = jsonrpc.AppendString(e.fixed, version)
	e.fixed = append(append(e.fixed, `,"`+metaClientInfo+`":`...), o.ClientInfo...)
	e.fixed = append(e.fixed, `,"`+metaCapabilities+`":`...)
	e.capabilities = o.capabilities(version)
	return e
}

func (e *modernEra) appendMeta(dst []byte, r *Request) []byte {
	dst = append(dst, e.fixed...)
	if r.Capabilities != "" {
		dst = append(dst, r.Capabilities...)
	} else {
		dst = append(dst, e.capabilities...)
	}
	if r.LogLevel != "" {
		dst = append(dst, `,"`+metaLogLevel+`":`...)
		dst = jsonrpc.AppendString(dst, r.LogLevel)
	}
	return dst
}

func (e *modernEra) label(r *Request) transport.Frame {
	return transport.Frame{Labels: transport.Labels{
		Version: e.version, Method: r.Method,
		Name: r.Name, HasName: r.HasName,
		Params: r.Headers, Trace: r.Trace,
	}}
}

// hangsUp is true: closing the response stream is the cancellation (2026-07-28
// §transports, Streamable HTTP).
func (e *modernEra) hangsUp() bool { return true }
