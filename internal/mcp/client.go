package mcp

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A Client is one session with one server: a Conn after the handshake.
//
// Do may be called from many goroutines. A Client is never repaired, only
// replaced.
type Client struct {
	conn    transport.Conn
	binding transport.Binding
	o       Options
	now     atomic.Pointer[era]
	info    Info
	caps    capabilities

	table table
	done  chan struct{}
	once  sync.Once
	err   error // why done was closed

	ctx    context.Context // ends with the link
	cancel context.CancelCauseFunc
	side   sideJobs
	asks   asks
}

// Info is what the opening of a session has shown.
type Info struct {
	Era          Era
	Version      string
	Capabilities []byte // JSON text; nil: not said
	ServerInfo   []byte // JSON text; nil: not said
	Instructions string
	Meta         []byte // the result's _meta; nil: none
	Result       []byte // the whole result of initialize or server/discover; nil: neither was asked
	// Verdict is worth remembering for the next link to the server.
	Verdict Hint
}

func newClient(conn transport.Conn, o Options) *Client {
	o.setDefaults()
	c := &Client{conn: conn, binding: conn.Binding(), o: o, done: make(chan struct{})}
	c.table.m = map[int64]*pending{}
	c.setEra(handshakeEra{})
	c.asks.m = map[jsonrpc.ID]context.CancelCauseFunc{}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Info tells what the server said of itself.
func (c *Client) Info() *Info { return &c.info }

// Binding describes the link.
func (c *Client) Binding() transport.Binding { return c.binding }

// Done is closed when the session takes no more requests: the link is lost, the
// server has forgotten the session, or Close was called.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err tells why Done was closed: a *transport.LostError, an error that wraps
// ErrGone, or transport.ErrClosed.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// InFlight is the number of requests that wait for an answer.
func (c *Client) InFlight() int { return c.table.len() }

// Close ends the session: requests in flight end with transport.ErrClosed. When
// it returns, nothing of the link and no goroutine is left. ctx bounds the
// gentle part.
func (c *Client) Close(ctx context.Context) error {
	c.end(transport.ErrClosed, true)
	err := c.conn.Close(ctx)
	c.cancel(transport.ErrClosed)
	c.side.wait()
	return err
}

// end makes the client take no more requests; with fail, it also ends those in
// flight.
func (c *Client) end(err error, fail bool) {
	c.table.close(err, fail)
	c.once.Do(func() {
		c.err = err
		close(c.done)
	})
}

// era is how to speak to the server as far as that is known by now.
func (c *Client) era() era     { return *c.now.Load() }
func (c *Client) setEra(e era) { c.now.Store(&e) }

// maxShort bounds the short jobs of one client: cancellations and answers that
// need no thought.
const maxShort = 1024

// sideJobs are the goroutines of a client. Nothing is started once Close waits.
type sideJobs struct {
	mu     sync.Mutex
	closed bool
	short  int
	wg     sync.WaitGroup
}

// start runs f on a goroutine that wait waits for.
func (s *sideJobs) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		f()
	}()
	return true
}

// startShort is start for jobs of which a link that has got stuck could
// otherwise gather any number.
func (s *sideJobs) startShort(f func()) bool {
	s.mu.Lock()
	full := s.short >= maxShort
	if !full {
		s.short++
	}
	s.mu.Unlock()
	if full {
		return false
	}
	started := s.start(func() {
		defer s.endShort()
		f()
	})
	if !started {
		s.endShort()
	}
	return started
}

func (s *sideJobs) endShort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short--
}

// wait lets no more jobs in and waits for those that run.
func (s *sideJobs) wait() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wg.Wait()
}
