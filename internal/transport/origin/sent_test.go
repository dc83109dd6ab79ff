package origin_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// For every k, the connection is cut when k bytes of the request have arrived.
// Only before the first byte may an error promise that nothing was sent.
func TestCutAfterEveryByte(t *testing.T) {
	t.Parallel()
	const frame = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`
	cut := make(chan int, 1)
	s := raw(t, func(_ *rawServer, c net.Conn) {
		_, _ = io.CopyN(io.Discard, c, int64(<-cut))
	})
	size := requestSize(t, "/mcp", frame)
	for k := 0; k <= size; k++ {
		c := client(t, origin.Options{URL: s.url()})
		cut <- k
		_, err := post(t, c, frame)
		if err == nil {
			t.Fatalf("k=%d: no error", k)
		}
		if k >= 1 && errors.Is(err, transport.ErrNotSent) {
			t.Fatalf("k=%d: %v says that nothing was sent", k, err)
		}
		if _, ok := errors.AsType[*transport.LostError](err); !ok {
			t.Fatalf("k=%d: got %v, want a *LostError", k, err)
		}
		c.Close()
	}
}

// requestSize returns how many bytes a post has on the wire.
func requestSize(t *testing.T, path, body string) int {
	size := make(chan int, 1)
	s := raw(t, func(s *rawServer, c net.Conn) {
		var seen countingWriter
		s.request(bufio.NewReaderSize(io.TeeReader(c, &seen), 16)) // reads no more than it needs
		size <- int(seen)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	if _, err := post(t, client(t, origin.Options{URL: s.url()}), body); err != nil {
		t.Fatal(err)
	}
	return <-size
}

type countingWriter int

func (w *countingWriter) Write(b []byte) (int, error) {
	*w += countingWriter(len(b))
	return len(b), nil
}

func TestNoConnectionIsNotSent(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS() // with a certificate that nobody trusts
	defer secure.Close()
	for name, url := range map[string]string{"refused": gone.URL, "certificate": secure.URL, "not TLS": strings.Replace(serve(t, nil).URL, "http:", "https:", 1)} {
		_, err := post(t, client(t, origin.Options{URL: url}), "{}")
		if _, ok := errors.AsType[*transport.LostError](err); !ok || !errors.Is(err, transport.ErrNotSent) || !strings.HasPrefix(err.Error(), "cannot connect: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestContextEndsWhileConnecting(t *testing.T) {
	t.Parallel()
	connected := make(chan struct{})
	hold := make(chan struct{})
	s := raw(t, func(*rawServer, net.Conn) { close(connected); <-hold }) // no TLS handshake
	defer close(hold)
	c := client(t, origin.Options{URL: "https://" + s.Addr().String()})
	ctx, cancel := context.WithCancelCause(t.Context())
	weary := errors.New("weary")
	go func() { <-connected; cancel(weary) }()
	x, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	_, err = x.Do(http.MethodPost, c.URL(), c.Header(), []byte("{}"))
	if !errors.Is(err, weary) || !errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v, want the cause and ErrNotSent", err)
	}
}

func TestContextEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(arrived)
		<-r.Context().Done()
	})
	c := client(t, origin.Options{URL: s.URL})
	ctx, cancel := context.WithCancelCause(t.Context())
	weary := errors.New("weary")
	go func() { <-arrived; cancel(weary) }()
	x, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	_, err = x.Do(http.MethodPost, c.URL(), c.Header(), []byte("{}"))
	if err != weary {
		t.Fatalf("got %v, want the cause and no ErrNotSent", err)
	}
}

// net/http repeats a request with this header by itself if it can read the body
// once more.
func TestIdempotencyKeyDoesNotRepeat(t *testing.T) {
	t.Parallel()
	s := raw(t, func(s *rawServer, c net.Conn) {
		r := bufio.NewReader(c)
		for {
			body, ok := s.request(r)
			if !ok || body == "lose me" {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := client(t, origin.Options{URL: s.url(), Header: http.Header{"Idempotency-Key": {"1"}, "X-Idempotency-Key": {"1"}}})
	for i := range 20 {
		if _, err := post(t, c, fmt.Sprint("first ", i)); err != nil {
			t.Fatal(err) // so that the next one goes out on a connection from before
		}
		_, err := post(t, c, "lose me")
		if _, ok := errors.AsType[*transport.LostError](err); !ok || errors.Is(err, transport.ErrNotSent) {
			t.Fatalf("got %v", err)
		}
		if n := s.times("lose me"); n != i+1 {
			t.Fatalf("sent %d times in %d calls", n, i+1)
		}
	}
}

// A server that closes idle connections without a word, at the worst moment.
// Whatever becomes of a request, it is seen once at most, and never after
// ErrNotSent.
func TestServerClosesIdleConnections(t *testing.T) {
	t.Parallel()
	s := raw(t, func(s *rawServer, c net.Conn) {
		if _, ok := s.request(bufio.NewReader(c)); ok {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := client(t, origin.Options{URL: s.url()})
	ok := 0
	for i := range 500 {
		body := fmt.Sprint("call ", i)
		_, err := post(t, c, body)
		switch n := s.times(body); {
		case n > 1:
			t.Fatalf("%s was seen %d times", body, n)
		case err == nil && n != 1:
			t.Fatalf("%s was answered and never seen", body)
		case errors.Is(err, transport.ErrNotSent) && n != 0:
			t.Fatalf("%s was seen; the error is %v", body, err)
		case err == nil:
			ok++
		}
	}
	if ok < 100 {
		t.Errorf("only %d of 500 got through", ok)
	}
}

func TestForeignConnectionsProveNothing(t *testing.T) {
	t.Parallel()
	s := raw(t, func(*rawServer, net.Conn) {})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	if _, err := post(t, client(t, origin.Options{URL: s.url(), RoundTripper: tr}), "{}"); err == nil || errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v", err)
	}
	s.Close()
	if _, err := post(t, client(t, origin.Options{URL: s.url(), RoundTripper: tr}), "{}"); !errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("without a connection: %v", err)
	}
}

// The server answers before it has read the body. After that the caller may use
// the bytes again; the race detector watches.
func TestBodyIsTheCallersAgain(t *testing.T) {
	t.Parallel()
	s := raw(t, func(s *rawServer, c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		_, _ = io.Copy(io.Discard, c)
	})
	body := make([]byte, 32<<20)
	for range 5 {
		c := client(t, origin.Options{URL: s.url()})
		x, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = x.Do(http.MethodPost, c.URL(), c.Header(), body); err == nil {
			_, err = x.ReadAll(10)
		}
		x.End()
		for i := 0; i < len(body); i += 4096 {
			body[i]++
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
