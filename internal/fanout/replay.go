package fanout

import "iter"

// replay is the ring of a hub's last events. Their numbers have no holes.
type replay struct {
	maxEvents int
	maxBytes  int64

	ring  []*Event // grows on demand up to maxEvents
	head  int      // the oldest
	n     int
	bytes int64
}

func (r *replay) add(e *Event) {
	if r.maxEvents == 0 {
		return
	}
	if r.n == r.maxEvents {
		r.dropOldest()
	}
	if r.n == len(r.ring) {
		r.grow()
	}
	r.ring[(r.head+r.n)%len(r.ring)] = e
	r.n++
	r.bytes += int64(e.Size)
	for r.bytes > r.maxBytes {
		r.dropOldest()
	}
}

func (r *replay) dropOldest() {
	r.bytes -= int64(r.ring[r.head].Size)
	r.ring[r.head] = nil
	r.head = (r.head + 1) % len(r.ring)
	r.n--
}

func (r *replay) grow() {
	ring := make([]*Event, min(max(2*len(r.ring), 16), r.maxEvents))
	copied := copy(ring, r.ring[r.head:])
	copy(ring[copied:], r.ring[:r.head])
	r.ring, r.head = ring, 0
}

// after yields the events with a higher number than seq, the oldest first.
func (r *replay) after(seq uint64) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for i := range r.n {
			e := r.ring[(r.head+i)%len(r.ring)]
			if e.Seq > seq && !yield(e) {
				return
			}
		}
	}
}
