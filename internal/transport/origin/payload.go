package origin

import (
	"errors"
	"io"
	"sync"
)

var errDetached = errors.New("request was given up")

// payload is the body of a request. net/http may read it after the round trip is
// over, as when the server answers before it has read everything; detach makes
// sure that the caller's bytes are not touched any more.
type payload struct {
	mu  sync.Mutex
	b   []byte
	off int
	end bool
}

func (p *payload) Read(to []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off == len(p.b) {
		return 0, io.EOF
	}
	if p.end {
		return 0, errDetached
	}
	n := copy(to, p.b[p.off:])
	p.off += n
	return n, nil
}

func (p *payload) Close() error { return nil }

func (p *payload) detach() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = true
	if p.off < len(p.b) {
		p.off, p.b = 0, []byte{0} // not at its end, and not the caller's
	}
}
