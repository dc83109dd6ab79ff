// Package e2e drives the built binary from outside, the way its users do: it
// starts mcp-bridge as a process, calls it by gRPC, Connect and plain JSON over
// HTTP, and looks at what is left of its process tree afterwards.
//
// It has tests only. It does not know: anything under internal.
package e2e
