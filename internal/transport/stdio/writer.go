package stdio

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

const (
	// batchBytes is how much is gathered for one write; larger frames go out from
	// where they are.
	batchBytes = 64 << 10
	// rounds is how many writes a caller makes for others before the writer
	// goroutine takes over.
	rounds = 4
	// crowd is the time between two frames that tells that more may come at the same
	// moment. To let them is cheap where nobody does.
	crowd = 50 * time.Microsecond
)

// An item is a frame on its way. All of it is guarded by the writer's mutex.
type item struct {
	body    []byte
	out     int  // bytes that are out; len(body)+1 with the newline
	writing bool // a write that does not wait is under way with it
	over    bool // done was told
	done    chan error
}

var items = sync.Pool{New: func() any { return &item{done: make(chan error, 1)} }}

func (it *item) free() {
	it.body, it.out, it.writing, it.over = nil, 0, false, false
	items.Put(it)
}

// A writer puts frames on an Outlet. Whoever comes first writes for all who come
// meanwhile (flat combining); what the pipe does not take at once is left to a
// goroutine, which ends when the queue is empty.
type writer struct {
	out   Outlet
	limit int64 // of bytes
	stats *transport.Stats
	lost  func(error) error // makes the reason of a failed write
	down  chan struct{}     // closed with the link's end

	mu      sync.Mutex
	settled sync.Cond // a write has ended
	queue   []*item
	bytes   int64
	busy    bool // somebody writes
	last    time.Time
	err     error // why no more is taken
	wg      sync.WaitGroup

	// Of whoever is busy:
	batch   []*item
	scratch []byte
	fault   error    // why writing is over
	result  progress // of the last step
	once    func(write func([]byte) (int, error)) bool
	until   func(write func([]byte) (int, error)) bool
}

func newWriter(out Outlet, limit int64, stats *transport.Stats, lost func(error) error) *writer {
	w := &writer{out: out, limit: limit, stats: stats, lost: lost, down: make(chan struct{})}
	w.settled.L = &w.mu
	w.once = func(write func([]byte) (int, error)) bool {
		w.result = w.step(write)
		return true
	}
	w.until = func(write func([]byte) (int, error)) bool {
		for w.result = more; w.result == more; {
			w.result = w.step(write)
		}
		return w.result != full
	}
	return w
}

// send returns nil when the whole frame is out.
func (w *writer) send(ctx context.Context, body []byte) error {
	it := items.Get().(*item)
	it.body = body
	size := int64(len(body)) + 1
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		it.free()
		return transport.NotSent(w.err)
	}
	if w.bytes+size > w.limit {
		w.mu.Unlock()
		it.free()
		return transport.NotSent(transport.ErrQueueFull)
	}
	w.queue = append(w.queue, it)
	w.bytes += size
	if !w.busy {
		w.busy = true
		together := time.Since(w.last) < crowd
		w.mu.Unlock()
		if together {
			runtime.Gosched() // lets the others of the crowd append theirs
		}
		w.combine()
		w.mu.Lock()
	}
	if it.over {
		w.mu.Unlock()
		err := <-it.done
		it.free()
		return err
	}
	w.mu.Unlock()
	select {
	case err := <-it.done:
		it.free()
		return err
	case <-ctx.Done():
		return w.leave(ctx, it)
	}
}

// leave takes a frame back of which nothing is out. A part of it can't be taken
// back: it is finished without its sender.
func (w *writer) leave(ctx context.Context, it *item) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for it.writing { // a write that does not wait
		w.settled.Wait()
	}
	if it.over {
		err := <-it.done
		it.free()
		return err
	}
	if it.out > 0 {
		return context.Cause(ctx)
	}
	for i, other := range w.queue {
		if other == it {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			break
		}
	}
	w.bytes -= int64(len(it.body)) + 1
	it.free()
	return transport.NotSent(context.Cause(ctx))
}

// combine writes for all who are in the queue, as long as the pipe takes it. It
// is called by whoever set busy.
func (w *writer) combine() {
	for range rounds {
		if err := w.out.Run(w.once); err != nil && w.fault == nil {
			w.fault = err
		}
		if w.fault == nil && w.idle() {
			return
		}
		if w.fault != nil || w.result == full {
			break
		}
	}
	w.wg.Add(1) // while busy is set, so that wait can't miss it
	go w.work()
}

// work is the writer goroutine. wait waits for it.
func (w *writer) work() {
	defer w.wg.Done()
	for {
		if w.fault == nil {
			if err := w.out.Run(w.until); err != nil && w.fault == nil {
				w.fault = err
			}
		}
		if w.fault != nil {
			_ = w.fail(w.lost(w.fault))
			return // busy stays set: nobody writes any more
		}
		if w.idle() {
			return
		}
	}
}

// idle gives up busy if there is nothing to write.
func (w *writer) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		return false
	}
	w.busy = false
	w.last = time.Now()
	return true
}
