package upstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// openPrivate opens a private session.
func (r *rig) openPrivate(spec upstream.Spec) *upstream.Session {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := r.set.Open(ctx, r.u, spec)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) wantOpen(want int) {
	r.t.Helper()
	synctest.Wait()
	if _, open := r.counts(); open != want {
		r.t.Errorf("%d links are open, want %d", open, want)
	}
}

// unknown reports whether the set knows nothing of a session.
func (r *rig) unknown(id, principal string) bool {
	_, err := r.set.Session(id, principal)
	return errors.Is(err, upstream.ErrUnknownSession) && errors.Is(err, transport.ErrNotSent)
}

func TestAPrivateSessionHasALinkOfItsOwn(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		a, b := r.openPrivate(upstream.Spec{Principal: "a"}), r.openPrivate(upstream.Spec{Principal: "b"})
		r.mustDo("echo")
		r.wantOpen(3)
		if a.ID() == b.ID() || !strings.HasPrefix(a.ID(), r.set.Instance()+".") || a.Principal() != "a" {
			t.Errorf("%s, %s", a.ID(), b.ID())
		}
		if n := r.u.Sessions(); n != 3 {
			t.Errorf("%d sessions", n)
		}
		if x, err := r.set.Session(a.ID(), "a"); err != nil || x != a {
			t.Errorf("%v, %v", x, err)
		}
		if !r.unknown(a.ID(), "b") {
			t.Error("another caller's session is known")
		}
		sub := fanout.NewSubscriber(fanout.SubscriberOptions{})
		if _, err := a.Hub().Attach(sub, fanout.Attach{}); err != nil {
			t.Fatal(err)
		}
		r.set.CloseSession(context.Background(), a)
		r.wantOpen(2)
		if !r.unknown(a.ID(), "a") {
			t.Error("a closed session is known")
		}
		item, err := sub.Next(context.Background())
		if err != nil || item.Event.Value.(*upstream.Event).State.Status.State != upstream.Closed {
			t.Errorf("%+v, %v", item, err)
		}
		if item, err := sub.Next(context.Background()); err != nil || !item.End {
			t.Errorf("%+v, %v: its hub is not closed", item, err)
		}
		if _, err := do(a, "echo", time.Minute); !errors.Is(err, transport.ErrClosed) || !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%v", err)
		}
		r.set.CloseSession(context.Background(), a) // once more does no harm
	})
}

func TestSessionIDs(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		other := upstream.NewSet(nil)
		x := r.openPrivate(upstream.Spec{})
		_, secret, _ := strings.Cut(x.ID(), ".")
		for _, c := range []struct {
			id   string
			want error
		}{
			{"", upstream.ErrUnknownSession},
			{".", upstream.ErrUnknownSession},
			{"garbage", upstream.ErrUnknownSession},
			{"8letters.garbage", upstream.ErrUnknownSession},
			{r.set.Instance(), upstream.ErrUnknownSession},
			{r.set.Instance() + "." + strings.Repeat("A", 32), upstream.ErrUnknownSession},
			{x.ID() + "A", upstream.ErrUnknownSession},
			{strings.ToUpper(x.ID()), upstream.ErrUnknownSession},
			{"\x00\xff." + secret, upstream.ErrUnknownSession},
			{other.Instance() + "." + secret, upstream.ErrElsewhere},
		} {
			_, err := r.set.Session(c.id, "")
			// An id in capitals may be one of another instance.
			if !errors.Is(err, c.want) && !(c.id == strings.ToUpper(x.ID()) && errors.Is(err, upstream.ErrElsewhere)) {
				t.Errorf("%q: %v, want %v", c.id, err, c.want)
			}
		}
		if s := upstream.Shorten(x.ID()); strings.Contains(s, secret) || !strings.HasPrefix(x.ID(), strings.TrimSuffix(s, "…")) {
			t.Errorf("%s", s)
		}
	})
}

func TestServersByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := upstream.Defaults()
		o.Name = "a"
		a := upstream.New(o)
		o.Name = "b"
		b := upstream.New(o)
		one, two := upstream.NewSet([]*upstream.Upstream{a}), upstream.NewSet([]*upstream.Upstream{a, b})
		if u, err := one.Get(""); err != nil || u != a {
			t.Errorf("%v, %v", u, err)
		}
		if u, err := two.Get("b"); err != nil || u != b {
			t.Errorf("%v, %v", u, err)
		}
		for _, name := range []string{"", "c"} {
			_, err := two.Get(name)
			var unknown *upstream.UnknownServerError
			if !errors.As(err, &unknown) || len(unknown.Known) != 2 || !errors.Is(err, transport.ErrNotSent) {
				t.Errorf("%q: %v", name, err)
			}
		}
		two.Close(context.Background())
		if _, err := two.Open(context.Background(), a, upstream.Spec{}); !errors.Is(err, upstream.ErrClosing) || !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%v", err)
		}
	})
}

func TestMaxSessions(t *testing.T) {
	inBubble(t, newFake(always(mode{})), func(o *upstream.Options) { o.MaxSessions = 2 }, func(r *rig) {
		a := r.openPrivate(upstream.Spec{})
		r.openPrivate(upstream.Spec{})
		_, err := r.set.Open(context.Background(), r.u, upstream.Spec{})
		var over *upstream.OverloadedError
		if !errors.As(err, &over) || over.What != "max_sessions" || over.Limit != 2 || !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%v", err)
		}
		r.mustDo("echo") // the shared one does not count
		r.set.CloseSession(context.Background(), a)
		r.openPrivate(upstream.Spec{})
	})
}

func TestAPrivateSessionThatIsNotReadyIsNotThere(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  mode
		after time.Duration // its caller has the answer
		gone  time.Duration // its process has ended
	}{
		{"refused", mode{dial: errRefused}, 0, 0},
		{"its caller leaves", mode{slow: 10 * time.Second, closing: 2 * time.Second}, time.Second, 3 * time.Second},
		{"its server dies", mode{crashInHandshake: true, slow: time.Second, closing: 2 * time.Second}, 3 * time.Second, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, newFake(always(c.mode)), nil, func(r *rig) {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), max(c.after, time.Second))
				if c.name == "its server dies" {
					ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
				}
				defer cancel()
				if _, err := r.set.Open(ctx, r.u, upstream.Spec{}); !errors.Is(err, transport.ErrNotSent) {
					t.Errorf("%v", err)
				}
				if d := time.Since(begin); d != c.after {
					t.Errorf("answered after %v", d)
				}
				wait(c.gone - c.after)
				r.wantOpen(0)
				if n := r.u.Sessions(); n != 0 {
					t.Errorf("%d sessions", n)
				}
				wait(time.Minute)
				r.wantDials(1)
			})
		})
	}
}

func TestFailOnLoss(t *testing.T) {
	for _, how := range []string{"process", "http"} {
		t.Run(how, func(t *testing.T) {
			f := newFake(always(mode{closing: time.Second}))
			f.private = how == "http"
			inBubble(t, f, nil, func(r *rig) {
				s := r.openPrivate(upstream.Spec{FailOnLoss: true})
				r.attach(s)
				if how == "process" {
					_, err := do(s, "die", time.Minute)
					if !errors.As(err, new(*transport.LostError)) || errors.Is(err, transport.ErrNotSent) {
						t.Errorf("%v", err)
					}
				} else {
					r.last().forget()
				}
				lost := func() {
					t.Helper()
					for range 3 {
						_, err := do(s, "echo", time.Minute)
						var e *upstream.SessionLostError
						if !errors.As(err, &e) || !errors.Is(err, transport.ErrNotSent) {
							t.Errorf("%v", err)
						}
					}
				}
				lost()
				r.wantStates("closed")
				wait(29 * time.Minute) // it is still known as lost
				r.wantOpen(0)
				if _, err := r.set.Session(s.ID(), ""); err != nil {
					t.Errorf("%v", err)
				}
				lost() // and being asked for keeps it so
				wait(29 * time.Minute)
				lost()
				wait(30 * time.Minute)
				if !r.unknown(s.ID(), "") {
					t.Error("it has not ended")
				}
				r.wantDials(1)
			})
		})
	}
}

// A watcher of a lost session is told, and does not keep it from ending.
func TestWatchersOfALostSession(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		s := r.openPrivate(upstream.Spec{FailOnLoss: true})
		sub := fanout.NewSubscriber(fanout.SubscriberOptions{})
		if _, err := s.Hub().Attach(sub, fanout.Attach{}); err != nil {
			t.Fatal(err)
		}
		release := s.Watch()
		_, _ = do(s, "die", time.Minute)
		item, err := sub.Next(context.Background())
		if err != nil || item.Event.Value.(*upstream.Event).State.Status.State != upstream.Closed {
			t.Errorf("%+v, %v", item, err)
		}
		if item, err := sub.Next(context.Background()); err != nil || !item.End {
			t.Errorf("%+v, %v", item, err)
		}
		release()
		wait(30 * time.Minute)
		if !r.unknown(s.ID(), "") {
			t.Error("it has not ended")
		}
	})
}

func TestALostSessionCanBeClosed(t *testing.T) {
	f := newFake(always(mode{}))
	inBubble(t, f, nil, func(r *rig) {
		s := r.openPrivate(upstream.Spec{FailOnLoss: true})
		_, _ = do(s, "die", time.Minute)
		synctest.Wait()
		r.took(0, func() { r.set.CloseSession(context.Background(), s) })
		if !r.unknown(s.ID(), "") {
			t.Error("it is still known")
		}
		r.openPrivate(upstream.Spec{FailOnLoss: true})
		_, _ = do(s, "die", time.Minute) // the end of the test closes this one
	})
}

func TestAPrivateSessionIsRenewed(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		s := r.openPrivate(upstream.Spec{})
		if s.Generation() != 1 {
			t.Errorf("generation %d", s.Generation())
		}
		_, _ = do(s, "die", time.Minute)
		if got, err := do(s, "echo", time.Minute); err != nil || got != `{"link":2}` {
			t.Errorf("%s, %v", got, err)
		}
		if x, err := r.set.Session(s.ID(), ""); err != nil || x != s || s.Generation() != 2 {
			t.Errorf("%v, generation %d", err, s.Generation())
		}
	})
}

func TestIdleSessionsEnd(t *testing.T) {
	const idle = 30 * time.Minute
	for _, c := range []struct {
		name string
		use  func(*rig, *upstream.Session)
		idle time.Duration // it is known for so long after use
	}{
		{"not used", func(*rig, *upstream.Session) {}, idle},
		{"used for a moment", func(_ *rig, s *upstream.Session) {
			wait(20 * time.Minute)
			_, _ = do(s, "echo", time.Minute)
		}, idle},
		{"a call in flight", func(r *rig, s *upstream.Session) {
			go func() { <-time.After(5 * time.Hour); r.last().answerHanging() }()
			_, _ = do(s, "hang", 6*time.Hour)
		}, idle},
		{"a stream", func(_ *rig, s *upstream.Session) {
			release := s.Hold()
			again := s.Hold()
			wait(5 * time.Hour)
			release()
			release() // once more counts once
			wait(5 * time.Hour)
			again()
		}, idle},
		{"a watcher", func(_ *rig, s *upstream.Session) {
			release := s.Watch()
			wait(5 * time.Hour)
			release()
			release()
		}, idle},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, newFake(always(mode{closing: time.Second})), nil, func(r *rig) {
				s := r.openPrivate(upstream.Spec{})
				c.use(r, s)
				wait(idle - time.Nanosecond)
				if _, err := r.set.Session(s.ID(), ""); err != nil {
					t.Fatalf("ended too early: %v", err)
				}
				wait(time.Nanosecond)
				if !r.unknown(s.ID(), "") {
					t.Error("it has not ended")
				}
				if _, err := do(s, "echo", time.Minute); !errors.Is(err, upstream.ErrUnknownSession) || !errors.Is(err, transport.ErrNotSent) {
					t.Errorf("%v", err)
				}
				wait(time.Second)
				r.wantOpen(0)
			})
		})
	}
}

func TestIdlenessCanBeOff(t *testing.T) {
	inBubble(t, newFake(always(mode{})), func(o *upstream.Options) { o.SessionIdle = 0 }, func(r *rig) {
		s := r.openPrivate(upstream.Spec{})
		wait(1000 * time.Hour)
		if _, err := do(s, "echo", time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// Whoever closes while a session ends by itself waits until it has ended.
func TestCloseWhileAnIdleSessionEnds(t *testing.T) {
	inBubble(t, newFake(always(mode{closing: time.Minute})), nil, func(r *rig) {
		s := r.openPrivate(upstream.Spec{})
		wait(30*time.Minute + 10*time.Second)
		r.wantOpen(1) // still ending
		r.took(50*time.Second, func() {
			done := make(chan struct{})
			go func() { r.set.CloseSession(context.Background(), s); close(done) }()
			r.u.Close(context.Background())
			r.wantOpen(0)
			<-done
		})
	})
}

func TestCloseEndsCalls(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		s := r.openPrivate(upstream.Spec{})
		got := make(chan error, 1)
		go func() {
			_, err := do(s, "hang", time.Hour)
			got <- err
		}()
		synctest.Wait()
		r.set.CloseSession(context.Background(), s)
		if err := <-got; !errors.Is(err, transport.ErrClosed) || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%v", err)
		}
	})
}

// Close is bounded and leaves nothing, whatever the server is doing.
func TestCloseInEveryState(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   mode
		calls  string
		before time.Duration
		grace  time.Duration
		want   time.Duration
	}{
		{"idle", mode{}, "", 0, time.Second, 0},
		{"starting", mode{silent: true}, "echo", time.Second, time.Second, 0},
		{"starting, and slow to end", mode{silent: true, closing: time.Hour}, "echo", time.Second, time.Second, 5 * time.Second},
		{"ready", mode{closing: time.Second}, "hang", time.Second, 2 * time.Second, time.Second},
		{"ready, and slow to end", mode{closing: time.Hour}, "hang", time.Second, 2 * time.Second, 2 * time.Second},
		{"backing off", mode{dial: errRefused}, "echo", 100 * time.Millisecond, time.Second, 0},
		{"failed", mode{dial: errRefused}, "echo", time.Minute, time.Second, 0},
		{"unauthorized", mode{dial: &transport.RefusedError{Status: 401}}, "echo", time.Minute, time.Second, 0},
		{"ending", mode{crash: true, closing: time.Hour}, "echo", 100 * time.Millisecond, time.Second, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, newFake(always(c.mode)), nil, func(r *rig) {
				got := make(chan error, 2)
				if c.calls != "" {
					go func() { _, err := r.do(c.calls); got <- err }()
					go func() {
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						s, err := r.set.Open(ctx, r.u, upstream.Spec{})
						if err == nil {
							_, err = s.Do(ctx, &mcp.Request{Method: c.calls})
						}
						got <- err
					}()
				}
				wait(c.before)
				ctx, cancel := context.WithTimeout(context.Background(), c.grace)
				defer cancel()
				r.took(c.want, func() { r.set.Close(ctx) })
				r.wantOpen(0)
				if c.calls != "" {
					for range 2 {
						if err := <-got; err == nil {
							t.Error("no error")
						}
					}
				}
				if _, err := r.do("echo"); !errors.Is(err, transport.ErrClosed) || !errors.Is(err, transport.ErrNotSent) {
					t.Errorf("%v", err)
				}
				r.u.Shared().Want()
				dials, _ := r.counts()
				wait(time.Hour)
				r.wantDials(dials)
				if st := r.u.Shared().Status(); st.State != upstream.Closed {
					t.Errorf("%v", st.State)
				}
			})
		})
	}
}

func TestCallersWhoWaitGetTheEnd(t *testing.T) {
	inBubble(t, newFake(always(mode{slow: time.Hour})), nil, func(r *rig) {
		got := make(chan error, 100)
		for range 100 {
			go func() { _, err := r.do("echo"); got <- err }()
		}
		synctest.Wait()
		r.u.Close(context.Background())
		for range 100 {
			if err := <-got; !errors.Is(err, transport.ErrClosed) || !errors.Is(err, transport.ErrNotSent) {
				t.Fatalf("%v", err)
			}
		}
	})
}
