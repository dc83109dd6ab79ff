package origin

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout = 30 * time.Second
	// Node's servers close idle connections after 5 s without a word, and a POST
	// into that moment is lost for nothing.
	idleTimeout    = 4 * time.Second
	minIdleTimeout = 200 * time.Millisecond
	maxIdleTimeout = 2 * time.Minute
	maxIdlePerHost = 256
	bufferSize     = 16 << 10
)

// network is the client's own way to the server: it knows every socket, and
// keeps idle ones only as long as the server says that it will.
type network struct {
	life context.Context // ends when the network is closed
	end  context.CancelFunc
	tr   atomic.Pointer[http.Transport]
	hint atomic.Pointer[string] // the last Keep-Alive header

	mu    sync.Mutex
	idle  time.Duration // that tr is made for
	heard bool          // it comes from the server
	conns map[*conn]struct{}
}

func newNetwork() *network {
	n := &network{conns: make(map[*conn]struct{})}
	n.life, n.end = context.WithCancel(context.Background())
	n.idle = idleTimeout
	n.tr.Store(n.transport(idleTimeout))
	return n
}

func (n *network) transport(idle time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         n.dial,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: maxIdlePerHost,
		IdleConnTimeout:     idle,
		WriteBufferSize:     bufferSize,
		ReadBufferSize:      bufferSize,
	}
}

// RoundTrip makes network an http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.tr.Load().RoundTrip(r)
	if err == nil {
		if h := resp.Header["Keep-Alive"]; len(h) == 1 {
			n.heed(h[0])
		}
	}
	return resp, err
}

// heed keeps idle connections for as long as the server has said, less a second
// for the way; of several servers behind one address the shortest counts. What
// runs on the transport from before goes on there.
func (n *network) heed(header string) {
	if known := n.hint.Load(); known != nil && *known == header {
		return
	}
	n.hint.Store(&header)
	seconds, ok := keepAlive(header)
	if !ok {
		return
	}
	idle := min(max(time.Duration(seconds)*time.Second-time.Second, minIdleTimeout), maxIdleTimeout)
	if n.settle(idle) {
		n.tr.Swap(n.transport(idle)).CloseIdleConnections()
	}
}

// settle tells whether idle is news.
func (n *network) settle(idle time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := idle < n.idle || idle > n.idle && !n.heard
	n.heard = true
	if news {
		n.idle = idle
	}
	return news
}

// keepAlive reads the parameter timeout of a Keep-Alive header.
func keepAlive(header string) (seconds int, ok bool) {
	for param := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "timeout") {
			seconds, err := strconv.Atoi(strings.TrimSpace(value))
			return min(seconds, 3600), err == nil && seconds >= 0
		}
	}
	return 0, false
}

func (n *network) dial(ctx context.Context, netw, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	raw, err := (&net.Dialer{}).DialContext(ctx, netw, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, n: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life.Err() != nil {
		raw.Close()
		return nil, n.life.Err()
	}
	n.conns[c] = struct{}{}
	return c, nil
}

// close closes every socket.
func (n *network) close() {
	n.mu.Lock()
	n.end()
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	n.tr.Load().CloseIdleConnections()
	for c := range conns {
		c.Conn.Close()
	}
}

// conn counts what is written to it. It hides that a TCP connection can take
// bytes past Write.
type conn struct {
	net.Conn
	n       *network
	written atomic.Int64
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

func (c *conn) Close() error {
	c.n.mu.Lock()
	delete(c.n.conns, c)
	c.n.mu.Unlock()
	return c.Conn.Close()
}
