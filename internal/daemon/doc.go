// Package daemon builds the bridge from a checked configuration and runs it: the
// servers, the service, the listener, and the order in which they end. It is the
// only room that knows both the configuration and the bindings.
package daemon
