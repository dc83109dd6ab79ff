package httpserve

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

var (
	errGone  = errors.New("the client has gone")
	errEnded = errors.New("the stream has ended")
)

// stream is what a server says for one exchange, or outside all exchanges, on
// its way to a client: the Sender of that. One reader at a time takes from it.
//
// A stream that can be taken up again keeps what was read, within bounds, and
// goes on without a reader. One that can't lives and dies with its reader.
type stream struct {
	id        string // empty: it can't be taken up again
	session   string
	window    int // messages that may wait while there is a reader
	maxEvents int // kept, where it can be taken up again
	maxBytes  int
	emit      func(mcp.SessionInitialized)

	mu      sync.Mutex
	events  []event
	bytes   int
	next    uint64 // number of the next event; the first is 1
	taken   uint64 // number of the last event that a reader took
	reader  uint64 // which reader there is; 0: none
	readers uint64 // how many there were
	owed    int    // responses to come; -1: not an exchange
	gone    bool   // nothing more is taken
	changed chan struct{}
}

type event struct {
	n    uint64
	data []byte
	m    jsonrpc.Message // for the first reply's status
}

// newStream makes the stream of an exchange with so many calls; -1: of what
// belongs to no call.
func (h *Handler) newStream(owed int, session string, resumable bool) *stream {
	s := &stream{window: h.o.Window, maxEvents: h.o.ReplayEvents, maxBytes: h.o.ReplayBytes, session: session, owed: owed, next: 1, changed: make(chan struct{})}
	if resumable {
		s.id = rand.Text()
	}
	return s
}

func (s *stream) changedLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Send takes a message. While a reader is there but slow, it waits; not with a
// response, of which there are few, so that who hands calls over never waits.
func (s *stream) Send(m jsonrpc.Message) error {
	data := jsonrpc.Append(nil, m)
	_, answers := m.(*jsonrpc.Response)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !answers && s.reader != 0 && !s.gone && s.next-1-s.taken >= uint64(s.window) {
		changed := s.changed
		s.mu.Unlock()
		<-changed // a reader takes, leaves, or ends the stream: each is a change
		s.mu.Lock()
	}
	switch {
	case s.gone:
		return errGone
	case s.owed == 0:
		return errEnded
	}
	if answers && s.owed > 0 {
		s.owed--
	}
	s.events = append(s.events, event{s.next, data, m})
	s.bytes += len(data)
	s.next++
	s.trimLocked()
	s.changedLocked()
	return nil
}

// Emit passes a new session on; it comes before the first message.
func (s *stream) Emit(e mcp.SessionInitialized) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.emit == nil {
		return errEnded
	}
	s.emit(e)
	return nil
}

// trimLocked forgets what must not be kept: what was taken, and is over the
// bounds or can't be asked for again; and, while nobody reads, the oldest.
func (s *stream) trimLocked() {
	drop := 0
	for ; drop < len(s.events); drop++ {
		e := &s.events[drop]
		over := len(s.events)-drop > s.maxEvents || s.bytes > s.maxBytes
		useless := e.n <= s.taken && (s.id == "" || over)
		alone := s.id != "" && s.reader == 0 && over && drop < len(s.events)-1
		if !useless && !alone {
			break
		}
		s.bytes -= len(e.data)
		e.data, e.m = nil, nil
	}
	s.events = s.events[drop:]
}

// attach makes the caller the reader, from the event after the given one. It is
// false where events after it have been forgotten.
func (s *stream) attach(after uint64) (me uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.next
	if len(s.events) > 0 {
		first = s.events[0].n
	}
	if s.gone || after >= s.next || after+1 < first {
		return 0, false
	}
	s.readers++
	s.reader, s.taken = s.readers, after
	s.changedLocked()
	return s.reader, true
}

// detach ends the reading. A stream that can't be taken up again ends with it.
func (s *stream) detach(me uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != me {
		return
	}
	s.reader = 0
	if s.id == "" {
		s.gone = true
	}
	s.trimLocked()
	s.changedLocked()
}

// end ends the stream for all.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.events = true, nil
	s.changedLocked()
}

// take gives the reader its next event. It returns errEnded after the last, and
// errGone where another reader has taken over. wake ends the wait with ok
// false and no error.
func (s *stream) take(ctx context.Context, me uint64, wake <-chan time.Time) (e event, ok bool, err error) {
	for {
		s.mu.Lock()
		if s.reader != me {
			s.mu.Unlock()
			return e, false, errGone
		}
		for i := range s.events {
			if s.events[i].n > s.taken {
				e = s.events[i]
				s.taken = e.n
				s.trimLocked()
				s.changedLocked()
				s.mu.Unlock()
				return e, true, nil
			}
		}
		ended, changed := s.gone || s.owed == 0, s.changed
		s.mu.Unlock()
		if ended {
			return e, false, errEnded
		}
		select {
		case <-changed:
		case <-wake:
			return e, false, nil
		case <-ctx.Done():
			return e, false, context.Cause(ctx)
		}
	}
}

// eventID names an event for Last-Event-ID.
func (s *stream) eventID(n uint64) string { return s.id + "-" + strconv.FormatUint(n, 10) }

// isExchange tells a stream that ends with its answers from one that does not.
func (s *stream) isExchange() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed >= 0
}
