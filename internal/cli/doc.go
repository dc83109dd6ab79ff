// Package cli is the command line of mcp-bridge that speaks to a running bridge:
// its subcommands as structs for kong, each with a Run method, and what they
// print for people and for programs.
//
// Results go to standard output, everything else to standard error. On a terminal
// texts are cut to its width, coloured and freed of control characters; in a pipe
// they are as they came.
//
// It does not know: how a bridge works inside, how to serve, transports. It
// reaches a bridge by its public API only, and a lone MCP URL only through
// OneShot.
package cli
