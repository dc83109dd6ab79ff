package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

// streams is a server whose GETs are served by a script, one step each; the last
// step serves all that follow.
type streams struct {
	steps []func(w http.ResponseWriter, r *http.Request)

	mu    sync.Mutex
	began time.Time
	at    []time.Duration // of each GET
	asked []string        // Last-Event-ID, session and revision of each
}

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if swallow(r); r.Method != http.MethodGet {
		w.Header().Set("Mcp-Session-Id", "s1")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	n := len(s.at)
	s.at = append(s.at, time.Since(s.began))
	s.asked = append(s.asked, fmt.Sprintf("%s/%s/%s", r.Header.Get("Last-Event-Id"), r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version")))
	s.mu.Unlock()
	s.steps[min(n, len(s.steps)-1)](w, r)
}

// listen opens a session and listens for d.
func (s *streams) listen(t *testing.T, d time.Duration, sink transport.Sink, change ...func(*streamhttp.Options)) error {
	t.Helper()
	c := piped(t, s.ServeHTTP, change...)
	for _, link := range []transport.Link{transport.LinkOpen, transport.LinkWithin} {
		f := transport.Frame{Body: []byte("{}"), Link: link, Labels: transport.Labels{Version: "v1"}}
		if err := c.Send(t.Context(), f, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.began = time.Now()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errWeary)
	defer cancel()
	return c.Listen(ctx, sink)
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func says(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		emit(w, "%s", text)
	}
}

func stays(text string, d time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		says(text)(w, r)
		select {
		case <-r.Context().Done():
		case <-time.After(d):
		}
	}
}

func ignore(transport.Inbound) error { return nil }

func TestListenIsNotOffered(t *testing.T) {
	for name, step := range map[string]func(http.ResponseWriter, *http.Request){
		"400": status(400), "401": status(401), "404": status(404), "405": status(405), "501": status(501), "204": status(204),
		"HTML": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"to away": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://other/")
			w.WriteHeader(302)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streams{steps: []func(http.ResponseWriter, *http.Request){step}}
				if err := s.listen(t, time.Hour, ignore); err != transport.ErrUnsupported {
					t.Errorf("got %v", err)
				}
				if len(s.at) != 1 || s.at[0] != 0 {
					t.Errorf("asked at %v", s.at)
				}
			})
		})
	}
}

func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{steps: []func(http.ResponseWriter, *http.Request){
			says("id: 1\nretry: 2000\ndata:\n\nid: 2\ndata: {\"n\":1}\n\nevent: other\ndata: x\n\n"),
			stays("id: 3\ndata: {\"n\":2}\n\n", time.Hour),
		}}
		var got []string
		err := s.listen(t, time.Minute, func(in transport.Inbound) error {
			got = append(got, string(in.Body))
			return nil
		})
		if err != errWeary || !slices.Equal(got, []string{`{"n":1}`, `{"n":2}`}) {
			t.Errorf("%q, %v", got, err)
		}
		if !slices.Equal(s.asked, []string{"/s1/v1", "2/s1/v1"}) {
			t.Errorf("asked %q", s.asked)
		}
		if d := s.at[1]; d < 2*time.Second || d > 2200*time.Millisecond {
			t.Errorf("came back after %v", d)
		}
	})
}

// pauses checks the pauses between the GETs, which have a tenth of jitter.
func pauses(t *testing.T, at []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(at) != len(want)+1 {
		t.Fatalf("asked at %v, want pauses of %v", at, want)
	}
	for i, w := range want {
		if d := at[i+1] - at[i]; d < w || d > w+w/10+time.Millisecond {
			t.Errorf("pause %d is %v, want %v", i, d, w)
		}
	}
}

const s = time.Second

func TestListenBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sv := &streams{steps: []func(http.ResponseWriter, *http.Request){
			status(503), says(""), says("data: {}\n\n"), func(w http.ResponseWriter, _ *http.Request) { begin(w); hangUp() }, says(":\n\n"), says(""), says(""),
			stays("", 30*s), // it lasted, so that the pauses start over
			says(""), stays("", time.Hour),
		}}
		if err := sv.listen(t, 10*time.Minute, ignore); err != errWeary {
			t.Errorf("got %v", err)
		}
		pauses(t, sv.at, 1*s, 2*s, 4*s, 8*s, 16*s, 30*s, 30*s, 31*s, 2*s)
	})
}

// A server that ends each stream on purpose and says when to come back is
// believed.
func TestListenPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		sv := &streams{steps: []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) {
			n++
			says(fmt.Sprintf("id: %d\nretry: 5000\ndata:\n\n", n))(w, r)
		}}}
		if err := sv.listen(t, 27*s, ignore); err != errWeary {
			t.Errorf("got %v", err)
		}
		pauses(t, sv.at[:5], 5*s, 5*s, 5*s, 5*s)
	})
}

func TestListenHeedsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sv := &streams{steps: []func(http.ResponseWriter, *http.Request){
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "20"); w.WriteHeader(429) },
			status(500), stays("", time.Hour),
		}}
		if err := sv.listen(t, time.Minute, ignore); err != errWeary {
			t.Errorf("got %v", err)
		}
		at := sv.at
		if len(at) != 3 || at[1] < 20*s || at[1] > 22*s || at[2]-at[1] > 3*s {
			t.Errorf("asked at %v", at)
		}
	})
}

func TestListenSessionIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sv := &streams{steps: []func(http.ResponseWriter, *http.Request){says("id: 1\ndata: {}\n\n"), status(404)}}
		err := sv.listen(t, time.Minute, ignore)
		if e := want[*transport.RefusedError](t, err); e.Status != 404 || !e.Session {
			t.Errorf("%+v", e)
		}
	})
}

func TestListenPassesOverWhatIsBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stats := new(transport.Stats)
		big := fmt.Sprintf("data: %0200d\n\n", 0)
		sv := &streams{steps: []func(http.ResponseWriter, *http.Request){
			says("id: 1\ndata: {\"n\":1}\n\n" + big + "id: 2\ndata: {\"n\":2}\n\nid: 3\ndata: {oops\n\nid: 4\ndata: {\"never\":1}\n\n"),
			stays("id: 4\ndata: {\"n\":3}\n\n", time.Hour),
		}}
		var got []string
		err := sv.listen(t, time.Minute, func(in transport.Inbound) error {
			got = append(got, string(in.Body))
			return nil
		}, func(o *streamhttp.Options) { o.Stats, o.MaxMessageBytes = stats, 100 })
		if err != errWeary || !slices.Equal(got, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}) {
			t.Errorf("%q, %v", got, err)
		}
		if stats.Noise.Load() != 1 || stats.TooLarge.Load() != 1 || stats.Resumed.Load() != 1 {
			t.Errorf("noise %d, too large %d, resumed %d", stats.Noise.Load(), stats.TooLarge.Load(), stats.Resumed.Load())
		}
		// The bad event is not asked for again, else it would come for ever.
		if !slices.Equal(sv.asked, []string{"/s1/v1", "3/s1/v1"}) {
			t.Errorf("asked %q", sv.asked)
		}
	})
}

func TestListenSinkEndsIt(t *testing.T) {
	for _, c := range []struct{ err, want error }{{errWeary, errWeary}, {transport.ErrEnough, nil}, {fmt.Errorf("well: %w", transport.ErrEnough), nil}} {
		synctest.Test(t, func(t *testing.T) {
			sv := &streams{steps: []func(http.ResponseWriter, *http.Request){stays("data: {}\n\n", time.Hour)}}
			err := sv.listen(t, time.Minute, func(transport.Inbound) error { return c.err })
			if err != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// A GET without so much as a status disturbs nobody.
func TestListenHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, func(w http.ResponseWriter, r *http.Request) {
			if swallow(r); r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			fmt.Fprint(w, answer)
		})
		ended := make(chan error)
		go func() { ended <- c.Listen(t.Context(), ignore) }()
		synctest.Wait()
		for range 3 {
			if _, err := ask(t, c, call(transport.LinkWithin)); err != nil {
				t.Error(err)
			}
		}
		began := time.Now()
		c.Close(t.Context())
		if err := <-ended; err != transport.ErrClosed || time.Since(began) != 0 {
			t.Errorf("Listen returned %v after %v", err, time.Since(began))
		}
		if err := c.Listen(t.Context(), ignore); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Listen after Close: %v", err)
		}
	})
}
