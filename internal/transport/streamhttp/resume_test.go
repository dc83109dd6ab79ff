package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

// cutter is a server that answers a call with five events, of which the last is
// the answer, and ends the stream after each, if it is not told otherwise.
type cutter struct {
	each   int    // events a stream
	breaks bool   // it breaks the connection instead of ending the stream
	fields string // of the first event

	mu       sync.Mutex
	executed int
	asked    []string // Last-Event-ID, and the time since the call
	began    time.Time
	refuse   int // status of every GET
	idle     bool
	headers  http.Header // of the last GET
}

func (s *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	swallow(r)
	from := 0
	s.mu.Lock()
	switch r.Method {
	case http.MethodPost:
		s.executed++
		s.began = time.Now()
	case http.MethodGet:
		last := r.Header.Get("Last-Event-Id")
		from, _ = strconv.Atoi(last)
		s.asked = append(s.asked, fmt.Sprint(last, "@", time.Since(s.began)))
		s.headers = r.Header
		if s.refuse != 0 {
			w.WriteHeader(s.refuse)
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	begin(w)
	if s.idle && r.Method == http.MethodGet {
		return
	}
	for i := from + 1; i <= min(from+s.each, 5); i++ {
		data := fmt.Sprintf(`{"n":%d}`, i)
		if i == 5 {
			data = answer
		}
		fields := ""
		if i == 1 {
			fields = s.fields
		}
		emit(w, "%sid: %d\ndata: %s\n\n", fields, i, data)
	}
	if s.breaks {
		hangUp()
	}
}

func all5() []string { return []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, answer} }

func TestResumeAfterEachEvent(t *testing.T) {
	for _, breaks := range []bool{false, true} {
		for each := 1; each <= 5; each++ {
			synctest.Test(t, func(t *testing.T) {
				stats := new(transport.Stats)
				s := &cutter{each: each, breaks: breaks}
				c := piped(t, s.ServeHTTP, func(o *streamhttp.Options) { o.Stats = stats })
				got, err := ask(t, c, call(transport.LinkWithin))
				wantAnswer(t, got, err, all5()...)
				if s.executed != 1 {
					t.Errorf("executed %d times", s.executed)
				}
				var asked []string
				for i := each; i < 5; i += each {
					asked = append(asked, fmt.Sprintf("%d@%v", i, time.Duration(len(asked)+1)*time.Second))
				}
				if !slices.Equal(s.asked, asked) || stats.Resumed.Load() != int64(len(asked)) {
					t.Errorf("asked %q, want %q; counted %d", s.asked, asked, stats.Resumed.Load())
				}
			})
		}
	}
}

func TestResumeWaitsAsLongAsTheServerSays(t *testing.T) {
	for retry, pause := range map[string]time.Duration{
		"retry: 500\n": 500 * time.Millisecond, "retry: 0\n": 100 * time.Millisecond, "retry: 3600000\n": time.Minute, "retry: x\n": time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &cutter{each: 4, fields: retry}
			c := piped(t, s.ServeHTTP)
			got, err := ask(t, c, call(transport.LinkWithin))
			wantAnswer(t, got, err, all5()...)
			if want := "4@" + pause.String(); len(s.asked) != 1 || s.asked[0] != want {
				t.Errorf("%q: asked %q, want %q", retry, s.asked, want)
			}
		})
	}
}

func TestResumeNamesSessionAndRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cutter{each: 4}
		c := piped(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Mcp-Session-Id", "s1")
			s.ServeHTTP(w, r)
		}, func(o *streamhttp.Options) { o.Header = http.Header{"Authorization": {"Bearer x"}} })
		for _, link := range []transport.Link{transport.LinkOpen, transport.LinkWithin} {
			f := call(link)
			f.Labels.Version = "v1"
			_, _ = ask(t, c, f)
		}
		h := s.headers
		if h.Get("Mcp-Session-Id") != "s1" || h.Get("Mcp-Protocol-Version") != "v1" || h.Get("Accept") != "text/event-stream" || h.Get("Authorization") != "Bearer x" {
			t.Errorf("%v", h)
		}
		if h.Get("Content-Type") != "" {
			t.Error("a GET with a content type")
		}
	})
}

func TestResumeIsRefused(t *testing.T) {
	for _, status := range []int{400, 404, 405, 503, 204, 303} {
		synctest.Test(t, func(t *testing.T) {
			s := &cutter{each: 4, refuse: status}
			c := piped(t, s.ServeHTTP)
			_, err := ask(t, c, call(transport.LinkWithin))
			e := want[*transport.NoReplyError](t, err)
			if e.Status != 200 || e.Err == nil || !strings.Contains(e.Error(), strconv.Itoa(status)) {
				t.Errorf("%v", e)
			}
			// Else someone would believe that the call itself was refused, and send it
			// again.
			if _, ok := errors.AsType[*transport.RefusedError](err); ok {
				t.Error("the error holds a *RefusedError")
			}
			if len(s.asked) != 1 || s.executed != 1 {
				t.Errorf("asked %q, executed %d times", s.asked, s.executed)
			}
		})
	}
}

func TestResumeInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cutter{each: 4, idle: true} // each new stream ends without an event
		c := piped(t, s.ServeHTTP)
		_, err := ask(t, c, call(transport.LinkWithin))
		want[*transport.NoReplyError](t, err)
		if asked := []string{"4@1s", "4@3s", "4@7s", "4@15s", "4@31s"}; !slices.Equal(s.asked, asked) {
			t.Errorf("asked %q, want %q", s.asked, asked)
		}
	})
}

// The server is away for a while: a refused connection to it does not mean that
// the call was not sent.
func TestResumeWhileTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cutter{each: 4, breaks: true}
		var tr *away
		c := piped(t, s.ServeHTTP, func(o *streamhttp.Options) { tr = &away{}; o.RoundTripper = tr })
		tr.RoundTripper = pipedTransport(t, s.ServeHTTP)
		tr.gets = 3
		got, err := ask(t, c, call(transport.LinkWithin))
		wantAnswer(t, got, err, all5()...)
		tr.gets = 100
		_, err = ask(t, c, call(transport.LinkWithin))
		want[*transport.NoReplyError](t, err)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errWeary)
		defer cancel()
		if _, err = askCtx(ctx, c, call(transport.LinkWithin)); err != errWeary {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

var errWeary = errors.New("weary")

// away lets no GET through for a while, as if nobody listened.
type away struct {
	http.RoundTripper
	gets int
}

func (a *away) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		if a.gets--; a.gets >= 0 {
			return nil, errors.New("connection refused")
		}
	}
	return a.RoundTripper.RoundTrip(r)
}

func TestResumeEnds(t *testing.T) {
	for name, c := range map[string]struct {
		hang bool // the GET is never answered, else the pause is long
		end  func(cancel context.CancelCauseFunc, c *streamhttp.Conn)
		want error
	}{
		"pause, cancelled": {false, func(cancel context.CancelCauseFunc, _ *streamhttp.Conn) { cancel(errWeary) }, errWeary},
		"pause, closed":    {false, func(_ context.CancelCauseFunc, c *streamhttp.Conn) { c.Close(context.Background()) }, transport.ErrClosed},
		"GET, cancelled":   {true, func(cancel context.CancelCauseFunc, _ *streamhttp.Conn) { cancel(errWeary) }, errWeary},
		"GET, closed":      {true, func(_ context.CancelCauseFunc, c *streamhttp.Conn) { c.Close(context.Background()) }, transport.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cn := piped(t, func(w http.ResponseWriter, r *http.Request) {
					swallow(r)
					if r.Method == http.MethodGet {
						<-r.Context().Done()
						return
					}
					begin(w)
					if c.hang {
						emit(w, "id: 1\nretry: 10\ndata: {}\n\n")
					} else {
						emit(w, "id: 1\nretry: 60000\ndata: {}\n\n")
					}
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				began := time.Now()
				time.AfterFunc(20*time.Second, func() { c.end(cancel, cn) })
				_, err := askCtx(ctx, cn, call(transport.LinkWithin))
				if err != c.want || time.Since(began) != 20*time.Second {
					t.Errorf("got %v after %v, want %v", err, time.Since(began), c.want)
				}
			})
		})
	}
}

// Without a session in the frame nothing is resumed, whatever ids there are.
func TestNoResumptionOutsideASession(t *testing.T) {
	for _, link := range []transport.Link{transport.LinkNone, transport.LinkOpen} {
		for _, breaks := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := &cutter{each: 4, breaks: breaks}
				c := piped(t, s.ServeHTTP)
				_, err := ask(t, c, call(link))
				if breaks {
					want[*transport.LostError](t, err)
				} else {
					want[*transport.NoReplyError](t, err)
				}
				if len(s.asked) != 0 {
					t.Errorf("asked %q", s.asked)
				}
			})
		}
	}
}

// An id that fits into no header can't be asked for, so the one before counts.
func TestResumeFromTheLastIdThatCanBeNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked string
		c := piped(t, func(w http.ResponseWriter, r *http.Request) {
			swallow(r)
			begin(w)
			if r.Method == http.MethodGet {
				asked = r.Header.Get("Last-Event-Id")
				emit(w, "data: %s\n\n", answer)
				return
			}
			_, _ = io.WriteString(w, "id: good é\ndata:\n\nid: bad\x01\ndata: {}\n\n")
		})
		got, err := ask(t, c, call(transport.LinkWithin))
		wantAnswer(t, got, err, "{}", answer)
		if asked != "good é" {
			t.Errorf("asked for %q", asked)
		}
	})
}
