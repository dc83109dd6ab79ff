package fanout

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrClosed means that the subscriber, or the hub to attach to, was closed.
var ErrClosed = errors.New("closed")

// ErrAttached means that the subscriber is attached to that hub already.
var ErrAttached = errors.New("already attached")

// Defaults of HubOptions and SubscriberOptions.
const (
	DefaultEvents = 1024
	DefaultBytes  = 16 << 20
)

// An Event is what happened. Once published it is shared by all subscribers, so
// nobody may change it.
type Event struct {
	Seq   uint64    // its number in its hub, given by Publish
	Time  time.Time // when it happened; given by Publish where it is zero
	Key   string    // events of one hub with the same key have the same content: one may stand for all; empty: never
	Class uint64    // bits for Attach.Mask
	Size  int       // what it counts against bounds in bytes
	Value any       // what it is
}

// HubOptions bound what a hub keeps for subscribers that come back.
type HubOptions struct {
	ReplayEvents int              // 0: DefaultEvents; less: none
	ReplayBytes  int64            // 0: DefaultBytes; less: none
	Now          func() time.Time // nil: time.Now
}

// A Hub is one source of events. Its methods may be called from many goroutines
// at once.
type Hub struct {
	now func() time.Time

	mu     sync.Mutex
	last   uint64
	replay replay
	subs   []*attachment
	closed bool
}

// NewHub returns a hub without events.
func NewHub(o HubOptions) *Hub {
	h := &Hub{now: o.Now, replay: replay{
		maxEvents: bound(o.ReplayEvents, DefaultEvents),
		maxBytes:  bound(o.ReplayBytes, DefaultBytes),
	}}
	if h.now == nil {
		h.now = time.Now
	}
	return h
}

// bound makes an option a bound: 0 is the default, less is nothing at all.
func bound[T int | int64](n, byDefault T) T {
	if n == 0 {
		return byDefault
	}
	return max(n, 0)
}

// Publish numbers e and hands it to every subscriber. It never waits for one. It
// returns the number, or 0 where the hub is closed.
func (h *Hub) Publish(e Event) uint64 {
	e.Size = max(e.Size, 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return 0
	}
	if e.Time.IsZero() {
		e.Time = h.now()
	}
	h.last++
	e.Seq = h.last
	shared := &e
	h.replay.add(shared)
	// The lock is held to the end: it is what makes every subscriber see the
	// events in the order of their numbers.
	for _, a := range h.subs {
		a.offer(shared)
	}
	return e.Seq
}

// Last returns the number of the last event, 0 before the first.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// Attach says what a subscriber wants of a hub.
type Attach struct {
	// Replay asks for the events after number After that the hub still holds.
	// Without it the subscriber starts with the next event.
	Replay bool
	After  uint64
	// Mask lets only events through whose Class shares a bit with it; 0: all.
	Mask uint64
	// Filter lets only events through for which it is true; nil: all. It runs
	// while Publish does: it must be quick, and must not use hub or subscriber.
	Filter func(*Event) bool
	// Tag comes back in every Item of this hub.
	Tag any
}

// Start says where a subscriber starts.
type Start struct {
	After uint64 // it gets what has a higher number
	Lost  uint64 // what it asked for but the hub no longer holds; Next tells it too, as the first Item of the hub
}

// Attach makes s a subscriber of h, from now on or from an earlier place. A place
// that lies ahead of the hub's last event means from now on.
func (h *Hub) Attach(s *Subscriber, want Attach) (Start, error) {
	a := &attachment{hub: h, sub: s, want: want}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return Start{}, ErrClosed
	}
	if slices.ContainsFunc(h.subs, func(o *attachment) bool { return o.sub == s }) {
		return Start{}, ErrAttached
	}
	if err := s.attach(a); err != nil {
		return Start{}, err
	}
	h.subs = append(h.subs, a)
	if !want.Replay || want.After >= h.last {
		return Start{After: h.last}, nil
	}
	start := Start{After: want.After}
	if first := h.last - uint64(h.replay.n) + 1; want.After+1 < first {
		start = Start{After: first - 1, Lost: first - 1 - want.After}
		s.lose(a, start.Lost, start.After)
	}
	for e := range h.replay.after(start.After) {
		a.offer(e)
	}
	return start, nil
}

// Detach ends the flow of h's events to s and says whether there was one. What
// lies in the queue already can still be read.
func (h *Hub) Detach(s *Subscriber) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.subs, func(a *attachment) bool { return a.sub == s })
	if i < 0 {
		return false
	}
	s.forget(h.subs[i])
	h.subs = slices.Delete(h.subs, i, i+1)
	return true
}

// Close ends the hub. Its subscribers read what they have, then an Item with End.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for _, a := range h.subs {
		a.sub.end(a, h.last)
	}
	h.subs = nil
	h.replay = replay{}
}

// An attachment is one subscriber's share of one hub. The hub's lock guards that
// it is in Hub.subs, the subscriber's lock guards its fields below want.
type attachment struct {
	hub  *Hub
	sub  *Subscriber
	want Attach

	pending int    // slots in the queue
	lost    uint64 // not told yet; all of them came before what is in the queue
	lostSeq uint64 // number of the last of them
	told    bool   // waits in Subscriber.news
	ended   bool
	endSeq  uint64
	hole    int32 // the slot of a hole that the last event of this hub left in the queue, or none
}

func (a *attachment) offer(e *Event) {
	if a.want.Mask != 0 && a.want.Mask&e.Class == 0 {
		return
	}
	if a.want.Filter != nil && !a.want.Filter(e) {
		return
	}
	a.sub.push(a, e)
}
