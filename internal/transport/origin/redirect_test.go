package origin_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

func TestRedirectWithinTheOrigin(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308} {
		var first, second atomic.Int32
		var auth, body, method atomic.Value
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp" {
				first.Add(1)
				w.Header().Set("Location", "/mcp/?x=1#top")
				w.WriteHeader(status)
				return
			}
			second.Add(1)
			b, _ := io.ReadAll(r.Body)
			auth.Store(r.Header.Get("Authorization"))
			body.Store(string(b))
			method.Store(r.Method)
			_, _ = io.WriteString(w, r.URL.RequestURI())
		})
		c := client(t, origin.Options{URL: s.URL + "/mcp", Header: http.Header{"Authorization": {"Bearer x"}}})
		got, err := post(t, c, "the body")
		if err != nil || got != "/mcp/?x=1" {
			t.Fatalf("%d: %q, %v", status, got, err)
		}
		if method.Load() != "POST" || body.Load() != "the body" || auth.Load() != "Bearer x" || first.Load() != 1 || second.Load() != 1 {
			t.Errorf("%d: %v with body %q and %q; %d and %d requests", status, method.Load(), body.Load(), auth.Load(), first.Load(), second.Load())
		}
	}
}

// 303 may mean that the request was carried out.
func TestSeeOtherIsNotFollowed(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, "/done", http.StatusSeeOther)
	})
	_, err := post(t, client(t, origin.Options{URL: s.URL + "/mcp"}), "{}")
	if e := wantRefused(t, err); e.Status != 303 || e.Location != "" || !strings.Contains(e.Text, "/done") || n.Load() != 1 {
		t.Errorf("%+v after %d requests", e, n.Load())
	}
}

func TestRedirectToAnotherOriginSendsNothingThere(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var conns atomic.Int32
		other := raw(t, func(*rawServer, net.Conn) { conns.Add(1) })
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://user:pass@"+other.Addr().String()+"/mcp?a=b")
			w.WriteHeader(status)
		})
		_, err := post(t, client(t, origin.Options{URL: s.URL, Header: http.Header{"Authorization": {"Bearer secret"}}}), "{}")
		e := wantRefused(t, err)
		if want := other.url() + "?a=b"; e.Location != want || e.Status != status {
			t.Errorf("%d: %+v, want Location %s", status, e, want)
		}
		if errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%d: the first server has seen it, but %v", status, err)
		}
		other.Close()
		other.conns.Wait()
		if conns.Load() != 0 {
			t.Errorf("%d: there was a connection to the other origin", status)
		}
	}
}

func TestRedirectsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	for location, want := range map[string]struct {
		requests int32
		text     string
	}{
		"/mcp":        {6, "too many redirects"},
		"":            {1, "Temporary Redirect"},
		"http://%zz/": {1, "no URL"},
	} {
		n.Store(0)
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		c := client(t, origin.Options{URL: s.URL + "/mcp"})
		x, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = x.Do(http.MethodPost, c.URL(), c.Header(), []byte("{}")); err == nil {
			err = x.Refusal()
		}
		x.End()
		if e := wantRefused(t, err); e.Status != 307 || !strings.Contains(e.Text, want.text) || n.Load() != want.requests {
			t.Errorf("%q: %v after %d requests", location, e, n.Load())
		}
	}
}

// After a redirect the server has seen the request, so that a broken second try
// is not "not sent".
func TestLostBehindARedirect(t *testing.T) {
	t.Parallel()
	srv := raw(t, func(s *rawServer, c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		s.Close() // nobody gets a connection any more
		_, _ = io.WriteString(c, "HTTP/1.1 307 Go\r\nLocation: /x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	})
	_, err := post(t, client(t, origin.Options{URL: srv.url()}), "{}")
	if _, ok := errors.AsType[*transport.LostError](err); !ok || errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v", err)
	}
}
