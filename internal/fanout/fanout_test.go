package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
)

// script publishes one event a word: "a1" has the key "a", "-2" has none, and
// "a*8" the size 8.
func publish(h *fanout.Hub, words string) {
	for word := range strings.FieldsSeq(words) {
		e := fanout.Event{Size: 1, Value: word}
		if word[0] != '-' {
			e.Key = word[:1]
		}
		if _, size, ok := strings.Cut(word, "*"); ok {
			fmt.Sscan(size, &e.Size)
		}
		h.Publish(e)
	}
}

// told reads all there is and writes it down: "word", "word+merged", "lost:n@seq", "end@seq".
func told(t *testing.T, s *fanout.Subscriber) string {
	t.Helper()
	var out []string
	for {
		item, err := s.Next(expired(t))
		if err != nil {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, fanout.ErrClosed) {
				t.Fatal(err)
			}
			return strings.Join(out, " ")
		}
		tag, _ := item.Tag.(string)
		switch {
		case item.Lost > 0:
			out = append(out, fmt.Sprintf("%slost:%d@%d", tag, item.Lost, item.Seq))
		case item.End:
			out = append(out, fmt.Sprintf("%send@%d", tag, item.Seq))
		case item.Merged > 0:
			out = append(out, fmt.Sprintf("%s%v+%d", tag, item.Event.Value, item.Merged))
		default:
			out = append(out, fmt.Sprintf("%s%v", tag, item.Event.Value))
		}
	}
}

// expired is a context that makes Next return what there is and no more.
func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func attach(t *testing.T, h *fanout.Hub, s *fanout.Subscriber, want fanout.Attach) fanout.Start {
	t.Helper()
	start, err := h.Attach(s, want)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		opts    fanout.SubscriberOptions
		publish string
		want    string
	}{
		{"room for all", fanout.SubscriberOptions{Events: 4}, "a1 -2 a3 -4", "a1 -2 a3 -4"},
		{"no keys: the oldest go", fanout.SubscriberOptions{Events: 2}, "-1 -2 -3 -4 -5", "lost:3@3 -4 -5"},
		{"the newest stands for the older ones", fanout.SubscriberOptions{Events: 3}, "a1 -2 a3 -4", "-2 a3+1 -4"},
		{"all keys are merged at once", fanout.SubscriberOptions{Events: 5}, "a1 b2 a3 b4 a5 -6", "b4+1 a5+2 -6"},
		{"merged ones get lost with what stands for them", fanout.SubscriberOptions{Events: 2}, "a1 a2 a3 -4 -5", "lost:3@3 -4 -5"},
		{"a storm after something else", fanout.SubscriberOptions{Events: 3}, "-1 a2 a3 a4 a5 a6 a7", "-1 a6+4 a7"},
		{"merged from two on", fanout.SubscriberOptions{Events: 9, MergeFrom: 1}, "-1 a2 a3 a4 -5", "-1 a4+2 -5"},
		{"bytes: merged first", fanout.SubscriberOptions{Bytes: 9}, "a*4 -2*4 a*4", "-2*4 a*4+1"},
		{"bytes: the oldest go", fanout.SubscriberOptions{Bytes: 9}, "-1*3 -2*3 -3*8", "lost:2@2 -3*8"},
		{"too large for any queue", fanout.SubscriberOptions{Bytes: 9}, "-1 -2*10 -3*99 -4 -5*10", "-1 lost:2@3 -4 lost:1@5"},
		{"too large and then too many", fanout.SubscriberOptions{Bytes: 9, Events: 2}, "-1 -2*10 -3 -4", "lost:2@2 -3 -4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, s := fanout.NewHub(fanout.HubOptions{}), fanout.NewSubscriber(c.opts)
			attach(t, h, s, fanout.Attach{})
			publish(h, c.publish)
			if got := told(t, s); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hub   fanout.HubOptions
		want  fanout.Attach
		start fanout.Start
		told  string
	}{
		{"from now on", fanout.HubOptions{}, fanout.Attach{}, fanout.Start{After: 5}, "-6"},
		{"from the beginning", fanout.HubOptions{}, fanout.Attach{Replay: true}, fanout.Start{}, "-1 a2 a3 -4*4 -5 -6"},
		{"from a place", fanout.HubOptions{}, fanout.Attach{Replay: true, After: 3}, fanout.Start{After: 3}, "-4*4 -5 -6"},
		{"from the end", fanout.HubOptions{}, fanout.Attach{Replay: true, After: 5}, fanout.Start{After: 5}, "-6"},
		{"from a place that is still to come", fanout.HubOptions{}, fanout.Attach{Replay: true, After: 99}, fanout.Start{After: 5}, "-6"},
		{"some are gone", fanout.HubOptions{ReplayEvents: 2}, fanout.Attach{Replay: true, After: 1}, fanout.Start{After: 3, Lost: 2}, "lost:2@3 -4*4 -5 -6"},
		{"just not gone", fanout.HubOptions{ReplayEvents: 2}, fanout.Attach{Replay: true, After: 3}, fanout.Start{After: 3}, "-4*4 -5 -6"},
		{"gone by bytes", fanout.HubOptions{ReplayBytes: 5}, fanout.Attach{Replay: true}, fanout.Start{After: 3, Lost: 3}, "lost:3@3 -4*4 -5 -6"},
		{"one that is larger than the ring", fanout.HubOptions{ReplayBytes: 3}, fanout.Attach{Replay: true}, fanout.Start{After: 4, Lost: 4}, "lost:4@4 -5 -6"},
		{"no replay kept", fanout.HubOptions{ReplayEvents: -1}, fanout.Attach{Replay: true}, fanout.Start{After: 5, Lost: 5}, "lost:5@5 -6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, s := fanout.NewHub(c.hub), fanout.NewSubscriber(fanout.SubscriberOptions{})
			publish(h, "-1 a2 a3 -4*4 -5")
			if got := attach(t, h, s, c.want); got != c.start {
				t.Errorf("starts at %+v, want %+v", got, c.start)
			}
			publish(h, "-6")
			if got := told(t, s); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
		})
	}
}

func TestReplayLargerThanTheQueue(t *testing.T) {
	t.Parallel()
	h, s := fanout.NewHub(fanout.HubOptions{ReplayEvents: 4}), fanout.NewSubscriber(fanout.SubscriberOptions{Events: 2})
	publish(h, "-1 -2 -3 -4 -5 -6")
	attach(t, h, s, fanout.Attach{Replay: true})
	if got, want := told(t, s), "lost:4@4 -5 -6"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestMaskAndFilter(t *testing.T) {
	t.Parallel()
	h := fanout.NewHub(fanout.HubOptions{})
	s := fanout.NewSubscriber(fanout.SubscriberOptions{Events: 2})
	attach(t, h, s, fanout.Attach{Mask: 6, Filter: func(e *fanout.Event) bool { return e.Value != "secret" }})
	for class, value := range []string{"0", "1", "2", "secret", "4", "5"} {
		h.Publish(fanout.Event{Class: uint64(class), Value: value})
	}
	h.Publish(fanout.Event{Class: 8, Value: "8"})
	// 2, 4 and 5 pass; what was never meant for this subscriber is no loss.
	if got, want := told(t, s), "lost:1@3 4 5"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestManyHubsShareOneQueue(t *testing.T) {
	t.Parallel()
	x, y := fanout.NewHub(fanout.HubOptions{}), fanout.NewHub(fanout.HubOptions{})
	s := fanout.NewSubscriber(fanout.SubscriberOptions{Events: 3})
	attach(t, x, s, fanout.Attach{Tag: "x"})
	publish(x, "a1 -2")
	publish(y, "-0")
	attach(t, y, s, fanout.Attach{Tag: "y"})
	publish(y, "a1 a2 -3")
	publish(x, "-3")
	if _, err := y.Attach(s, fanout.Attach{}); !errors.Is(err, fanout.ErrAttached) {
		t.Errorf("attached twice: %v", err)
	}
	// The same key in another hub is another content.
	if got, want := told(t, s), "xlost:2@2 ya2+1 y-3 x-3"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if !x.Detach(s) || x.Detach(s) {
		t.Error("Detach does not know who was attached")
	}
	publish(x, "-4")
	publish(y, "-4")
	if got, want := told(t, s), "y-4"; got != want {
		t.Errorf("told %q after Detach, want %q", got, want)
	}
}

func TestCloseOfAHub(t *testing.T) {
	t.Parallel()
	x, y := fanout.NewHub(fanout.HubOptions{}), fanout.NewHub(fanout.HubOptions{})
	s := fanout.NewSubscriber(fanout.SubscriberOptions{Events: 2})
	attach(t, x, s, fanout.Attach{Tag: "x"})
	attach(t, y, s, fanout.Attach{Tag: "y"})
	publish(x, "-1 -2 -3")
	x.Close()
	x.Close()
	publish(y, "-1")
	if got, want := told(t, s), "xlost:2@2 x-3 xend@3 y-1"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if n := x.Publish(fanout.Event{}); n != 0 {
		t.Errorf("a closed hub numbered an event %d", n)
	}
	if _, err := x.Attach(s, fanout.Attach{}); !errors.Is(err, fanout.ErrClosed) {
		t.Errorf("attached to a closed hub: %v", err)
	}
}

func TestLossAndEndWhereNothingFollows(t *testing.T) {
	t.Parallel()
	x, y := fanout.NewHub(fanout.HubOptions{}), fanout.NewHub(fanout.HubOptions{})
	s := fanout.NewSubscriber(fanout.SubscriberOptions{Events: 1})
	attach(t, x, s, fanout.Attach{Tag: "x"})
	attach(t, y, s, fanout.Attach{Tag: "y"})
	publish(x, "-1")
	x.Close()
	publish(y, "-1") // takes the place of the only one of x
	if got, want := told(t, s), "xlost:1@1 xend@1 y-1"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestNextWaitsAndIsWoken(t *testing.T) {
	t.Parallel()
	cause := errors.New("draining")
	for _, c := range []struct {
		name string
		do   func(*fanout.Hub, *fanout.Subscriber, context.CancelCauseFunc)
		want string
	}{
		{"event", func(h *fanout.Hub, _ *fanout.Subscriber, _ context.CancelCauseFunc) { publish(h, "-1") }, "1 false <nil>"},
		{"loss", func(h *fanout.Hub, _ *fanout.Subscriber, _ context.CancelCauseFunc) { publish(h, "-1*99") }, "1 false <nil>"},
		{"end", func(h *fanout.Hub, _ *fanout.Subscriber, _ context.CancelCauseFunc) { h.Close() }, "0 true <nil>"},
		{"close", func(_ *fanout.Hub, s *fanout.Subscriber, _ context.CancelCauseFunc) { s.Close(nil) }, "0 false closed"},
		{"close with a cause", func(_ *fanout.Hub, s *fanout.Subscriber, _ context.CancelCauseFunc) { s.Close(cause); s.Close(nil) }, "0 false draining"},
		{"context", func(_ *fanout.Hub, _ *fanout.Subscriber, cancel context.CancelCauseFunc) { cancel(cause) }, "0 false draining"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				h, s := fanout.NewHub(fanout.HubOptions{}), fanout.NewSubscriber(fanout.SubscriberOptions{Bytes: 50})
				attach(t, h, s, fanout.Attach{})
				got := make(chan string, 1)
				go func() {
					item, err := s.Next(ctx)
					got <- fmt.Sprint(item.Seq, item.End, err)
				}()
				synctest.Wait()
				if len(got) > 0 {
					t.Fatal("Next did not wait")
				}
				c.do(h, s, cancel)
				if got := <-got; strings.Join(strings.Fields(got), " ") != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestClosedSubscriberIsForgotten(t *testing.T) {
	t.Parallel()
	h, s := fanout.NewHub(fanout.HubOptions{}), fanout.NewSubscriber(fanout.SubscriberOptions{})
	attach(t, h, s, fanout.Attach{})
	publish(h, "-1")
	s.Close(nil)
	if h.Detach(s) {
		t.Error("still attached after Close")
	}
	if _, err := h.Attach(s, fanout.Attach{}); !errors.Is(err, fanout.ErrClosed) {
		t.Errorf("attached after Close: %v", err)
	}
	if got := told(t, s); got != "" {
		t.Errorf("told %q after Close", got)
	}
}

func TestPublishNumbersAndTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)
	h := fanout.NewHub(fanout.HubOptions{Now: func() time.Time { return now }})
	s := fanout.NewSubscriber(fanout.SubscriberOptions{})
	attach(t, h, s, fanout.Attach{})
	own := now.Add(-time.Hour)
	if a, b := h.Publish(fanout.Event{Size: -5}), h.Publish(fanout.Event{Time: own, Seq: 77}); a != 1 || b != 2 || h.Last() != 2 {
		t.Errorf("numbered %d, %d, last %d", a, b, h.Last())
	}
	first, _ := s.Next(t.Context())
	second, _ := s.Next(t.Context())
	got := []any{first.Event.Seq, first.Event.Time, second.Event.Seq, second.Event.Time}
	if diff := cmp.Diff([]any{uint64(1), now, uint64(2), own}, got); diff != "" {
		t.Error(diff)
	}
}
