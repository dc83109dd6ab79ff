package fanout

import (
	"context"
	"sync"
)

// SubscriberOptions bound a subscriber's queue.
type SubscriberOptions struct {
	Events int   // 0: DefaultEvents
	Bytes  int64 // sum of Event.Size; 0: DefaultBytes
	// MergeFrom is how many events wait before such of the same key are merged.
	// 0: only where the queue would be full otherwise.
	MergeFrom int
}

// A Subscriber is the queue of one reader. Its methods may be called from many
// goroutines at once, but only one at a time may wait in Next.
type Subscriber struct {
	maxEvents, mergeFrom int
	maxBytes             int64
	wake                 chan struct{} // holds a token when a waiting reader should look again

	mu          sync.Mutex
	queue       queue
	attached    map[*attachment]struct{}
	news        []*attachment // those with a loss to tell, or an end with nothing left before it
	stats       Stats
	waiting     bool
	closed      bool
	closedCause error
}

// Stats count what became of the events of a subscriber.
type Stats struct {
	Taken   uint64 // returned by Next
	Merged  uint64 // stood for by those, or by those that wait
	Lost    uint64 // all that the lost ones stood for included
	Waiting int    // in the queue
	Bytes   int64  // of them
}

// NewSubscriber returns a subscriber that is attached to no hub.
func NewSubscriber(o SubscriberOptions) *Subscriber {
	s := &Subscriber{
		maxEvents: max(bound(o.Events, DefaultEvents), 1),
		maxBytes:  bound(o.Bytes, DefaultBytes),
		wake:      make(chan struct{}, 1),
		queue:     newQueue(),
		attached:  map[*attachment]struct{}{},
	}
	if s.mergeFrom = s.maxEvents; o.MergeFrom > 0 {
		s.mergeFrom = min(o.MergeFrom, s.maxEvents)
	}
	return s
}

// An Item is what Next returns: an event; or a loss, where Lost is not 0; or the
// end of a hub, where End is set.
type Item struct {
	Hub    *Hub
	Tag    any    // of the Attach
	Seq    uint64 // number of the event, of the last one lost, or of the hub's last
	Event  *Event // shared: not to be changed
	Merged uint64 // how many earlier events of the same key Event stands for
	Lost   uint64 // how many events of the hub were lost before its next one, merged ones included
	End    bool   // the hub was closed; nothing of it follows
}

// Next returns what comes next, in the order of each hub. It waits until there is
// something, the subscriber is closed (with the cause given to Close) or ctx ends
// (with its cause).
func (s *Subscriber) Next(ctx context.Context) (Item, error) {
	for {
		item, ok, err := s.next()
		if ok || err != nil {
			return item, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Item{}, context.Cause(ctx)
		}
	}
}

func (s *Subscriber) next() (item Item, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Item{}, false, s.closedCause
	}
	for {
		if len(s.news) > 0 {
			return s.tellLocked(), true, nil
		}
		if s.queue.order.head == none {
			s.waiting = true
			return Item{}, false, nil
		}
		taken := s.queue.take(s.queue.order.head)
		if taken.event == nil {
			s.loseLocked(taken.at, taken.lost, taken.seq)
			continue
		}
		s.stats.Taken++
		if taken.at.ended && taken.at.pending == 0 {
			s.announceLocked(taken.at)
		}
		return Item{Hub: taken.at.hub, Tag: taken.at.want.Tag, Seq: taken.seq, Event: taken.event, Merged: taken.merged}, true, nil
	}
}

// tellLocked takes the first piece of news. A loss is always told before
// anything that waits: only the oldest are ever dropped, so what was lost came
// before all that is still here of its hub.
func (s *Subscriber) tellLocked() Item {
	a := s.news[0]
	item := Item{Hub: a.hub, Tag: a.want.Tag}
	if a.lost > 0 {
		item.Lost, item.Seq = a.lost, a.lostSeq
		a.lost = 0
		if a.ended && a.pending == 0 {
			return item // its end is next
		}
	} else {
		item.End, item.Seq = true, a.endSeq
	}
	a.told = false
	s.news[0] = nil
	if s.news = s.news[1:]; len(s.news) == 0 {
		s.news = nil
	}
	return item
}

// push puts e into the queue and makes room for it. It is what Publish costs a
// subscriber.
func (s *Subscriber) push(a *attachment, e *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if int64(e.Size) > s.maxBytes {
		s.stats.Lost++
		s.holeLocked(a, e)
	} else {
		a.hole = none
		s.queue.push(slot{at: a, event: e, seq: e.Seq})
	}
	if s.queue.n > s.mergeFrom || s.fullLocked() {
		s.stats.Merged += s.queue.mergeAll()
	}
	for s.fullLocked() {
		old := s.queue.take(s.queue.order.head)
		if old.event == nil {
			s.loseLocked(old.at, old.lost, old.seq)
			continue
		}
		s.stats.Lost += 1 + old.merged
		s.stats.Merged -= old.merged
		s.loseLocked(old.at, 1+old.merged, old.seq)
	}
	s.wakeLocked()
}

func (s *Subscriber) fullLocked() bool {
	return s.queue.n > s.maxEvents || s.queue.bytes > s.maxBytes
}

// holeLocked marks the place of an event that is too large for any queue of this
// size. Dropping what waits would not have made room for it.
func (s *Subscriber) holeLocked(a *attachment, e *Event) {
	if a.hole == none {
		a.hole = s.queue.push(slot{at: a})
	}
	hole := &s.queue.slots[a.hole]
	hole.lost++
	hole.seq = e.Seq
}

// lose counts events that a lost before it had any.
func (s *Subscriber) lose(a *attachment, n, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Lost += n
	s.loseLocked(a, n, seq)
	s.wakeLocked()
}

func (s *Subscriber) loseLocked(a *attachment, n, seq uint64) {
	a.lost += n
	a.lostSeq = seq
	s.announceLocked(a)
}

func (s *Subscriber) announceLocked(a *attachment) {
	if !a.told {
		a.told = true
		s.news = append(s.news, a)
	}
}

func (s *Subscriber) wakeLocked() {
	if s.waiting {
		s.waiting = false
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// attach is the subscriber's half of Hub.Attach, which holds the hub's lock.
func (s *Subscriber) attach(a *attachment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	a.hole = none
	s.attached[a] = struct{}{}
	return nil
}

// forget is the subscriber's half of Hub.Detach.
func (s *Subscriber) forget(a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attached, a)
}

// end is the subscriber's half of Hub.Close.
func (s *Subscriber) end(a *attachment, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attached, a)
	a.ended, a.endSeq = true, last
	if a.pending == 0 {
		s.announceLocked(a)
	}
	s.wakeLocked()
}

// Stats returns the counts so far.
func (s *Subscriber) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Waiting, stats.Bytes = s.queue.n, s.queue.bytes
	return stats
}

// Close detaches the subscriber from all hubs and drops what it holds. Next
// returns cause from now on, ErrClosed where cause is nil.
func (s *Subscriber) Close(cause error) {
	if cause == nil {
		cause = ErrClosed
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed, s.closedCause = true, cause
	attached := s.attached
	s.attached, s.queue, s.news = map[*attachment]struct{}{}, newQueue(), nil
	s.wakeLocked()
	s.mu.Unlock()
	// A hub's lock comes before a subscriber's.
	for a := range attached {
		a.hub.Detach(s)
	}
}
