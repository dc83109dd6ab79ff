// Package rpc is the service that callers see: it implements
// mcpbridge.v1.McpService on top of the upstream servers. It finds the session
// that a request is for, bounds it by the caller's deadline, turns Protobuf into
// MCP and back, and maps every error to its code, in one table.
//
// It does not know: how servers are reached or started, or how MCP's two eras
// differ; listeners, TLS, configuration.
package rpc
