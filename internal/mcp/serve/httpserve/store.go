package httpserve

import (
	"strconv"
	"strings"
	"sync"
)

// store has the streams that can be taken up again. Those that a reader holds
// always stay; of the others only the last few.
type store struct {
	max int

	mu   sync.Mutex
	byID map[string]*stream
	idle []*stream // those without a reader, the oldest first
}

func newStore(max int) *store { return &store{max: max, byID: map[string]*stream{}} }

func (t *store) add(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[s.id] = s
}

// rest notes that nobody reads the stream now.
func (t *store) rest(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[s.id] != s {
		return
	}
	t.unidleLocked(s)
	t.idle = append(t.idle, s)
	if len(t.idle) > t.max {
		oldest := t.idle[0]
		t.idle = t.idle[1:]
		delete(t.byID, oldest.id)
		oldest.end()
	}
}

// find gives the stream of an event id and makes it busy.
func (t *store) find(eventID, session string) (s *stream, after uint64, ok bool) {
	id, number, found := strings.Cut(eventID, "-")
	after, err := strconv.ParseUint(number, 10, 64)
	if !found || err != nil {
		return nil, 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.byID[id]
	if s == nil || s.session != session {
		return nil, 0, false
	}
	t.unidleLocked(s)
	return s, after, true
}

func (t *store) unidleLocked(s *stream) {
	for i, other := range t.idle {
		if other == s {
			t.idle = append(t.idle[:i:i], t.idle[i+1:]...)
			return
		}
	}
}

// drop ends all streams of a session.
func (t *store) drop(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, s := range t.byID {
		if s.session == session {
			delete(t.byID, id)
			t.unidleLocked(s)
			s.end()
		}
	}
}

// forget is for a stream of which the client knows no event.
func (t *store) forget(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
		t.unidleLocked(s)
	}
}
