package stdio

// An Outlet is the writing end of a stream. It is used by one goroutine at a
// time, but for Close.
type Outlet interface {
	// Run calls step until it returns true, each time when the stream may take
	// more. step writes with write, which never waits: it takes what there is room
	// for, fewer bytes than given, or none, with a nil error. Where step returns
	// true at once, Run does not wait. The error is one of Run itself: the stream
	// was closed.
	Run(step func(write func([]byte) (int, error)) (done bool)) error
	// Close ends the stream and a Run that waits.
	Close() error
}
