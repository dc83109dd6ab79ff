package upstream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

func TestStates(t *testing.T) {
	broken := mode{dial: errRefused}
	for _, c := range []struct {
		name    string
		private bool
		mode    func(int) mode
		test    func(*rig)
		states  string
		dials   int
	}{
		{name: "idle until it is wanted", mode: always(mode{}), test: func(*rig) { wait(time.Hour) }},
		{name: "a request starts it", mode: always(mode{}), states: "starting ready", dials: 1,
			test: func(r *rig) {
				if got := r.mustDo("echo"); got != `{"link":1}` {
					r.t.Errorf("got %s", got)
				}
			}},
		{name: "a wish starts it, and many wishes start it once", mode: always(mode{slow: time.Second}), states: "starting ready", dials: 1,
			test: func(r *rig) {
				for range 10 {
					r.u.Shared().Want()
					r.u.Shared().Want()
				}
				wait(time.Minute)
			}},
		{name: "a failed start is tried again by itself", mode: each(broken, broken, mode{}), dials: 3,
			states: "starting backing-off starting backing-off starting ready",
			test: func(r *rig) {
				_, err := r.do("echo")
				if e := r.notReady(err, upstream.BackingOff); e.RetryAfter != 500*time.Millisecond {
					r.t.Errorf("RetryAfter %v", e.RetryAfter)
				}
				wait(500*time.Millisecond + time.Second)
			}},
		{name: "it gives up, and begins anew after the cool-down", dials: 6,
			mode:   each(broken, broken, broken, broken, broken, mode{}),
			states: "starting backing-off starting backing-off starting backing-off starting backing-off starting failed starting ready",
			test: func(r *rig) {
				r.u.Shared().Want()
				wait(time.Hour - 56*time.Minute) // 0.5+1+2+4 s until it has failed
				r.took(0, func() {
					_, err := r.do("echo")
					if e := r.notReady(err, upstream.Failed); e.RetryAfter != 5*time.Minute-4*time.Minute+7500*time.Millisecond {
						r.t.Errorf("RetryAfter %v", e.RetryAfter)
					}
				})
				r.u.Shared().Want() // changes nothing
				wait(time.Minute + 7500*time.Millisecond)
				r.wantDials(5)
				r.mustDo("echo")
			}},
		{name: "without credentials it is tried again on request only", dials: 2, private: true,
			mode:   each(mode{refuse: &transport.RefusedError{Status: 401}}, mode{}),
			states: "starting unauthorized starting ready",
			test: func(r *rig) {
				_, err := r.do("echo")
				r.notReady(err, upstream.Unauthorized)
				wait(time.Hour)
				r.wantDials(1)
				r.mustDo("echo")
			}},
		{name: "without credentials for dialling", dials: 1, states: "starting unauthorized",
			mode: always(mode{dial: &transport.RefusedError{Status: 403}}),
			test: func(r *rig) {
				_, err := r.do("echo")
				r.notReady(err, upstream.Unauthorized)
				wait(time.Hour)
			}},
		{name: "no common revision", dials: 1, states: "starting failed", mode: always(mode{speaks: "1999-01-01"}),
			test: func(r *rig) {
				_, err := r.do("echo")
				e := r.notReady(err, upstream.Failed)
				if !errors.As(err, new(*mcp.VersionError)) || e.RetryAfter != 5*time.Minute {
					r.t.Errorf("%v, RetryAfter %v", err, e.RetryAfter)
				}
			}},
		{name: "an overloaded server is left alone for as long as it says", dials: 2, private: true,
			mode:   each(mode{refuse: &transport.RefusedError{Status: 503, RetryAfter: 20 * time.Second}}, mode{}),
			states: "starting backing-off starting ready",
			test: func(r *rig) {
				_, err := r.do("echo")
				if e := r.notReady(err, upstream.BackingOff); e.RetryAfter != 20*time.Second {
					r.t.Errorf("RetryAfter %v", e.RetryAfter)
				}
				wait(20 * time.Second)
			}},
		{name: "lost while ready", mode: always(mode{}), dials: 2,
			states: "starting ready backing-off starting ready",
			test: func(r *rig) {
				r.mustDo("echo")
				r.last().peer.Break(errors.New("died"))
				wait(time.Second)
				if st := r.u.Shared().Status(); st.Restarts != 1 || r.u.Shared().Generation() != 2 {
					r.t.Errorf("%d restarts", st.Restarts)
				}
			}},
		{name: "a crash after each handshake ends in FAILED", mode: always(mode{crash: true}), dials: 5,
			states: "starting ready backing-off starting ready backing-off starting ready backing-off starting ready backing-off starting ready failed",
			test: func(r *rig) {
				r.u.Shared().Want()
				wait(4 * time.Minute)
				r.took(0, func() {
					_, err := r.do("echo")
					r.notReady(err, upstream.Failed)
				})
				wait(time.Hour)
			}},
		{name: "a link that was stable or of use counts as a good start", mode: always(mode{}), dials: 24, states: "starting ready",
			test: func(r *rig) {
				r.mustDo("echo")
				r.wantStates("starting ready")
				for i := range 22 {
					if i%2 == 0 {
						wait(11 * time.Second)
					} else if _, err := r.do("no"); err == nil {
						r.t.Error("no error")
					}
					r.last().peer.Break(errors.New("died"))
					wait(500 * time.Millisecond) // always the first pause
				}
				r.wantDials(23)
				r.events()
				r.last().peer.Break(errors.New("died")) // of no use, but the first
				wait(400 * time.Millisecond)
				r.wantStates("backing-off")
				wait(time.Second)
			}},
		{name: "a forgotten session is renewed without a pause", private: true, mode: always(mode{}), dials: 2,
			states: "starting ready starting ready",
			test: func(r *rig) {
				r.mustDo("echo")
				r.last().forget()
				r.took(0, func() {
					if got := r.mustDo("echo"); got != `{"link":2}` {
						r.t.Errorf("got %s", got)
					}
				})
				if n := r.count("refused echo"); n != 1 {
					r.t.Errorf("refused %d times", n)
				}
			}},
		{name: "a server that forgets every session at once is not asked for ever", private: true, mode: always(mode{gone: true}), dials: 6,
			states: "starting ready starting ready backing-off starting ready backing-off starting ready backing-off starting ready backing-off starting ready failed",
			test: func(r *rig) {
				for range 10 {
					_, err := do(r.u.Shared(), "echo", time.Minute)
					if err == nil {
						r.t.Error("no error")
					}
				}
				if n := r.count("refused echo"); n != 6 {
					r.t.Errorf("refused %d times, want once a session", n)
				}
			}},
		{name: "a process that dies of the probe is started again at once", mode: each(mode{crashOnProbe: true}, mode{}), dials: 2,
			states: "starting ready",
			test: func(r *rig) {
				r.took(0, func() { r.mustDo("echo") })
				if n := r.count("server/discover"); n != 1 {
					r.t.Errorf("probed %d times", n)
				}
			}},
		{name: "a silent server is not waited for longer than start_timeout", mode: always(mode{silent: true}), dials: 1,
			states: "starting backing-off",
			test: func(r *rig) {
				r.took(time.Minute, func() {
					_, err := do(r.u.Shared(), "echo", time.Hour)
					if e := r.notReady(err, upstream.BackingOff); e.Err.Error() != "not ready within start_timeout (1m0s)" {
						r.t.Errorf("%v", e)
					}
				})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(c.mode)
			f.private = c.private
			inBubble(t, f, nil, func(r *rig) {
				c.test(r)
				if c.name != "a link that was stable or of use counts as a good start" {
					r.wantStates(c.states)
				}
				r.wantDials(c.dials)
			})
		})
	}
}

func TestAThousandCallersStartTheServerOnce(t *testing.T) {
	f := newFake(always(mode{slow: 10 * time.Second}))
	inBubble(t, f, nil, func(r *rig) {
		const callers = 1000
		got := make(chan error, callers)
		for i := range callers {
			go func() {
				d := time.Minute
				if i%2 == 1 {
					d = time.Second // leaves early, the first one to ask among them
				}
				_, err := do(r.u.Shared(), "echo", d)
				got <- err
			}()
		}
		wait(time.Second)
		for range callers / 2 {
			err := <-got
			var ie *mcp.InterruptedError
			if !errors.As(err, &ie) || ie.Phase != mcp.PhaseStart || !errors.Is(err, transport.ErrNotSent) {
				t.Fatalf("%v", err)
			}
		}
		wait(9 * time.Second)
		for range callers / 2 {
			if err := <-got; err != nil {
				t.Fatal(err)
			}
		}
		r.wantDials(1)
		r.wantStates("starting ready")
	})
}

func TestAThousandCallersGetTheFailureOfTheirStart(t *testing.T) {
	f := newFake(each(mode{dial: errRefused}, mode{dial: errRefused}, mode{}))
	f.mode = func(n int) mode {
		if n == 1 {
			return mode{slow: time.Second, crashOnProbe: true}
		}
		return mode{slow: time.Second, crashInHandshake: true}
	}
	inBubble(t, f, nil, func(r *rig) {
		const callers = 1000
		got := make(chan error, callers)
		for range callers {
			go func() {
				_, err := r.do("echo")
				got <- err
			}()
		}
		r.took(2*time.Second, func() {
			for range callers {
				r.notReady(<-got, upstream.BackingOff)
			}
		})
		r.wantDials(2)
	})
}

func TestAStartGoesOnWithoutItsCaller(t *testing.T) {
	f := newFake(always(mode{slow: 10 * time.Second}))
	inBubble(t, f, nil, func(r *rig) {
		if _, err := do(r.u.Shared(), "echo", time.Second); err == nil {
			t.Fatal("no error")
		}
		wait(9 * time.Second)
		r.wantStates("starting ready")
		r.mustDo("echo")
		r.wantDials(1)
	})
}

func TestInBackoffADeadlineDecides(t *testing.T) {
	f := newFake(each(mode{dial: errRefused}, mode{dial: errRefused}, mode{dial: errRefused}, mode{slow: 10 * time.Second}))
	inBubble(t, f, nil, func(r *rig) {
		r.u.Shared().Want()
		wait(1500 * time.Millisecond) // 0.5 s + 1 s: two more have failed
		r.wantDials(3)                // the next one is in 2 s
		for _, d := range []time.Duration{1, 1999 * time.Millisecond} {
			r.took(0, func() {
				_, err := do(r.u.Shared(), "echo", d)
				if e := r.notReady(err, upstream.BackingOff); e.RetryAfter != 2*time.Second {
					t.Errorf("RetryAfter %v", e.RetryAfter)
				}
			})
		}
		r.took(12*time.Second, func() { r.mustDo("echo") })
	})
}

func TestTheNextStartWaitsForTheEndOfTheProcess(t *testing.T) {
	f := newFake(always(mode{closing: 4 * time.Second}))
	inBubble(t, f, nil, func(r *rig) {
		r.mustDo("echo")
		r.last().peer.Break(errors.New("output ended"))
		r.took(4*time.Second, func() { r.mustDo("echo") })
		if f.most != 1 {
			t.Errorf("%d processes at once", f.most)
		}
	})
}

func TestARequestIsRepeatedOnlyIfItDidNotLeave(t *testing.T) {
	f := newFake(always(mode{}))
	inBubble(t, f, nil, func(r *rig) {
		if got := r.mustDo("lossy"); got != `{"link":2}` {
			t.Errorf("got %s", got)
		}
		_, err := r.do("die")
		if !errors.As(err, new(*transport.LostError)) || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%v", err)
		}
		wait(time.Minute)
		if n := f.count("die"); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

// On a link of exchanges a loss concerns one exchange, and is not repeated.
func TestALostExchangeIsNoLostLink(t *testing.T) {
	f := newFake(always(mode{}))
	f.private = true
	inBubble(t, f, nil, func(r *rig) {
		r.mustDo("echo")
		r.last().m.refuseCall = transport.NotSent(errRefused)
		r.took(0, func() {
			_, err := r.do("echo")
			if !errors.As(err, new(*transport.LostError)) || !errors.Is(err, transport.ErrNotSent) {
				t.Errorf("%v", err)
			}
		})
		r.last().m.refuseCall = nil
		r.mustDo("echo")
		r.wantDials(1)
		r.wantStates("starting ready")
	})
}

// One whose writer fails while its reader goes on is not waited for long.
func TestALinkThatOnlyCantBeWrittenTo(t *testing.T) {
	f := newFake(always(mode{}))
	inBubble(t, f, nil, func(r *rig) {
		r.mustDo("echo")
		r.last().m.refuseCall = transport.NotSent(errRefused)
		r.took(time.Second, func() {
			if _, err := r.do("echo"); !errors.As(err, new(*transport.LostError)) {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestARefusedNotificationIsRepeatedOnce(t *testing.T) {
	f := newFake(always(mode{}))
	f.private = true
	inBubble(t, f, nil, func(r *rig) {
		r.mustDo("echo")
		r.last().forget()
		if err := r.u.Shared().Notify(context.Background(), &mcp.Request{Method: "notifications/x"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if f.count("refused notifications/x") != 1 || f.count("notifications/x") != 1 {
			t.Errorf("heard %v", f.heard)
		}
		r.last().forget()
		if err := r.u.Shared().Ping(context.Background()); err != nil {
			t.Error(err)
		}
		r.wantDials(3)
	})
}

func TestARenewedSessionLetsOldExchangesEnd(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline time.Duration
		answered time.Duration // 0: never
		open     time.Duration // how long the old link stays
	}{
		{"answered", time.Hour, 10 * time.Minute, 10 * time.Minute},
		{"its deadline passes", 5 * time.Minute, 0, 5 * time.Minute},
		{"it has no deadline", 0, 0, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(always(mode{}))
			f.private = true
			inBubble(t, f, nil, func(r *rig) {
				got := make(chan error, 1)
				begin := time.Now()
				go func() {
					ctx, cancel := context.WithCancel(context.Background())
					if c.deadline > 0 {
						ctx, cancel = context.WithTimeout(ctx, c.deadline)
					}
					defer cancel()
					_, err := r.u.Shared().Do(ctx, &mcp.Request{Method: "hang"})
					got <- err
				}()
				synctest.Wait()
				old := r.last()
				old.forget()
				if _, err := do(r.u.Shared(), "echo", time.Second); err != nil {
					t.Fatal(err)
				}
				r.wantDials(2)
				if c.answered > 0 {
					go func() { <-time.After(c.answered); old.answerHanging() }()
				}
				err := <-got
				if (err == nil) != (c.answered > 0) {
					t.Errorf("%v", err)
				}
				synctest.Wait()
				if since := time.Since(begin); since != c.open {
					t.Errorf("ended after %v, want %v", since, c.open)
				}
				if _, open := f.counts(); open != 1 {
					t.Errorf("%d links are open", open)
				}
			})
		})
	}
}

func TestMaxInFlight(t *testing.T) {
	f := newFake(always(mode{}))
	inBubble(t, f, func(o *upstream.Options) { o.MaxInFlight = 2 }, func(r *rig) {
		for range 2 {
			go r.do("hang")
		}
		synctest.Wait()
		_, err := r.do("echo")
		var over *upstream.OverloadedError
		if !errors.As(err, &over) || over.What != "max_in_flight" || over.Limit != 2 || !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%v", err)
		}
		if err := r.u.Shared().Notify(context.Background(), &mcp.Request{Method: "notifications/x"}); !errors.As(err, &over) {
			t.Errorf("%v", err)
		}
		if err := r.u.Shared().Ping(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
		r.last().answerHanging()
		synctest.Wait()
		r.mustDo("echo")
	})
}
