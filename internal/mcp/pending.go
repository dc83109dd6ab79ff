package mcp

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A pending is a request whose answer has not come. Whoever takes it out of the
// table sends the one reply; so nobody ever waits on ch, and nothing is sent
// twice.
type pending struct {
	id   int64
	req  *Request
	ch   chan reply              // capacity 1
	stop context.CancelCauseFunc // private links: ends Send when the answer came elsewhere
	odd  error                   // private links, Send's goroutine: what came in place of a message
}

// A reply is how a request ended: a payload found by position, a response that
// was parsed, or an error.
type reply struct {
	frame   []byte
	payload []byte
	isError bool
	parsed  *jsonrpc.Response
	note    string
	err     error
	ended   bool // err is the end of the session, not something that came for the request
}

// errAnswered ends the Send of an exchange whose answer came on another stream.
var errAnswered = transport.ErrEnough

// table holds the requests in flight of one link.
type table struct {
	mu   sync.Mutex
	next int64
	m    map[int64]*pending
	down error // why no more are taken
	free []*pending
}

// maxFree bounds the entries that are kept for reuse. They stay with their table,
// because a channel cannot leave a bubble of testing/synctest.
const maxFree = 256

// add enters a request and gives it the next id. Ids are never used again on a
// link (2025-11-25 §basic, Requests).
func (t *table) add(r *Request, stop context.CancelCauseFunc) (*pending, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.down != nil {
		return nil, t.down
	}
	var p *pending
	if n := len(t.free); n > 0 {
		p, t.free[n-1] = t.free[n-1], nil
		t.free = t.free[:n-1]
	} else {
		p = &pending{ch: make(chan reply, 1)}
	}
	t.next++
	p.id, p.req, p.stop = t.next, r, stop
	t.m[p.id] = p
	return p, nil
}

// take removes and returns the request with that id. known tells whether the id
// was ever given out.
func (t *table) take(id int64) (p *pending, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p = t.m[id]
	if p != nil {
		delete(t.m, id)
	}
	return p, p != nil || id > 0 && id <= t.next
}

// leave removes p, whose caller waits no longer. Where somebody else has taken
// it already, its reply is there or on its way: that is returned.
func (t *table) leave(p *pending) (reply, bool) {
	t.mu.Lock()
	if t.m[p.id] == p {
		delete(t.m, p.id)
		t.mu.Unlock()
		return reply{}, false
	}
	t.mu.Unlock()
	return <-p.ch, true
}

// release gives p back once its reply was received, or can't come any more.
func (t *table) release(p *pending) {
	p.id, p.req, p.stop, p.odd = 0, nil, nil, nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) < maxFree {
		t.free = append(t.free, p)
	}
}

// get looks a request up without taking it.
func (t *table) get(id int64) *Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.m[id]; p != nil {
		return p.req
	}
	return nil
}

// sole returns the only request in flight, nil if there are none or several.
// Requests of which a server has nothing to say or to ask do not count.
func (t *table) sole() *Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.m) > maxIdle+1 {
		return nil
	}
	var only *Request
	for _, p := range t.m {
		switch p.req.Method {
		case methodListen, methodPing:
			continue
		}
		if only != nil {
			return nil
		}
		only = p.req
	}
	return only
}

// maxIdle is how many requests sole looks past.
const maxIdle = 8

// takeLone takes the request that is alone in flight; nil: there are none or
// several.
func (t *table) takeLone() *pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.m) != 1 {
		return nil
	}
	for id, p := range t.m {
		delete(t.m, id)
		return p
	}
	return nil
}

// closed tells why no more requests are taken; nil: they are.
func (t *table) closed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.down
}

// close takes no more requests; with fail, it also ends those in flight.
func (t *table) close(err error, fail bool) {
	t.mu.Lock()
	if t.down == nil {
		t.down = err
	}
	var all map[int64]*pending
	if fail {
		all, t.m = t.m, map[int64]*pending{}
	}
	t.mu.Unlock()
	for _, p := range all {
		p.end(reply{err: err, ended: true})
	}
}

func (t *table) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.m)
}

// end delivers the reply; only who took p from the table calls it.
func (p *pending) end(r reply) {
	stop := p.stop
	p.ch <- r // from here on p belongs to its caller again
	if stop != nil {
		stop(errAnswered)
	}
}
