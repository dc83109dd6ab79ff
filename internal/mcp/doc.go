// Package mcp is the protocol: message order, ids and correlation, the two eras
// of MCP and which of them a server speaks, cancellation, and the answers that a
// client owes its server. The client half (Client) works over any
// transport.Conn; the server half (Server) over any Sender.
//
// Params and results go through as bytes. The package finds the envelope around
// them and leaves what they hold to its callers.
//
// It does not know: framing, HTTP, pipes, processes; gRPC, Connect, Protobuf;
// who its callers are.
package mcp
