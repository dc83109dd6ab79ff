package streamhttp_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func answerJSON(w http.ResponseWriter, r *http.Request) {
	swallow(r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

// lingers answers, and ends the stream only later.
func lingers(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		swallow(r)
		begin(w)
		emit(w, "data: %s\n\n", answer)
		if d > 0 {
			<-time.After(d)
		}
	}
}

// counted serves h and counts connections.
func counted(t *testing.T, h http.HandlerFunc) (url string, conns *atomic.Int64) {
	conns = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, conns
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		most int64
	}{
		"JSON":           {answerJSON, 1},
		"stream":         {lingers(0), 20},
		"stream lingers": {lingers(time.Millisecond), 100},
		"stream, notes behind it": {func(w http.ResponseWriter, r *http.Request) {
			lingers(0)(w, r)
			emit(w, "data: {}\n\ndata: {}\n\n")
		}, 20},
		"status only": {func(w http.ResponseWriter, r *http.Request) { swallow(r); http.Error(w, "no", 400) }, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, conns := counted(t, c.h)
			cn := connTo(t, url)
			for range 1000 {
				if _, err := ask(t, cn, call(transport.LinkWithin)); err != nil && name != "status only" {
					t.Fatal(err)
				}
			}
			if n := conns.Load(); n > c.most {
				t.Errorf("%d connections for 1000 calls", n)
			}
		})
	}
}

// A server that never ends its streams costs a connection a call, but neither
// time nor goroutines.
func TestServerNeverEndsItsStreams(t *testing.T) {
	transporttest.Leak(t)
	gone := make(chan struct{}, 300)
	url, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		lingers(0)(w, r)
		<-r.Context().Done()
		gone <- struct{}{}
	})
	c := connTo(t, url)
	began := time.Now()
	for range 300 {
		got, err := ask(t, c, call(transport.LinkNone))
		wantAnswer(t, got, err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("300 calls took %v", d)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for range 300 {
		<-gone // each stream is hung up
	}
}

func TestRedirectedCallsUseOneConnection(t *testing.T) {
	t.Parallel()
	url, conns := counted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		if body := swallow(r); body != string(call(0).Body) {
			t.Errorf("body %q", body)
		}
		answerJSON(w, r)
	})
	c := connTo(t, url+"/mcp")
	for range 100 {
		got, err := ask(t, c, call(transport.LinkWithin))
		wantAnswer(t, got, err)
	}
	if n := conns.Load(); n > 10 {
		t.Errorf("%d connections for 100 calls", n)
	}
}

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10 << 10, 1 << 20} {
		body := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`
		for name, h := range map[string]http.HandlerFunc{
			"json": func(w http.ResponseWriter, r *http.Request) {
				swallow(r)
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				_, _ = io.WriteString(w, body)
			},
			"sse": func(w http.ResponseWriter, r *http.Request) {
				swallow(r)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: "+body+"\n\n")
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) { benchmarkCall(b, h) })
		}
	}
}

// benchmarkCall calls a server in this process, whose share is in the figures:
// see BenchmarkCallAlone.
func benchmarkCall(b *testing.B, h http.HandlerFunc) {
	s := httptest.NewServer(h)
	defer s.Close()
	c := connTo(b, s.URL, func(o *streamhttp.Options) { o.Header = http.Header{"Authorization": {"Bearer x"}} })
	f := call(transport.LinkNone)
	f.Labels = transport.Labels{Version: "2026-07-28", Method: "tools/call", Name: "echo", HasName: true}
	enough := func(transport.Inbound) error { return transport.ErrEnough }
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(ctx, f, enough); err != nil {
			b.Fatal(err)
		}
	}
}

// canned is a server whose part costs nothing: it plays answers to a client that
// is known to have sent a whole request at once.
func canned(b *testing.B, answer string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf, out := make([]byte, 64<<10), []byte(answer)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					if _, err := c.Write(out); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// BenchmarkCallAlone has no server's allocations in it.
func BenchmarkCallAlone(b *testing.B) {
	event := "data: " + answer + "\n\n"
	for name, wire := range map[string]string{
		"json": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer),
		"sse":  fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(event), event),
	} {
		b.Run(name, func(b *testing.B) {
			c := connTo(b, canned(b, wire), func(o *streamhttp.Options) { o.Header = http.Header{"Authorization": {"Bearer x"}} })
			f := call(transport.LinkNone)
			f.Labels = transport.Labels{Version: "2026-07-28", Method: "tools/call", Name: "echo", HasName: true}
			enough := func(transport.Inbound) error { return transport.ErrEnough }
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Send(b.Context(), f, enough); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
