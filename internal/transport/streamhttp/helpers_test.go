package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`

// conn makes a link to a server on a socket.
func conn(t testing.TB, h http.HandlerFunc, change ...func(*streamhttp.Options)) *streamhttp.Conn {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return connTo(t, s.URL+"/mcp", change...)
}

func connTo(t testing.TB, url string, change ...func(*streamhttp.Options)) *streamhttp.Conn {
	t.Helper()
	o := streamhttp.Options{URL: url}
	for _, f := range change {
		f(&o)
	}
	c, err := streamhttp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// piped makes a link to a server on pipes in memory, for synctest bubbles. Call
// it in the bubble; the link and the server are closed with the test.
func piped(t *testing.T, h http.HandlerFunc, change ...func(*streamhttp.Options)) *streamhttp.Conn {
	t.Helper()
	tr := pipedTransport(t, h)
	change = append([]func(*streamhttp.Options){func(o *streamhttp.Options) { o.RoundTripper = tr }}, change...)
	return connTo(t, "http://server/mcp", change...)
}

// pipedTransport is the way to a server on pipes.
func pipedTransport(t *testing.T, h http.HandlerFunc) *http.Transport {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	tr := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
		<-served
	})
	return tr
}

type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// call is a frame that expects an answer.
func call(link transport.Link) transport.Frame {
	return transport.Frame{Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`), Expects: true, Link: link}
}

// ask sends f and returns all that came, until the answer.
func ask(t testing.TB, c *streamhttp.Conn, f transport.Frame) ([]string, error) {
	return askCtx(t.Context(), c, f)
}

func askCtx(ctx context.Context, c *streamhttp.Conn, f transport.Frame) (got []string, err error) {
	err = c.Send(ctx, f, func(in transport.Inbound) error {
		s := string(in.Body)
		if in.Note != "" {
			s += " (" + in.Note + ")"
		}
		got = append(got, s)
		if string(in.Body) == answer || in.Note != "" {
			return transport.ErrEnough
		}
		return nil
	})
	return got, err
}

func wantAnswer(t testing.TB, got []string, err error, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{answer}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %.300q, %v; want %.300q", got, err, want)
	}
}

// want is the error as the type that is wanted; it never promises "not sent".
func want[T error](t testing.TB, err error) T {
	t.Helper()
	e, ok := errors.AsType[T](err)
	if !ok || errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %T %v, want a %T", err, err, *new(T))
	}
	return e
}

// begin begins an event stream.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

func emit(w http.ResponseWriter, format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.(http.Flusher).Flush()
}

// hangUp breaks the connection in the middle of an answer.
func hangUp() { panic(http.ErrAbortHandler) }

// swallow reads a request's body, without which the server does not notice when
// the client goes.
func swallow(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	return string(b)
}
