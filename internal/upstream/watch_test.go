package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

const allChanges = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{}}`

func (r *rig) wantListening(want int) {
	r.t.Helper()
	synctest.Wait()
	if got := r.last().listening(); got != want {
		r.t.Errorf("%d subscriptions are open, want %d", got, want)
	}
}

func TestAModernServerIsListenedToWhileSomebodyWatches(t *testing.T) {
	for _, private := range []bool{false, true} {
		t.Run(fmt.Sprintf("private=%v", private), func(t *testing.T) {
			f := newFake(always(mode{modern: true, caps: allChanges}))
			f.private = private
			inBubble(t, f, nil, func(r *rig) {
				s := r.u.Shared()
				first := s.Watch()
				wait(time.Hour)
				r.wantDials(0) // watching starts no server
				s.Want()
				r.wantListening(1)
				second := s.Watch()
				first()
				first() // once more counts once
				wait(time.Hour)
				if n := f.count("subscriptions/listen"); n != 1 {
					t.Errorf("subscribed %d times", n)
				}
				second()
				synctest.Wait()
				if n := f.count("notifications/cancelled"); !private && n != 1 {
					t.Errorf("%d subscriptions were cancelled", n)
				}
				if private {
					for _, x := range r.last().listens {
						<-x.Done() // hung up
					}
				}
				wait(time.Hour)
				s.Watch()
				synctest.Wait()
				if n := f.count("subscriptions/listen"); n != 2 {
					t.Errorf("subscribed %d times", n)
				}
				if got := r.changes(); got != "" {
					t.Errorf("changes: %s", got)
				}
			})
		})
	}
}

func TestALegacyServerIsNotListenedTo(t *testing.T) {
	f := newFake(always(mode{caps: allChanges}))
	inBubble(t, f, nil, func(r *rig) {
		r.u.Shared().Watch()
		r.mustDo("echo")
		r.last().peer.Break(errors.New("died"))
		wait(time.Hour)
		if f.count("subscriptions/listen") != 0 {
			t.Error("subscribed")
		}
	})
}

func TestASubscriptionThatEndsIsOpenedAgain(t *testing.T) {
	f := newFake(always(mode{modern: true, caps: allChanges}))
	inBubble(t, f, nil, func(r *rig) {
		s := r.u.Shared()
		s.Watch()
		s.Want()
		r.wantListening(1)
		for i, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 0, 1, 2} {
			if pause == 0 {
				wait(30 * time.Second) // lasted long enough
				continue
			}
			r.last().endListens()
			pause *= time.Second
			wait(pause*9/10 - time.Millisecond)
			if n := r.last().listening(); n != 0 {
				t.Errorf("%d: opened again before %v", i, pause*9/10)
			}
			if got := r.changes(); got != "" {
				t.Errorf("changes: %s", got)
			}
			wait(pause*2/10 + 2*time.Millisecond)
			if n := r.last().listening(); n != 1 {
				t.Errorf("%d: not opened again after %v", i, pause*11/10)
			}
			if got := r.changes(); got != "tools prompts" {
				t.Errorf("%d: changes: %q", i, got)
			}
		}
		r.wantDials(1)
	})
}

func TestChangesMayBeMissedWhileTheServerIsDown(t *testing.T) {
	f := newFake(always(mode{modern: true, caps: allChanges}))
	inBubble(t, f, nil, func(r *rig) {
		s := r.u.Shared()
		release := s.Watch()
		r.mustDo("echo")
		r.wantListening(1)
		r.last().peer.Break(errors.New("died"))
		if got := r.changes(); got != "" {
			t.Errorf("changes: %s", got)
		}
		wait(time.Second)
		r.wantListening(1)
		if got := r.changes(); got != "tools prompts" {
			t.Errorf("changes: %q", got)
		}
		release()
		synctest.Wait()
		r.last().peer.Break(errors.New("died")) // nobody watches
		wait(time.Minute)
		s.Watch()
		if got := r.changes(); got != "" {
			t.Errorf("changes: %s", got)
		}
	})
}

func TestASubscriptionThatIsRefused(t *testing.T) {
	for code, asked := range map[string]int{"-32601": 1, "-32602": 1, "-32603": 6} {
		f := newFake(always(mode{modern: true, noListen: code}))
		inBubble(t, f, nil, func(r *rig) {
			r.u.Shared().Watch()
			r.u.Shared().Want()
			wait(45 * time.Second) // 1, 3, 7, 15, 31 s, a tenth more or less
			if n := f.count("subscriptions/listen"); n != asked {
				t.Errorf("%s: asked %d times, want %d", code, n, asked)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		tag := &upstream.CallTag{Principal: "p", CallID: "c", Token: `"t"`}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, _ = r.u.Shared().Do(ctx, &mcp.Request{Method: "hang", Tag: tag, Progress: true})
		}()
		synctest.Wait()
		r.events()
		l := r.last()
		_, id, _ := parse(l.hanging[0].Frame.Body)
		for _, n := range []string{
			`"notifications/progress","params":{"progressToken":` + id + `,"progress":1}`,
			`"notifications/message","params":{"level":"warning","data":1}`,
			`"notifications/message","params":{"level":7}`,
			`"notifications/tools/list_changed"`,
			`"notifications/prompts/list_changed"`,
			`"notifications/resources/list_changed"`,
			`"notifications/resources/updated","params":{"uri":"x"}`,
			`"notifications/tasks/status","params":{}`,
			`"notifications/tasks","params":{}`,
			`"notifications/elicitation/complete","params":{}`,
			`"notifications/x","params":{}`,
			`"notifications/subscriptions/acknowledged","params":{}`,
		} {
			if err := l.peer.Send([]byte(`{"jsonrpc":"2.0","method":` + n + `}`)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, e := range r.events() {
			call := "-"
			if e.Call != nil {
				call = e.Call.CallID
			}
			got = append(got, fmt.Sprintf("%d %s %q %s %s", e.Kind, strings.TrimPrefix(e.Method, "notifications/"), e.Level, call, e.Params))
			if e.Session != r.u.Shared() {
				t.Error("of another session")
			}
		}
		want := []string{
			`1 progress "" c {"progressToken":` + id + `,"progress":1}`,
			`2 message "warning" c {"level":"warning","data":1}`,
			`2 message "" c {"level":7}`,
			`4 tools/list_changed "" - `,
			`4 prompts/list_changed "" - `,
			`4 resources/list_changed "" - `,
			`8 resources/updated "" - {"uri":"x"}`,
			`16 tasks/status "" - {}`,
			`16 tasks "" - {}`,
			`32 elicitation/complete "" - {}`,
			`128 x "" - {}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		l.answerHanging()
	})
}

func TestEqualEventsAreMerged(t *testing.T) {
	inBubble(t, newFake(always(mode{})), nil, func(r *rig) {
		r.mustDo("echo")
		sub := fanout.NewSubscriber(fanout.SubscriberOptions{MergeFrom: 1})
		if _, err := r.u.Shared().Hub().Attach(sub, fanout.Attach{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, n := range []string{
				`"notifications/tools/list_changed"`, `"notifications/prompts/list_changed"`,
				`"notifications/resources/updated","params":{"uri":"x"}`, `"notifications/resources/updated","params":{"uri":"y"}`,
				`"notifications/message","params":{"level":"info"}`,
			} {
				_ = r.last().peer.Send([]byte(`{"jsonrpc":"2.0","method":` + n + `}`))
			}
		}
		synctest.Wait()
		if st := sub.Stats(); st.Waiting != 7 || st.Merged != 8 {
			t.Errorf("%+v, want 3 messages and one each of 4", st)
		}
	})
}

func TestStateEventsTellAll(t *testing.T) {
	inBubble(t, newFake(each(mode{dial: errRefused}, mode{caps: `{"tools":{}}`})), nil, func(r *rig) {
		_, _ = r.do("echo")
		wait(time.Minute)
		r.last().peer.Break(errors.New("it died"))
		wait(time.Minute)
		var got []string
		for _, e := range r.events() {
			version, st := "-", e.State.Status
			if e.State.Info != nil {
				version = e.State.Info.Version
			}
			retry := time.Duration(0)
			if !st.Retry.IsZero() {
				retry = st.Retry.Sub(st.Since)
			}
			got = append(got, fmt.Sprintf("%v %q %s %d %v", st.State, st.Reason, version, st.Restarts, retry))
		}
		want := []string{
			`starting "" - 0 0s`,
			`backing off "connection lost: connection refused" - 0 500ms`,
			`starting "" - 0 0s`,
			`ready "" 2025-11-25 0 0s`,
			`backing off "connection lost: it died" 2025-11-25 0 500ms`,
			`starting "" 2025-11-25 0 0s`,
			`ready "" 2025-11-25 1 0s`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// What a watcher receives, what stood for it and what it lost is all there was,
// over a restart of the server, too.
func TestNoEventIsUnaccountedFor(t *testing.T) {
	f := newFake(always(mode{}))
	inBubble(t, f, nil, func(r *rig) {
		r.mustDo("echo")
		hub := r.u.Shared().Hub()
		sub := fanout.NewSubscriber(fanout.SubscriberOptions{Events: 16, MergeFrom: 8})
		start, err := hub.Attach(sub, fanout.Attach{})
		if err != nil {
			t.Fatal(err)
		}
		var taken, merged, lost uint64
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				item, err := sub.Next(ctx)
				if err != nil {
					return
				}
				lost, merged = lost+item.Lost, merged+item.Merged
				if item.Event != nil {
					taken++
				}
				if taken%7 == 0 {
					<-time.After(time.Millisecond) // slow
				}
			}
		}()
		for round := range 3 {
			l := r.last()
			for i := range 1000 {
				_ = l.peer.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`))
				_ = l.peer.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
				if i%100 == 0 {
					<-time.After(time.Millisecond)
				}
			}
			if round < 2 {
				r.mustDo("echo")
				l.peer.Break(errors.New("died"))
				wait(time.Second)
			}
		}
		wait(time.Minute)
		cancel()
		<-done
		published := hub.Last() - start.After
		if published != 3*2000+2*3 || taken+merged+lost != published || lost == 0 || merged == 0 {
			t.Errorf("%d taken, %d merged, %d lost of %d", taken, merged, lost, published)
		}
	})
}

// few goroutines may be on their way out at any moment.
const few = 10

func TestManyRestartsLeaveNothing(t *testing.T) {
	for _, private := range []bool{false, true} {
		f := newFake(always(mode{modern: !private}))
		f.private = private
		inBubble(t, f, nil, func(r *rig) {
			r.u.Shared().Watch()
			r.mustDo("echo")
			synctest.Wait()
			before := runtime.NumGoroutine()
			for range 200 {
				if private {
					r.last().forget()
				} else {
					r.last().peer.Break(errors.New("died"))
				}
				r.mustDo("echo")
			}
			r.wantDials(201)
			r.wantOpen(1)
			if now := runtime.NumGoroutine(); now > before+few {
				t.Errorf("%d goroutines, %d before", now, before)
			}
		})
	}
}

func TestManySessionsLeaveNothing(t *testing.T) {
	inBubble(t, newFake(always(mode{modern: true})), nil, func(r *rig) {
		r.mustDo("echo")
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 200 {
			s := r.openPrivate(upstream.Spec{})
			release := s.Watch()
			if _, err := do(s, "echo", time.Minute); err != nil {
				t.Fatal(err)
			}
			r.set.CloseSession(context.Background(), s)
			release()
		}
		synctest.Wait()
		if now := runtime.NumGoroutine(); now > before+few {
			t.Errorf("%d goroutines, %d before", now, before)
		}
		r.wantOpen(1)
	})
}
