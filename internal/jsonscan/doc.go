// Package jsonscan reads JSON in place: one pass over the bytes validates them
// (RFC 8259, and that strings are UTF-8) and hands out slices and strings that
// alias them. Duplicate names are kept, numbers stay text until somebody asks
// for a value, and depth is limited.
//
// The bytes given to a Decoder must not change for as long as anything read
// from it is in use.
//
// It does not know: MCP, JSON-RPC, Protobuf, reflection, streams.
package jsonscan
