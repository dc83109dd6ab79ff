package streamhttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

// sessions is a server that names the sessions it is told to name.
type sessions struct {
	mu     sync.Mutex
	name   string // to be named in the next answers
	status int    // of the next answers; 0: 200
	got    []string
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := r.Header["Mcp-Session-Id"]
	if !ok {
		session = []string{"none"}
	}
	s.got = append(s.got, r.Method+" "+strings.Join(session, ",")+" "+r.Header.Get("Mcp-Protocol-Version"))
	if s.name != "" {
		w.Header()["Mcp-Session-Id"] = []string{s.name}
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

func (s *sessions) next(name string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name, s.status = name, status
}

// took returns the last request.
func (s *sessions) took() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) == 0 {
		return "nothing"
	}
	last := s.got[len(s.got)-1]
	s.got = nil
	return last
}

func TestSession(t *testing.T) {
	t.Parallel()
	stats := new(transport.Stats)
	s := &sessions{}
	c := conn(t, s.ServeHTTP, func(o *streamhttp.Options) { o.Stats = stats })
	step := func(link transport.Link, version, names, want string) {
		t.Helper()
		s.next(names, 0)
		f := call(link)
		f.Labels.Version = version
		got, err := ask(t, c, f)
		wantAnswer(t, got, err)
		if got := s.took(); got != want {
			t.Errorf("the server got %q, want %q", got, want)
		}
	}
	step(transport.LinkNone, "", "a", "POST none ")    // a probe: nothing is kept
	step(transport.LinkWithin, "", "b", "POST none ")  // only the opening frame begins a session
	step(transport.LinkOpen, "", "c", "POST none ")    // the opening frame
	step(transport.LinkWithin, "v1", "", "POST c v1")  // the session
	step(transport.LinkWithin, "v1", "c", "POST c v1") // repeated by the server
	step(transport.LinkWithin, "v1", "d", "POST c v1") // another one is ignored
	step(transport.LinkWithin, "v1", "", "POST c v1")  // for good
	step(transport.LinkNone, "v9", "", "POST none v9") // a frame that stands for itself
	step(transport.LinkOpen, "", "e", "POST none ")    // begins anew
	step(transport.LinkWithin, "v2", "e", "POST e v2") //
	if n := stats.Noise.Load(); n != 2 {
		t.Errorf("%d odd sessions counted, want b and d", n)
	}
	s.next("", 0)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.took(); got != "DELETE e v2" {
		t.Errorf("at the end the server got %q", got)
	}
	if err := c.Close(t.Context()); err != nil || s.took() != "nothing" {
		t.Errorf("a second Close: %v, or a second DELETE", err)
	}
}

func TestUnusableSessionIds(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a b", "a\tb", "é", strings.Repeat("x", 5000)} {
		s := &sessions{name: id}
		c := conn(t, s.ServeHTTP)
		for _, link := range []transport.Link{transport.LinkOpen, transport.LinkWithin} {
			got, err := ask(t, c, call(link))
			wantAnswer(t, got, err)
		}
		if got := s.took(); got != "POST none " {
			t.Errorf("%.20q: then the server got %.40q", id, got)
		}
		c.Close(t.Context())
		if got := s.took(); got != "nothing" {
			t.Errorf("%.20q: at the end the server got %.40q", id, got)
		}
	}
}

func TestNoFarewellToALostSession(t *testing.T) {
	t.Parallel()
	for status, last := range map[int]string{404: "nothing", 400: "DELETE a ", 500: "DELETE a "} {
		s := &sessions{name: "a"}
		c := conn(t, s.ServeHTTP)
		if _, err := ask(t, c, call(transport.LinkOpen)); err != nil {
			t.Fatal(err)
		}
		s.next("", status)
		_, err := ask(t, c, call(transport.LinkWithin))
		if e := want[*transport.RefusedError](t, err); e.Status != status || !e.Session {
			t.Errorf("%+v", e)
		}
		s.took()
		c.Close(t.Context())
		if got := s.took(); got != last {
			t.Errorf("after %d the server got %q, want %q", status, got, last)
		}
	}
}

// A 404 may be about something else: a later success within the session proves
// that it is well.
func TestFarewellAfterA404ThatMeantSomethingElse(t *testing.T) {
	t.Parallel()
	s := &sessions{name: "a"}
	c := conn(t, s.ServeHTTP)
	for _, step := range []struct {
		link   transport.Link
		status int
	}{{transport.LinkOpen, 0}, {transport.LinkWithin, 404}, {transport.LinkWithin, 0}} {
		s.next("a", step.status)
		_, _ = ask(t, c, call(step.link))
	}
	s.took()
	c.Close(t.Context())
	if got := s.took(); got != "DELETE a " {
		t.Errorf("the server got %q", got)
	}
}

func TestFarewellIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ patience, want time.Duration }{
		"by itself":    {time.Hour, 2 * time.Second},
		"by ctx":       {time.Second, time.Second},
		"ctx is ended": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cn := piped(t, func(w http.ResponseWriter, r *http.Request) {
					if swallow(r); r.Method == http.MethodDelete {
						<-r.Context().Done()
						return
					}
					w.Header().Set("Mcp-Session-Id", "a")
					_, _ = io.WriteString(w, answer)
				})
				if _, err := ask(t, cn, call(transport.LinkOpen)); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.patience)
				defer cancel()
				began := time.Now()
				_ = cn.Close(ctx)
				if d := time.Since(began); d != c.want {
					t.Errorf("Close took %v, want %v", d, c.want)
				}
			})
		})
	}
}
