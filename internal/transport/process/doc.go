// Package process starts a child in a process group of its own, watches it, and
// ends it together with whatever it started in that group. Its pipes are ours
// from the beginning, so that nothing is lost between the last output and the
// end; its standard error is always read and its last lines are kept.
//
// Stop ends gently as MCP wants it (2026-07-28 §transports/stdio, Shutdown): end
// of input, patience, SIGTERM, patience, SIGKILL. When it has returned nothing is
// left of the group, no zombie either. A descendant that made a session of its
// own (setsid) has left the group and is not found.
//
// It does not know: frames, MCP, restarts, configuration.
package process
