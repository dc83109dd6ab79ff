package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/sse"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`

var errWeary = errors.New("weary")

// server is an HTTP+SSE server for one link. What is sent to events is written
// to the stream; closing it ends the stream.
type server struct {
	*httptest.Server
	first  string // what the stream begins with
	events chan string
	post   http.HandlerFunc // nil: 202

	conns atomic.Int32
}

func serve(t *testing.T, first string, post http.HandlerFunc) *server {
	t.Helper()
	s := &server{first: first, events: make(chan string), post: post}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if s.post == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		s.post(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, s.first)
	w.(http.Flusher).Flush()
	for {
		select {
		case ev, ok := <-s.events:
			if !ok {
				return
			}
			if ev == "cut" {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprint(w, ev)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

const endpoint = "event: endpoint\ndata: /messages?session=1\n\n"

func (s *server) dial(t *testing.T, change ...func(*sse.Options)) (transport.Conn, error) {
	t.Helper()
	o := sse.Options{URL: s.URL + "/sse"}
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // it bounds the dialling only
	c, err := sse.Dialer{Options: o}.Dial(ctx)
	if err == nil {
		t.Cleanup(func() { c.Close(context.Background()) })
	}
	return c, err
}

func (s *server) open(t *testing.T, change ...func(*sse.Options)) transport.Conn {
	t.Helper()
	c, err := s.dial(t, change...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listening runs Listen and returns what comes, and how it ends.
func listening(t *testing.T, c transport.Conn) (frames chan transport.Inbound, ended chan error) {
	frames, ended = make(chan transport.Inbound, 100), make(chan error, 1)
	go func() {
		ended <- c.Listen(t.Context(), func(in transport.Inbound) error {
			frames <- in
			return nil
		})
	}()
	return frames, ended
}

func frame(body string) transport.Frame { return transport.Frame{Body: []byte(body), Expects: true} }

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, path string }{
		"relative to root":  {endpoint, "/messages?session=1"},
		"relative":          {"event: endpoint\ndata: messages/\n\n", "/messages/"},
		"query only":        {"event: endpoint\ndata: ?s=2\n\n", "/sse?s=2"},
		"absolute":          {"event: endpoint\ndata: URL/m#top\n\n", "/m"},
		"signs of life":     {": hi\n\nevent: ping\ndata: x\n\nid: 1\n\nretry: 5\n\n" + endpoint, "/messages?session=1"},
		"CRLF, one more LF": {"event: endpoint\r\ndata:  /m \r\n\r\n\n", "/m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			posted := make(chan *http.Request, 1)
			s := serve(t, c.first, func(w http.ResponseWriter, r *http.Request) {
				posted <- r
				w.WriteHeader(http.StatusAccepted)
			})
			s.first = strings.Replace(s.first, "URL", s.URL, 1)
			cn := s.open(t, func(o *sse.Options) { o.Header = http.Header{"Authorization": {"Bearer x"}} })
			f := frame("{}")
			f.Labels = transport.Labels{Version: "v", Method: "m", Name: "n", HasName: true, Trace: []transport.Label{{Name: "traceparent", Value: "t"}, {Name: "authorization", Value: "other"}}}
			if err := cn.Send(t.Context(), f, nil); err != nil {
				t.Fatal(err)
			}
			r := <-posted
			if r.RequestURI != c.path {
				t.Errorf("posted to %s, want %s", r.RequestURI, c.path)
			}
			h := r.Header
			if h.Get("Authorization") != "Bearer x" || h.Get("Content-Type") != "application/json" || h.Get("Traceparent") != "t" {
				t.Errorf("%v", h)
			}
			for name := range h {
				if strings.HasPrefix(name, "Mcp-") {
					t.Errorf("%s is sent", name)
				}
			}
		})
	}
}

func TestDialFails(t *testing.T) {
	transporttest.Leak(t)
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		text string
	}{
		"405":        {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "POST only", http.StatusMethodNotAllowed) }, "HTTP 405: Method Not Allowed: POST only"},
		"HTML":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, `unreadable message: HTTP 200 with content type "text/html" is no event stream`},
		"ends":       {stream(": hi\n\n"), "unreadable message: event stream ended without an endpoint"},
		"message":    {stream("data: {}\n\n" + endpoint), "unreadable message: event stream does not begin with an endpoint"},
		"much else":  {stream(strings.Repeat("event: ping\ndata: x\n\n", 20) + endpoint), "unreadable message: event stream does not begin with an endpoint"},
		"empty":      {stream("event: endpoint\ndata:\n\n"), "unreadable message: endpoint is empty"},
		"no URL":     {stream("event: endpoint\ndata: http://%zz\n\n"), `unreadable message: endpoint: parse "http://%zz": invalid URL escape "%zz"`},
		"other port": {stream("event: endpoint\ndata: http://127.0.0.1:1/x\n\n"), "HTTP 200: redirect to another origin refused: http://127.0.0.1:1/x"},
		"other host": {stream("event: endpoint\ndata: //u:p@evil.example/x?y\n\n"), "HTTP 200: redirect to another origin refused: http://evil.example/x?y"},
		"not http":   {stream("event: endpoint\ndata: file:///etc/passwd\n\n"), "HTTP 200: redirect to another origin refused: file:///etc/passwd"},
		"leads away": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://evil.example/")
			w.WriteHeader(307)
		}, "HTTP 307: redirect to another origin refused: http://evil.example/"},
		"cut":         {func(w http.ResponseWriter, r *http.Request) { stream(": hi\n\n")(w, r); panic(http.ErrAbortHandler) }, "connection lost: unexpected EOF"},
		"cut at once": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connection lost: EOF"},
	} {
		s := httptest.NewServer(c.h)
		conn, err := sse.Dialer{Options: sse.Options{URL: s.URL}}.Dial(t.Context())
		if conn != nil || err == nil || !errors.Is(err, transport.ErrNotSent) || err.Error() != c.text {
			t.Errorf("%s: %v, want %s", name, err, c.text)
		}
		s.Close()
	}
	if _, err := (sse.Dialer{Options: sse.Options{URL: "mcp"}}).Dial(t.Context()); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("got %v", err)
	}
}

func stream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, text)
		w.(http.Flusher).Flush()
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	transporttest.Leak(t)
	for name, first := range map[string]string{"no status": "", "no endpoint": ": hi\n\n"} {
		arrived := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if first != "" {
				stream(first)(w, r)
			}
			close(arrived)
			<-r.Context().Done()
		}))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-arrived; cancel(errWeary) }()
		_, err := sse.Dialer{Options: sse.Options{URL: s.URL}}.Dial(ctx)
		if !errors.Is(err, errWeary) || !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%s: got %v", name, err)
		}
		s.Close()
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	stats := new(transport.Stats)
	s := serve(t, endpoint, nil)
	c := s.open(t, func(o *sse.Options) { o.Stats, o.MaxMessageBytes = stats, 10_000 })
	if b := c.Binding(); b != (transport.Binding{Name: "sse", Peer: s.URL + "/sse", Shared: true}) {
		t.Errorf("%+v", b)
	}
	frames, ended := listening(t, c)
	big := strings.Repeat("b", 10_000) + "TAIL"
	for _, ev := range []string{
		"event: message\ndata: {\"n\":1}\n\n", ": ping\n\n", "event: other\ndata: {}\n\n", "data:\n\n", "data: tick\n\n", endpoint,
		"data: " + big + "\n\n", "data: {\"n\":2}\n\n",
	} {
		s.events <- ev
	}
	if in := <-frames; string(in.Body) != `{"n":1}` {
		t.Errorf("got %q", in.Body)
	}
	if in := <-frames; in.Size != int64(len(big)) || !strings.HasPrefix(big, string(in.Body)) || !strings.HasSuffix(big, string(in.Tail)) || len(in.Body) == 0 || len(in.Tail) == 0 {
		t.Errorf("size %d, %d bytes of the beginning, %d of the end", in.Size, len(in.Body), len(in.Tail))
	}
	if in := <-frames; string(in.Body) != `{"n":2}` {
		t.Errorf("got %q", in.Body)
	}
	if stats.Noise.Load() != 1 || stats.TooLarge.Load() != 1 || stats.FramesIn.Load() != 3 {
		t.Errorf("noise %d, too large %d, frames %d", stats.Noise.Load(), stats.TooLarge.Load(), stats.FramesIn.Load())
	}
	close(s.events)
	err := <-ended
	if _, ok := errors.AsType[*transport.LostError](err); !ok || err.Error() != "connection lost: event stream ended" {
		t.Errorf("Listen: %v", err)
	}
	// Nothing leaves over a link whose answers nobody would get.
	err = c.Send(t.Context(), frame("{}"), nil)
	if _, ok := errors.AsType[*transport.LostError](err); !ok || !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send: %v", err)
	}
}

func TestStreamCut(t *testing.T) {
	t.Parallel()
	s := serve(t, endpoint, nil)
	_, ended := listening(t, s.open(t))
	s.events <- "cut"
	if _, ok := errors.AsType[*transport.LostError](<-ended); !ok {
		t.Error("no *LostError")
	}
}

// Some servers put the answer into the body of the POST.
func TestAnswerInTheBody(t *testing.T) {
	t.Parallel()
	stats := new(transport.Stats)
	s := serve(t, endpoint, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch string(b) {
		case `"json"`:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		case `"text"`:
			w.WriteHeader(202)
			fmt.Fprint(w, "Accepted")
		case `"empty"`:
			w.WriteHeader(204)
		case `"stream"`:
			stream("data: {}\n\n")(w, r)
		case `"big"`:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "%s", strings.Repeat("1", 1001))
		case `"cut"`:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		case `"cut text"`:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "Acc")
		}
	})
	c := s.open(t, func(o *sse.Options) { o.MaxMessageBytes, o.Stats = 1000, stats })
	if err := c.Send(t.Context(), frame(`"json"`), nil); err != nil || stats.Noise.Load() != 1 {
		t.Errorf("nobody listens: %v, %d counted", err, stats.Noise.Load())
	}
	frames, ended := listening(t, c)
	s.events <- "data: {}\n\n"
	<-frames // so that Listen runs
	for _, how := range []string{"text", "empty", "stream", "cut text", "json"} {
		if err := c.Send(t.Context(), frame(`"`+how+`"`), nil); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
	if err := c.Send(t.Context(), transport.Frame{Body: []byte(`"json"`)}, nil); err != nil {
		t.Error(err) // expects no answer, so its body is none
	}
	_, isBig := errors.AsType[*transport.TooLargeError](c.Send(t.Context(), frame(`"big"`), nil))
	_, isNone := errors.AsType[*transport.NoReplyError](c.Send(t.Context(), frame(`"cut"`), nil))
	if !isBig || !isNone {
		t.Errorf("too large: %t, cut: %t", isBig, isNone)
	}
	c.Close(t.Context())
	if err := <-ended; err != transport.ErrClosed {
		t.Errorf("Listen: %v", err)
	}
	var got []string
	close(frames)
	for in := range frames {
		got = append(got, string(in.Body))
	}
	if !slices.Equal(got, []string{answer}) {
		t.Errorf("got %q", got)
	}
}

func TestSinkErrorFromThePostEndsListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ err, want error }{{errWeary, errWeary}, {transport.ErrEnough, nil}} {
		// One server a case: the stream of the first would take the second's event.
		s := serve(t, endpoint, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		cn := s.open(t)
		begun, ended := make(chan struct{}, 1), make(chan error)
		go func() {
			ended <- cn.Listen(t.Context(), func(in transport.Inbound) error {
				if string(in.Body) == answer {
					return c.err
				}
				begun <- struct{}{}
				return nil
			})
		}()
		s.events <- "data: {}\n\n"
		<-begun
		if err := cn.Send(t.Context(), frame("{}"), nil); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != c.want {
			t.Errorf("Listen returned %v, want %v", err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	var other atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	s := serve(t, endpoint, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if string(b) == `"away"` {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			return
		}
		http.Error(w, "Could not find session", 404)
	})
	c := s.open(t, func(o *sse.Options) { o.Header = http.Header{"Authorization": {"Bearer x"}} })
	e, ok := errors.AsType[*transport.RefusedError](c.Send(t.Context(), frame("{}"), nil))
	if !ok || e.Status != 404 || e.Text != "Not Found: Could not find session" || e.Session {
		t.Errorf("%+v", e)
	}
	e, ok = errors.AsType[*transport.RefusedError](c.Send(t.Context(), frame(`"away"`), nil))
	if !ok || e.Status != 307 || e.Location != elsewhere.URL || other.Load() != 0 {
		t.Errorf("%+v; %d requests went there", e, other.Load())
	}
}

func TestSendAtMostOnce(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	s := serve(t, endpoint, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		n.Add(1)
		panic(http.ErrAbortHandler)
	})
	c := s.open(t, func(o *sse.Options) { o.Header = http.Header{"Idempotency-Key": {"1"}} })
	for i := range 5 {
		err := c.Send(t.Context(), frame("{}"), nil)
		if _, ok := errors.AsType[*transport.LostError](err); !ok || errors.Is(err, transport.ErrNotSent) || n.Load() != int32(i+1) {
			t.Errorf("%v after %d requests", err, n.Load())
		}
	}
	s.Listener.Close()
	if err := c.Send(t.Context(), frame("{}"), nil); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, endpoint, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.WriteHeader(202)
		fmt.Fprint(w, "Accepted")
	})
	c := s.open(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if err := c.Send(t.Context(), frame("{}"), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.conns.Load(); n > 1+8 {
		t.Errorf("%d connections", n)
	}
}

// Close without Listen ever having run.
func TestCloseLeavesNothing(t *testing.T) {
	transporttest.Leak(t)
	s := serve(t, endpoint, nil)
	c, err := s.dial(t)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Close(t.Context()); err != nil || time.Since(began) > time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if err := c.Listen(t.Context(), nil); err != transport.ErrClosed {
		t.Errorf("Listen after Close: %v", err)
	}
}

// When Listen has returned, its sink is its owner's again, also for an answer in
// the body of a POST that was on its way.
func TestNoSinkAfterListen(t *testing.T) {
	t.Parallel()
	stats := new(transport.Stats)
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, endpoint, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		fmt.Fprint(w, answer)
	})
	c := s.open(t, func(o *sse.Options) { o.Stats = stats })
	ctx, cancel := context.WithCancelCause(t.Context())
	ended, sent := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- c.Listen(ctx, func(in transport.Inbound) error {
			t.Errorf("the sink was given %q", in.Body)
			return nil
		})
	}()
	go func() { sent <- c.Send(t.Context(), frame("{}"), nil) }()
	<-arrived
	cancel(errWeary)
	if err := <-ended; err != errWeary {
		t.Errorf("Listen: %v", err)
	}
	close(release)
	if err := <-sent; err != nil || stats.Noise.Load() != 1 {
		t.Errorf("Send: %v, %d counted", err, stats.Noise.Load())
	}
}
