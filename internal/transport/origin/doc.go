// Package origin makes HTTP requests to one origin for the bindings that speak
// HTTP. It keeps four promises: what the configuration shows to the server never
// leaves the origin; a request goes out at most once, and an error tells whether
// it may have; every request ends by its context or with the client; and Close
// leaves no goroutine and no socket behind.
//
// It does not know: sessions, event streams, what a header or a body means.
package origin
