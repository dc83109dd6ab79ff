// Package upstream has the configured servers at run time: it starts them when
// they are first needed, watches over them, starts them again with patience, and
// keeps the sessions that callers have with them.
//
// An Upstream is one server. It has a Session that all callers share, and
// private ones. A Session outlives its links: a link (a transport and the
// handshake on it) is never repaired, only replaced, by the one goroutine that
// supervises the session.
//
// It does not know: framing, HTTP statuses, Connect, configuration files, or
// what a result holds.
package upstream
