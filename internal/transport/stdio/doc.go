// Package stdio is the binding for a server that is a child process: one JSON
// value per line, on standard input and output (2026-07-28 §transports/stdio).
// Conn works on any two byte streams, Dialer puts a process behind them.
//
// No caller ever waits in a system call. A frame is queued, partly out or out:
// whoever gives up while his frame is queued takes it back, and the server has
// certainly not seen it; a frame whose first byte is out is finished, whoever
// waits for it, because half a line would break the link for all.
//
// It does not know: methods, ids, revisions; what a line means beyond how it
// begins; when a server is to be started again; the environment of the bridge.
package stdio
