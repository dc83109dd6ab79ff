package front

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// patient bounds each read of a request's body and each write of an answer, so
// that a peer who stops in the middle does not hold a stream for ever; between
// reads and writes a stream may be as quiet as it likes. net/http's own
// WriteTimeout would cut live streams, and WriteByteTimeout does not notice a
// peer that leaves its flow-control window closed.
//
// The deadline proper is set by a timer only when it is due, because setting one
// costs a hand-over to the connection's own goroutine on HTTP/2.
func patient(read, write time.Duration, next http.Handler) http.Handler {
	pool := &sync.Pool{New: func() any { return newExchange(read, write) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := pool.Get().(*exchange)
		x.begin(w, r)
		returned := false
		defer func() {
			if x.end() && returned { // else it has panicked, and whatever is its state
				pool.Put(x)
			}
		}()
		next.ServeHTTP(x, r)
		returned = true
	})
}

// An exchange watches over one request. It is the answer's writer, and its body
// is the request's.
type exchange struct {
	http.ResponseWriter
	source io.ReadCloser // the request's own body
	whole  bool          // which was read to its end, or there is none
	owes   bool          // something was written and not flushed
	http1  bool
	in     alarm
	out    alarm

	mu   sync.Mutex
	over bool // the handler has returned: the writer must not be touched
}

// An alarm ends what waits too long.
type alarm struct {
	limit time.Duration
	ring  func()
	timer *time.Timer
	armed bool
	spent bool // it has rung, or is about to
}

func (a *alarm) set() {
	a.armed = true
	if a.timer == nil {
		a.timer = time.AfterFunc(a.limit, a.ring)
		return
	}
	a.timer.Reset(a.limit)
}

// stop is called once it was set, or again.
func (a *alarm) stop() {
	if a.armed && !a.timer.Stop() {
		a.spent = true
	}
	a.armed = false
}

func newExchange(read, write time.Duration) *exchange {
	x := &exchange{}
	x.in = alarm{limit: read, ring: func() {
		x.late(func(c *http.ResponseController) { _ = c.SetReadDeadline(past()) })
	}}
	x.out = alarm{limit: write, ring: func() {
		x.late(func(c *http.ResponseController) { _ = c.SetWriteDeadline(past()) })
	}}
	return x
}

// past is a deadline that ends what waits at once.
func past() time.Time { return time.Unix(1, 0) }

// late runs when an alarm rings. On HTTP/2, net/http's writer is gone once the
// handler has returned.
func (x *exchange) late(end func(*http.ResponseController)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		end(http.NewResponseController(x.ResponseWriter))
	}
}

func (x *exchange) begin(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.ResponseWriter, x.over, x.owes = w, false, false
	x.mu.Unlock()
	x.http1 = r.ProtoMajor == 1
	x.source, x.whole = r.Body, r.Body == nil || r.Body == http.NoBody
	if !x.whole {
		r.Body = (*body)(x)
	}
}

// end leaves deadlines for what net/http does after the handler: it writes what
// was not flushed, and on HTTP/1 reads a body to its end. Before the next request
// on the connection net/http itself takes them back. It reports whether x can
// serve again.
func (x *exchange) end() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	x.in.stop() // in case the handler has panicked
	x.out.stop()
	c := http.NewResponseController(x.ResponseWriter)
	if x.owes || x.http1 {
		_ = c.SetWriteDeadline(time.Now().Add(x.out.limit))
	}
	if !x.whole && x.http1 {
		_ = c.SetReadDeadline(time.Now().Add(x.in.limit))
	}
	x.ResponseWriter, x.source = nil, nil
	return !x.in.spent && !x.out.spent
}

// A body is the exchange as the request's body.
type body exchange

func (b *body) Read(p []byte) (int, error) {
	b.in.set()
	n, err := b.source.Read(p)
	b.in.stop()
	switch {
	case err == io.EOF:
		b.whole = true
	case err != nil && b.http1:
		// What is left of it must not be taken for the next request. net/http sees to
		// that by itself, but not where the handler has asked for full duplex.
		b.ResponseWriter.Header().Set("Connection", "close")
	}
	return n, err
}

func (b *body) Close() error { return b.source.Close() }

func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// pieceBytes is how much may be written by one deadline: what is larger goes out
// in pieces, so that it may take its time as long as it moves.
const pieceBytes = 256 << 10

func (x *exchange) Write(b []byte) (n int, err error) {
	x.owes = true
	for {
		piece := b[n:min(len(b), n+pieceBytes)]
		x.out.set()
		m, err := x.ResponseWriter.Write(piece)
		x.out.stop()
		n += m
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// Flush is FlushError for http.Flusher.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is Flush for http.ResponseController.
func (x *exchange) FlushError() error {
	x.out.set()
	err := http.NewResponseController(x.ResponseWriter).Flush()
	x.out.stop()
	x.owes = false
	return err
}
