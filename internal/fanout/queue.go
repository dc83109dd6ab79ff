package fanout

// none is no slot.
const none = int32(-1)

// A slot is one place of a queue: an event, or a hole that an event too large
// for the queue left behind (event is nil, lost counts).
type slot struct {
	at     *attachment
	event  *Event
	merged uint64 // how many earlier events of the same key it stands for
	lost   uint64
	seq    uint64

	prev, next int32 // in order of arrival
	newer      int32 // the next event of the same key, if that is here
	older      int32 // in the list of those that have a newer one: the neighbours,
	younger    int32 // in the order in which they were superseded
}

type list struct{ head, tail int32 }

type mergeKey struct {
	at  *attachment
	key string
}

// queue holds slots in order of arrival and knows in O(1) which of them a newer
// one of the same key can stand for. An older event of a key is always
// superseded before a newer one of it and leaves the queue before it, so a
// chain is only ever shortened at its old end.
type queue struct {
	slots      []slot
	free       []int32
	order      list
	superseded list
	newest     map[mergeKey]int32
	n          int
	bytes      int64
}

func newQueue() queue {
	return queue{order: list{none, none}, superseded: list{none, none}, newest: map[mergeKey]int32{}}
}

func (q *queue) slot() int32 {
	if n := len(q.free); n > 0 {
		i := q.free[n-1]
		q.free = q.free[:n-1]
		return i
	}
	q.slots = append(q.slots, slot{})
	return int32(len(q.slots) - 1)
}

// push puts s at the end.
func (q *queue) push(s slot) int32 {
	i := q.slot()
	s.prev, s.next = q.order.tail, none
	s.newer, s.older, s.younger = none, none, none
	q.slots[i] = s
	if s.prev == none {
		q.order.head = i
	} else {
		q.slots[s.prev].next = i
	}
	q.order.tail = i
	q.n++
	s.at.pending++
	if s.event == nil {
		return i
	}
	q.bytes += int64(s.event.Size)
	if s.event.Key != "" {
		k := mergeKey{s.at, s.event.Key}
		if old, ok := q.newest[k]; ok {
			q.slots[old].newer = i
			q.supersede(old)
		}
		q.newest[k] = i
	}
	return i
}

func (q *queue) supersede(i int32) {
	s := &q.slots[i]
	s.older, s.younger = q.superseded.tail, none
	if s.older == none {
		q.superseded.head = i
	} else {
		q.slots[s.older].younger = i
	}
	q.superseded.tail = i
}

// mergeAll removes every event that a newer one can stand for and returns how
// many that were.
func (q *queue) mergeAll() (merged uint64) {
	for i := q.superseded.head; i != none; i = q.superseded.head {
		s := q.take(i)
		q.slots[s.newer].merged += 1 + s.merged
		merged++
	}
	return merged
}

// take removes slot i, wherever it is, and returns it.
func (q *queue) take(i int32) slot {
	s := q.slots[i]
	unlink(&q.order, s.prev, s.next, func(j int32) (prev, next *int32) { return &q.slots[j].prev, &q.slots[j].next })
	if s.newer != none {
		unlink(&q.superseded, s.older, s.younger, func(j int32) (prev, next *int32) { return &q.slots[j].older, &q.slots[j].younger })
	} else if s.event != nil && s.event.Key != "" {
		delete(q.newest, mergeKey{s.at, s.event.Key})
	}
	q.n--
	s.at.pending--
	if s.at.hole == i {
		s.at.hole = none
	}
	if s.event != nil {
		q.bytes -= int64(s.event.Size)
	}
	q.slots[i] = slot{}
	q.free = append(q.free, i)
	return s
}

func unlink(l *list, prev, next int32, links func(int32) (prev, next *int32)) {
	if prev == none {
		l.head = next
	} else {
		_, p := links(prev)
		*p = next
	}
	if next == none {
		l.tail = prev
	} else {
		p, _ := links(next)
		*p = prev
	}
}
