package transport

import "sync/atomic"

// Stats counts what the links to one server carried and what they had to
// tolerate. A Dialer is given one and shares it with its links.
type Stats struct {
	FramesOut, BytesOut atomic.Int64
	FramesIn, BytesIn   atomic.Int64
	Writes              atomic.Int64 // system calls, or requests
	Noise               atomic.Int64 // lines or events that are no message
	TooLarge            atomic.Int64 // inbound frames over the limit
	Resumed             atomic.Int64 // streams taken up again
}
