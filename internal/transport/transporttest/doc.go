// Package transporttest has what tests of links need: a contract suite that every
// binding must pass, a link in memory with a scripted far side, and a check that
// a test left nothing behind.
//
// The suite speaks in plain words, not in JSON-RPC: a binding that passes it has
// shown that it does not look into its frames.
//
// It does not know: methods, ids, revisions; HTTP, pipes, processes.
package transporttest
