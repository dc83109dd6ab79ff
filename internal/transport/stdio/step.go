package stdio

import "github.com/mcpbridge/mcp-bridge/internal/transport"

// progress is what a step of writing came to.
type progress uint8

const (
	more   progress = iota // the pipe may take more, and there is more
	full                   // the pipe takes no more now
	empty                  // there is no more
	broken                 // the pipe takes no more ever
)

// step makes one write of as many frames as go together. The lock is not held
// while it writes.
func (w *writer) step(write func([]byte) (int, error)) progress {
	chunk := w.gather()
	if len(chunk) == 0 {
		return empty
	}
	n, err := write(chunk)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Writes.Add(1)
	w.accountLocked(n)
	switch {
	case err != nil:
		w.fault = err
		return broken
	case n < len(chunk):
		return full
	case len(w.queue) == 0:
		return empty
	}
	return more
}

// gather marks the frames of the next write and returns their bytes. What is
// large goes out from where it is, its newline with the next write.
func (w *writer) gather() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch, w.scratch = w.batch[:0], w.scratch[:0]
	for _, it := range w.queue {
		rest := it.body[min(it.out, len(it.body)):]
		if len(w.scratch)+len(rest) >= batchBytes {
			if len(w.batch) > 0 {
				break
			}
			it.writing = true
			w.batch = append(w.batch, it)
			return rest
		}
		it.writing = true
		w.batch = append(w.batch, it)
		w.scratch = append(append(w.scratch, rest...), '\n')
	}
	return w.scratch
}

// accountLocked tells the n bytes that are out to the frames of the batch.
func (w *writer) accountLocked(n int) {
	w.bytes -= int64(n)
	finished := 0
	for i, it := range w.batch {
		part := min(n, len(it.body)+1-it.out)
		it.out += part
		n -= part
		it.writing = false
		if it.out == len(it.body)+1 {
			w.stats.FramesOut.Add(1)
			w.stats.BytesOut.Add(int64(it.out))
			it.settle(nil)
			finished++
		}
		w.batch[i] = nil
	}
	// The batch is the beginning of the queue: what leaves it meanwhile is not
	// being written, and nothing is put before others.
	left := copy(w.queue, w.queue[finished:])
	clear(w.queue[left:])
	w.queue = w.queue[:left]
	if w.err != nil {
		w.releaseLocked()
	}
	w.settled.Broadcast()
}

// settle tells how it ended to whoever waits. From then on the item may be
// another frame's.
func (it *item) settle(err error) {
	it.over = true
	it.done <- err // capacity 1, told once
}

// fail takes no more frames because of err and releases all who wait. The first
// reason stays; it is returned.
func (w *writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		close(w.down)
		w.releaseLocked()
	}
	return w.err
}

// reason is why no more frames are taken; nil: they are.
func (w *writer) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// close is fail with a reason that replaces an earlier one; it ends the stream.
func (w *writer) close(err error) {
	w.mu.Lock()
	if w.err == nil {
		close(w.down)
	}
	w.err = err
	w.releaseLocked()
	w.mu.Unlock()
	_ = w.out.Close()
}

// wait waits for the writer goroutine.
func (w *writer) wait() { w.wg.Wait() }

// releaseLocked tells the end to all whose frames are not being written just now;
// those are told by accountLocked.
func (w *writer) releaseLocked() {
	kept := w.queue[:0]
	for _, it := range w.queue {
		if it.writing {
			kept = append(kept, it)
			continue
		}
		w.bytes -= int64(len(it.body) + 1 - it.out)
		if it.out == 0 {
			it.settle(transport.NotSent(w.err))
		} else {
			it.settle(w.err)
		}
	}
	clear(w.queue[len(kept):])
	w.queue = kept
}
