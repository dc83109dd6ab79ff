package fanout_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
)

// reader checks all that a subscriber may rely on while it reads one hub.
type reader struct {
	received, merged, lost uint64
	last                   uint64
	keyed                  bool // some events may be merged: numbers can have holes
}

func (r *reader) take(item fanout.Item) error {
	switch {
	case item.Lost > 0:
		if r.lost += item.Lost; !r.keyed && item.Seq != r.last+item.Lost {
			return fmt.Errorf("told of %d lost up to %d after %d: not in its place", item.Lost, item.Seq, r.last)
		}
	case item.Event != nil:
		r.received++
		r.merged += item.Merged
		if item.Seq != item.Event.Seq || item.Seq <= r.last || !r.keyed && item.Seq != r.last+1 {
			return fmt.Errorf("event %d (%d) after %d", item.Seq, item.Event.Seq, r.last)
		}
	}
	if item.Seq < r.last {
		return fmt.Errorf("%d after %d", item.Seq, r.last)
	}
	r.last = item.Seq
	return nil
}

// Many publishers on many hubs, subscribers of every pace and bound: nothing is
// out of order, and every sum is exact.
func TestSumsAreExactUnderStress(t *testing.T) {
	t.Parallel()
	const hubs, publishers, each = 3, 3, 2000
	all := make([]*fanout.Hub, hubs)
	for i := range all {
		all[i] = fanout.NewHub(fanout.HubOptions{ReplayEvents: 32})
	}
	var readers, writers sync.WaitGroup
	for n, c := range []struct {
		opts  fanout.SubscriberOptions
		pace  int // yields between two reads
		keyed bool
	}{
		{fanout.SubscriberOptions{Events: 1 << 20}, 0, true},
		{fanout.SubscriberOptions{Events: 64}, 0, true},
		{fanout.SubscriberOptions{Events: 64, MergeFrom: 2}, 4, true},
		{fanout.SubscriberOptions{Events: 7}, 16, true},
		{fanout.SubscriberOptions{Events: 1}, 3, true},
		{fanout.SubscriberOptions{Bytes: 40}, 2, true},
	} {
		s := fanout.NewSubscriber(c.opts)
		for i, h := range all {
			attach(t, h, s, fanout.Attach{Tag: i})
		}
		readers.Go(func() {
			rs := [hubs]reader{}
			for i := range rs {
				rs[i].keyed = c.keyed
			}
			for ended := 0; ended < hubs; {
				item, err := s.Next(t.Context())
				if err != nil {
					t.Errorf("subscriber %d: %v", n, err)
					return
				}
				r := &rs[item.Tag.(int)]
				if err := r.take(item); err != nil {
					t.Errorf("subscriber %d: %v", n, err)
				}
				if item.End {
					ended++
				}
				for range c.pace {
					runtime.Gosched()
				}
			}
			sum := fanout.Stats{}
			for i, r := range rs {
				if got := r.received + r.merged + r.lost; got != publishers*each || r.last != publishers*each {
					t.Errorf("subscriber %d, hub %d: %d received + %d merged + %d lost = %d of %d, last %d",
						n, i, r.received, r.merged, r.lost, got, publishers*each, r.last)
				}
				sum.Taken += r.received
				sum.Merged += r.merged
				sum.Lost += r.lost
			}
			if got := s.Stats(); got != sum {
				t.Errorf("subscriber %d: Stats is %+v, read were %+v", n, got, sum)
			}
		})
	}
	stalled := fanout.NewSubscriber(fanout.SubscriberOptions{Events: 4}) // delays nobody
	attach(t, all[0], stalled, fanout.Attach{})
	for i, h := range all {
		for p := range publishers {
			writers.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(p)))
				for range each {
					e := fanout.Event{Size: rnd.IntN(50)}
					if rnd.IntN(3) > 0 {
						e.Key = string(rune('a' + rnd.IntN(4)))
					}
					h.Publish(e)
				}
			})
		}
	}
	writers.Wait()
	for _, h := range all {
		h.Close()
	}
	readers.Wait()
	if got := stalled.Stats(); got.Merged+got.Lost+uint64(got.Waiting) != publishers*each {
		t.Errorf("the stalled subscriber counts %+v of %d", got, publishers*each)
	}
}

// One thread, random steps: hubs and readers that come, go and come back where
// they were miss nothing that they are not told of.
func TestPlacesHaveNoHoles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := fanout.NewHub(fanout.HubOptions{ReplayEvents: 1 + rnd.IntN(20), ReplayBytes: int64(1 + rnd.IntN(60))})
		opts := fanout.SubscriberOptions{Events: 1 + rnd.IntN(12), Bytes: int64(1 + rnd.IntN(40))}
		s, r, published := fanout.NewSubscriber(opts), reader{}, uint64(0)
		attach(t, h, s, fanout.Attach{})
		read := func(n int) {
			for range n {
				item, err := s.Next(expired(t))
				if err != nil {
					return
				}
				if err := r.take(item); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		for range 200 {
			switch k := rnd.IntN(20); {
			case k < 11:
				published = h.Publish(fanout.Event{Size: rnd.IntN(12)})
			case k < 18:
				read(1 + rnd.IntN(3))
			default: // the stream breaks: what lay in the queue is asked for again
				s.Close(nil)
				s = fanout.NewSubscriber(opts)
				attach(t, h, s, fanout.Attach{Replay: true, After: r.last})
			}
		}
		read(1000)
		if r.received+r.lost != published || r.last != published {
			t.Fatalf("seed %d: %d received + %d lost of %d, last %d", seed, r.received, r.lost, published, r.last)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, c := range []struct {
		subscribers int
		state       string
	}{{1, "read"}, {1, "stalled"}, {1000, "stalled"}, {1000, "storm"}, {1000, "filtered"}} {
		b.Run(fmt.Sprintf("%d/%s", c.subscribers, c.state), func(b *testing.B) {
			h := fanout.NewHub(fanout.HubOptions{})
			var s *fanout.Subscriber
			for range c.subscribers {
				s = fanout.NewSubscriber(fanout.SubscriberOptions{Events: 64})
				want := fanout.Attach{}
				if c.state == "filtered" {
					want.Mask = 2
				}
				if _, err := h.Attach(s, want); err != nil {
					b.Fatal(err)
				}
			}
			e := fanout.Event{Size: 100, Class: 1, Value: &struct{}{}}
			if c.state == "storm" {
				e.Key = "list"
			}
			for range 200 { // queues and rings have their size
				h.Publish(e)
			}
			for c.state == "read" && s.Stats().Waiting > 0 {
				if _, err := s.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				h.Publish(e)
				if c.state == "read" {
					if _, err := s.Next(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
