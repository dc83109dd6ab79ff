// Package serve holds the server transports: how calls come to an mcp.Server and
// how what it says gets back. Each binding has a package of its own below.
//
// A server transport does five things and no more. It cuts the wire into
// messages. It asks CreateContext what to make of the session id and revision
// beside a message, puts the result, its Labels if it has any, and a Link if it
// is one, in the context. It delegates to HandleCall, HandleNotification and
// HandleResponse. It sends what its Sender is given, in order, and ends an
// exchange at the message that is a response. It maps refusals to its own words,
// if it has any.
//
// It does not know: sessions, registries, tools, methods, eras.
package serve
