// Package front is the HTTP side that faces callers: one port for gRPC,
// gRPC-Web and Connect over HTTP/1.1 and HTTP/2, with health, reflection and
// probes beside the service, and what protects them: deadlines for headers,
// bodies and writes, checks of Host and Origin, limits.
//
// It does not know: MCP, servers, sessions, configuration files.
package front
