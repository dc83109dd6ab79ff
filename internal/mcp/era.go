package mcp

import "github.com/mcpbridge/mcp-bridge/internal/transport"

// An era is what differs between the two ways of MCP, once a link is open.
type era interface {
	// appendMeta writes the members of `_meta` that the protocol wants.
	appendMeta(dst []byte, r *Request) []byte
	// label begins the frame of a message: how it relates to the session, and what
	// a binding with headers must repeat.
	label(r *Request) transport.Frame
	// hangsUp reports whether the end of a private exchange is its cancellation.
	hangsUp() bool
}
