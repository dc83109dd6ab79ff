package upstream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

func refusal(status int) mode {
	return mode{refuse: &transport.RefusedError{Status: status, Text: "no"}}
}

func TestTheOtherBinding(t *testing.T) {
	redirect := mode{dial: &transport.RefusedError{Status: 404, Location: "https://elsewhere.example"}}
	for _, c := range []struct {
		name          string
		first, second mode
		ready         bool
		dials         [2]int
	}{
		{"bad request", refusal(400), mode{}, true, [2]int{1, 1}},
		{"not found", refusal(404), mode{}, true, [2]int{1, 1}},
		{"method not allowed", refusal(405), mode{}, true, [2]int{1, 1}},
		{"the stream is refused", mode{dial: &transport.RefusedError{Status: 405}}, mode{}, true, [2]int{1, 1}},
		{"the stream is not acceptable", mode{dial: &transport.RefusedError{Status: 406}}, mode{}, true, [2]int{1, 1}},
		{"well", mode{}, mode{}, true, [2]int{1, 0}},
		{"both refuse", refusal(405), mode{dial: &transport.RefusedError{Status: 404}}, false, [2]int{1, 1}},
		{"unauthorized", refusal(401), mode{}, false, [2]int{1, 0}},
		{"broken", refusal(500), mode{}, false, [2]int{1, 0}},
		{"not there", mode{dial: errRefused}, mode{}, false, [2]int{1, 0}},
		{"redirected", redirect, mode{}, false, [2]int{1, 0}},
		{"the second is not there", refusal(405), mode{dial: errRefused}, false, [2]int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := newFake(always(c.first)), newFake(always(c.second))
			first.private = true
			inBubble(t, first, func(o *upstream.Options) { o.Dialers = append(o.Dialers, second) }, func(r *rig) {
				_, err := r.do("echo")
				if (err == nil) != c.ready {
					t.Errorf("%v", err)
				}
				if a, b := first.dials, second.dials; a != c.dials[0] || b != c.dials[1] {
					t.Errorf("%d and %d dials, want %v", a, b, c.dials)
				}
				var refused *transport.RefusedError
				if c.name == "both refuse" && (!errors.As(err, &refused) || refused.Status != 405) {
					t.Errorf("%v, want what the first said", err)
				}
				if _, open := second.counts(); open > 1 {
					t.Errorf("%d links are open", open)
				}
			})
			if _, open := second.counts(); open != 0 {
				t.Errorf("%d links are left open", open)
			}
		})
	}
}

func TestTheBindingThatWorkedIsTriedFirst(t *testing.T) {
	first := newFake(each(refusal(405), mode{}))
	first.private = true
	second := newFake(each(mode{}, mode{}, mode{dial: &transport.RefusedError{Status: 404}}))
	inBubble(t, first, func(o *upstream.Options) { o.Dialers = append(o.Dialers, second) }, func(r *rig) {
		for i, want := range [][2]int{{1, 1}, {1, 2}, {2, 3}} {
			r.mustDo("echo")
			if a, b := first.dials, second.dials; a != want[0] || b != want[1] {
				t.Errorf("%d: %d and %d dials, want %v", i, a, b, want)
			}
			if i < 2 {
				second.last().peer.Break(errors.New("died"))
			}
			wait(time.Second)
		}
	})
}

func TestASessionForgottenInTheHandshakeIsNoOtherBinding(t *testing.T) {
	first, second := newFake(each(mode{}, mode{gone: true})), newFake(always(mode{}))
	first.private = true
	inBubble(t, first, func(o *upstream.Options) { o.Dialers = append(o.Dialers, second) }, func(r *rig) {
		r.mustDo("echo")
		r.last().forget()
		_, err := r.do("echo")
		if !errors.Is(err, mcp.ErrGone) || second.dials != 0 {
			t.Errorf("%v, %d dials", err, second.dials)
		}
		if n := r.count("refused echo"); n != 2 || errors.As(err, new(*upstream.NotReadyError)) {
			t.Errorf("sent %d times, %v: want it repeated once", n, err)
		}
	})
}

// restart ends the link and waits for the next.
func (r *rig) restart() {
	r.t.Helper()
	r.mustDo("echo")
	r.last().peer.Break(errors.New("died"))
	wait(time.Second)
}

func (r *rig) wantProbes(want int) {
	r.t.Helper()
	if n := r.count("server/discover"); n != want {
		r.t.Errorf("probed %d times, want %d", n, want)
	}
}

func TestTheEraIsRememberedForAWhile(t *testing.T) {
	for _, c := range []struct {
		name string
		mode mode
		life time.Duration
	}{
		{"refused", mode{}, time.Hour},
		{"no answer", mode{silentProbe: true}, time.Minute},
		{"died of it", mode{crashOnProbe: true}, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, newFake(always(c.mode)), nil, func(r *rig) {
				r.mustDo("echo")
				r.wantProbes(1)
				begin := time.Now()
				r.restart() // that it still answers to the old era proves nothing new
				r.restart()
				r.wantProbes(1)
				wait(c.life - time.Since(begin))
				r.restart()
				r.wantProbes(2)
			})
		})
	}
}

func TestAModernServerIsAskedEachTime(t *testing.T) {
	inBubble(t, newFake(always(mode{modern: true})), nil, func(r *rig) {
		r.restart()
		r.restart()
		r.wantProbes(3)
	})
}

func TestAServerThatHasLeftTheOldEra(t *testing.T) {
	for _, c := range []struct {
		name    string
		private bool
		after   mode
		ready   bool
		dials   int // for the second start
	}{
		{"refuses", false, mode{modern: true, only: errors.New("no")}, true, 2},
		{"dies", false, mode{modern: true, crashInHandshake: true}, true, 2},
		{"has no such page", true, mode{modern: true, only: &transport.RefusedError{Status: 404}}, true, 2},
		{"has no answer", true, mode{modern: true, only: &transport.NoReplyError{}}, true, 2},
		{"speaks another revision", false, mode{modern: true, speaks: "2099-01-01"}, true, 2},
		{"is overloaded", true, mode{modern: true, only: &transport.RefusedError{Status: 429}}, false, 1},
		{"wants credentials", true, mode{modern: true, only: &transport.RefusedError{Status: 401}}, false, 1},
		{"is not there", false, mode{dial: errRefused}, false, 1},
		{"is broken in all ways", false, mode{crashInHandshake: true}, false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(each(mode{}, c.after))
			f.private = c.private
			inBubble(t, f, nil, func(r *rig) {
				r.mustDo("echo")
				if c.private {
					r.last().forget()
				} else {
					r.last().peer.Break(errors.New("died"))
				}
				_, err := r.do("echo")
				if (err == nil) != c.ready {
					t.Errorf("%v", err)
				}
				r.wantDials(1 + c.dials)
				if info := r.u.Shared().Info(); c.ready && info.Era != mcp.EraModern {
					t.Errorf("%+v", info)
				}
				if c.ready && c.private {
					return // no session that could be lost
				}
				if c.ready {
					r.restart()
					r.wantDials(1 + c.dials + 1) // known from now on
				}
			})
		})
	}
}

// A silent server uses up the start; the next one asks for the era again.
func TestASilentServerIsAskedForItsEraAgain(t *testing.T) {
	f := newFake(each(mode{}, mode{silent: true}, mode{modern: true, only: errors.New("no")}))
	inBubble(t, f, nil, func(r *rig) {
		r.restart() // the second start hangs
		wait(time.Hour)
		r.mustDo("echo")
		r.wantDials(3)
		r.wantProbes(2)
	})
}

// A session that wants an older revision only says nothing about the server.
func TestAnOldClientDoesNotDecideForOthers(t *testing.T) {
	inBubble(t, newFake(always(mode{modern: true, speaks: "2025-06-18"})), nil, func(r *rig) {
		old := r.openPrivate(upstream.Spec{MaxVersion: "2025-06-18"})
		r.mustDo("echo")
		if info := old.Info(); info.Era != mcp.EraLegacy {
			t.Errorf("%+v", info)
		}
		if info := r.u.Shared().Info(); info.Era != mcp.EraModern {
			t.Errorf("%+v", info)
		}
	})
}
