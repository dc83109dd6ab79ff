// Package jsonrpc has the message shapes of JSON-RPC 2.0 as MCP uses them, their
// ids, and the codec. A message is decoded as far as id, method and error code;
// params, results and error data stay the bytes that came.
//
// It is pure: no I/O, no clocks, no methods. It does not know who sends what,
// or when.
package jsonrpc
