// Package typed translates between MCP's JSON and the messages of mcpbridge.v1,
// both ways.
//
// Reading takes one pass that validates as it decodes. Nothing is lost on the
// way, and no odd value spoils the rest:
//
//   - Strings and JSON texts alias what they were read from, which must therefore
//     never change again. Only strings with escape sequences are copied.
//   - Members that have no field, or whose value is of the wrong type, go to
//     extra_json as they were written, in their order.
//   - A field that can hold a value only roughly (a lone surrogate, a number with
//     more digits than a double has, base64 with line ends, a list of which some
//     items do not fit) holds what it can, and the member stands in extra_json as
//     well. TextContent.text is the exception: a lone surrogate is lost there.
//   - A message without extra_json leaves its leftovers to the member of the
//     next message around it that has one.
//   - A null member with a field counts as absent. Two null values are values: the
//     structuredContent of a 2026-07-28 server, and the data of a log message.
//   - Of members with the same name the last one that fits counts; the others go
//     to extra_json.
//   - A block of content that is of no known type, lacks what makes its type, or
//     holds something that is no base64 becomes an OtherContent as a whole.
//
// It does not know: JSON-RPC, sessions, RPC, which request a result answers, who
// may see what.
package typed
