// Package sse is the binding for HTTP+SSE of 2024-11-05, the older form of MCP
// over HTTP: one event stream from the server, which begins with the address to
// which all frames are posted. Answers come on the stream, so it is a shared
// binding; when the stream is lost, so is the link.
//
// It does not know: methods, ids, revisions, what a frame says.
package sse
