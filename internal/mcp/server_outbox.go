package mcp

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// serverNews is a notification that belongs to no call. members are those of its
// params, as JSON text without braces.
type serverNews struct{ method, members string }

// notification writes it out with a `_meta` of its own, or none.
func (n serverNews) notification(meta string) *jsonrpc.Notification {
	out := &jsonrpc.Notification{Method: n.method}
	switch {
	case n.members != "" && meta != "":
		out.Params = []byte("{" + n.members + `,"_meta":` + meta + "}")
	case n.members != "":
		out.Params = []byte("{" + n.members + "}")
	case meta != "":
		out.Params = []byte(`{"_meta":` + meta + "}")
	}
	return out
}

// serverOutbox keeps news for one client until they can be sent. Whoever has
// news never waits: where the box is full, the oldest go.
type serverOutbox struct {
	limit int
	wake  chan struct{} // one token: there is something

	mu    sync.Mutex
	queue []serverNews
	lost  int
}

func newServerOutbox(limit int) *serverOutbox {
	return &serverOutbox{limit: limit, wake: make(chan struct{}, 1)}
}

func (b *serverOutbox) push(n serverNews) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) >= b.limit {
		b.queue = append(b.queue[:0], b.queue[1:]...)
		b.lost++
	}
	b.queue = append(b.queue, n)
	b.wakeLocked()
}

func (b *serverOutbox) wakeLocked() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// unpop puts back what could not be sent.
func (b *serverOutbox) unpop(n serverNews) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) >= b.limit {
		b.lost++
		return
	}
	b.queue = append([]serverNews{n}, b.queue...)
	b.wakeLocked()
}

func (b *serverOutbox) pop() (n serverNews, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return n, false
	}
	n = b.queue[0]
	b.queue = b.queue[1:]
	if len(b.queue) > 0 { // for another one who waits
		b.wakeLocked()
	}
	return n, true
}

// drain sends what comes until ctx or ended ends, or sending fails.
func (b *serverOutbox) drain(ctx context.Context, ended <-chan struct{}, send func(serverNews) error) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			return errSessionEnded
		case <-b.wake:
		}
		n, ok := b.pop()
		if !ok {
			continue
		}
		if err := send(n); err != nil {
			b.unpop(n)
			return err
		}
	}
}
