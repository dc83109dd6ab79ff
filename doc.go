// Package mcpbridge is the root of the mcp-bridge module. It holds no code: the
// program is in cmd/mcp-bridge, the API in proto and gen.
package mcpbridge
