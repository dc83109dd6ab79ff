// Package transport is what the protocol layer and the bindings have in common,
// and all they have in common. It says how frames travel, how long one waits for
// them and how they fail; it never says what they mean.
//
// A Conn is one live link to one server. Two kinds of binding exist, and
// Binding.Shared tells them apart: on a shared one (a pipe) all traffic runs on
// one stream and comes out of Listen; on a private one (HTTP) each exchange has
// a stream of its own that Send reads on its caller's goroutine.
//
// Every verb blocks, takes a context and runs on the caller's goroutine. Nothing
// is registered, so nothing can be forgotten.
//
// It does not know: methods, ids, revisions, JSON; HTTP, pipes, processes.
package transport
