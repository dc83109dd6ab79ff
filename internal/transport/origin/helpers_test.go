package origin_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

func client(t testing.TB, o origin.Options) *origin.Client {
	t.Helper()
	c, err := origin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// post makes one exchange and returns the body of the answer.
func post(t testing.TB, c *origin.Client, body string) (string, error) {
	t.Helper()
	x, err := c.Begin(t.Context())
	if err != nil {
		return "", err
	}
	defer x.End()
	if _, err := x.Do(http.MethodPost, c.URL(), c.Header(), []byte(body)); err != nil {
		return "", err
	}
	got, err := x.ReadAll(1 << 20)
	return string(got), err
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func wantRefused(t testing.TB, err error) *transport.RefusedError {
	t.Helper()
	refused, ok := errors.AsType[*transport.RefusedError](err)
	if !ok {
		t.Fatalf("got %v, want a *RefusedError", err)
	}
	return refused
}

// rawServer is a server that counts bodies and breaks the rules of HTTP.
type rawServer struct {
	net.Listener
	conns sync.WaitGroup

	mu   sync.Mutex
	seen map[string]int // complete requests by their body
}

// raw serves connections with handle until the test is over.
func raw(t testing.TB, handle func(s *rawServer, c net.Conn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{Listener: l, seen: map[string]int{}}
	s.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() {
				defer c.Close()
				handle(s, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.conns.Wait()
	})
	return s
}

func (s *rawServer) url() string { return "http://" + s.Addr().String() + "/mcp" }

// request reads one request and counts it.
func (s *rawServer) request(r *bufio.Reader) (string, bool) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return "", false
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[string(body)]++
	return string(body), true
}

func (s *rawServer) times(body string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[body]
}
