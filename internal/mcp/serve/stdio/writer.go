package stdio

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

var errClosed = errors.New("output is closed")

// writer lets many goroutines write whole lines. They wait only while more than
// limit bytes wait for the client, and no longer than stall.
type writer struct {
	out   io.Writer
	limit int
	stall time.Duration
	done  chan struct{} // closed when run has returned
	dead  chan struct{} // closed when nothing can be written any more

	mu      sync.Mutex
	queue   []byte
	err     error         // why nothing can be written any more
	closing bool          // no more lines; what is queued still goes
	filled  chan struct{} // one token: there is something for run
	drained chan struct{} // closed and made anew when the queue has been taken
}

func newWriter(out io.Writer, limit int, stall time.Duration) *writer {
	return &writer{out: out, limit: limit, stall: stall, done: make(chan struct{}), dead: make(chan struct{}), filled: make(chan struct{}, 1), drained: make(chan struct{})}
}

// write queues b. One line may be larger than the limit if nothing else waits.
func (w *writer) write(b []byte) error {
	var timeout <-chan time.Time
	for {
		w.mu.Lock()
		switch {
		case w.err != nil:
			defer w.mu.Unlock()
			return w.err
		case w.closing:
			w.mu.Unlock()
			return errClosed
		case len(w.queue) == 0 || len(w.queue)+len(b) <= w.limit:
			w.queue = append(w.queue, b...)
			w.mu.Unlock()
			w.wake()
			return nil
		}
		drained := w.drained
		w.mu.Unlock()
		if timeout == nil {
			t := time.NewTimer(w.stall)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-drained:
		case <-w.dead:
		case <-timeout:
			w.fail(ErrStalled)
		}
	}
}

// run writes what is queued until close or an error.
func (w *writer) run() {
	defer close(w.done)
	var spare []byte
	for range w.filled {
		w.mu.Lock()
		b, closing, err := w.queue, w.closing, w.err
		w.queue = spare[:0]
		close(w.drained)
		w.drained = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
		if len(b) > 0 {
			if _, err := w.out.Write(b); err != nil {
				w.fail(fmt.Errorf("writing: %w", err))
				return
			}
		} else if closing {
			return
		}
		if spare = b; cap(spare) > 1<<20 { // not to keep the largest for ever
			spare = nil
		}
		if closing {
			w.wake()
		}
	}
}

func (w *writer) wake() {
	select {
	case w.filled <- struct{}{}:
	default:
	}
}

// fail ends the writing with the first error.
func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		close(w.dead)
	}
	w.wake()
}

// close lets run end when the queue is out.
func (w *writer) close() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.wake()
}

func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
