package transporttest

import (
	"context"
	"sync"
)

// A queue carries values one way. It is bounded only where the test asks for it.
type queue[T any] struct {
	limit int
	ready chan struct{} // capacity 1: whoever wakes by it and leaves more behind wakes the next
	space chan struct{} // the same for those who push
	gone  chan struct{} // closed once nobody reads any more

	mu   sync.Mutex
	list []T
	err  error // why no more come
	left bool
}

func newQueue[T any](limit int) *queue[T] {
	return &queue[T]{
		limit: limit,
		ready: make(chan struct{}, 1),
		space: make(chan struct{}, 1),
		gone:  make(chan struct{}),
	}
}

// push waits while the queue is full.
func (q *queue[T]) push(ctx context.Context, v T) error {
	for {
		if done, err := q.tryPush(v); done {
			return err
		}
		select {
		case <-q.space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (q *queue[T]) tryPush(v T) (done bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wakeLocked()
	if q.err != nil {
		return true, q.err
	}
	if q.limit > 0 && len(q.list) >= q.limit {
		return false, nil
	}
	q.list = append(q.list, v)
	return true, nil
}

// pop waits for the next value. What was pushed before the end comes first.
func (q *queue[T]) pop(ctx context.Context) (v T, err error) {
	for {
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
		if v, done, err := q.tryPop(); done {
			return v, err
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
		}
	}
}

func (q *queue[T]) tryPop() (v T, done bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wakeLocked()
	if len(q.list) > 0 {
		v = q.list[0]
		clear(q.list[:1])
		q.list = q.list[1:]
		return v, true, nil
	}
	return v, q.err != nil, q.err
}

// end lets no more values in; with drop, those that wait are dropped and nobody
// reads any more.
func (q *queue[T]) end(err error, drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil || drop && !q.left {
		q.err = err
	}
	if drop {
		q.list = nil
		if !q.left {
			q.left = true
			close(q.gone)
		}
	}
	q.wakeLocked()
}

func (q *queue[T]) wakeLocked() {
	if len(q.list) > 0 || q.err != nil {
		signal(q.ready)
	}
	if q.limit > 0 && len(q.list) < q.limit || q.err != nil {
		signal(q.space)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
