package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// TestManyCallsAndCancels has a thousand calls, a third of them cancelled at some
// moment, and answers that come in any order, twice, or to nobody. Each call gets
// its own answer, and every answer is accounted for.
func TestManyCallsAndCancels(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{false, true} {
		t.Run(fmt.Sprintf("private=%v", private), func(t *testing.T) {
			t.Parallel()
			manyCalls(t, private)
		})
	}
}

func manyCalls(t *testing.T, private bool) {
	const calls = 1000
	stats := &mcp.Stats{}
	client, peer := openPair(t, mcp.EraLegacy, transporttest.MemoryOptions{Private: private}, mcp.Options{Stats: stats})
	ctx, stop := context.WithCancel(t.Context())
	var server sync.WaitGroup
	var answers atomic.Int64
	server.Go(func() { serveWildly(ctx, peer, private, &answers) })

	var received atomic.Int64
	var wg sync.WaitGroup
	weary := errors.New("weary")
	for i := range calls {
		wg.Go(func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if i%3 == 0 {
				wg.Go(func() { cancel(weary) })
			}
			method := fmt.Sprintf("call/%d", i)
			res, err := client.Do(ctx, &mcp.Request{Method: method})
			var ie *mcp.InterruptedError
			switch {
			case err == nil:
				received.Add(1)
				if got := string(res.Payload); got != `"`+method+`"` {
					t.Errorf("%s was given %s", method, got)
				}
			case !errors.As(err, &ie) || !errors.Is(err, weary) || i%3 != 0:
				t.Errorf("%s: %v", method, err)
			}
		})
	}
	wg.Wait()
	stop()
	server.Wait()
	if n := client.InFlight(); n != 0 {
		t.Errorf("%d left in the table", n)
	}
	// What is sent last is read last: then all the others were.
	if err := client.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if received.Load() < calls*2/3 {
		t.Errorf("only %d of %d calls were answered", received.Load(), calls)
	}
	sum := received.Load() + stats.Late.Load() + stats.Unknown.Load()
	if private {
		// What is said on a stream that the client has left is not read.
		if sum > answers.Load() {
			t.Errorf("%d answers read, %d sent", sum, answers.Load())
		}
		return
	}
	if sum != answers.Load() {
		t.Errorf("received %d + late %d + unknown %d = %d, but %d answers were sent",
			received.Load(), stats.Late.Load(), stats.Unknown.Load(), sum, answers.Load())
	}
}

// serveWildly answers what comes in until ctx ends, then the rest, and waits until
// all of it was read.
func serveWildly(ctx context.Context, peer *transporttest.MemoryPeer, private bool, answers *atomic.Int64) {
	var held []*transporttest.Exchange
	say := func(x *transporttest.Exchange, body string) {
		if x.Reply([]byte(body)) == nil {
			answers.Add(1)
		}
	}
	answer := func(x *transporttest.Exchange) {
		id := mustID(x.Frame.Body)
		if id.IsZero() {
			return
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, id, methodOf(x.Frame.Body))
		if !private && rand.IntN(10) == 0 {
			say(x, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":0}`, 1<<40+rand.IntN(100)))
		}
		say(x, body)
		if !private && rand.IntN(10) == 0 {
			say(x, body)
		}
	}
	for {
		short, cancel := context.WithTimeout(ctx, 1e6)
		x, err := peer.NextExchange(short)
		cancel()
		switch {
		case err == nil:
			held = append(held, x)
		case ctx.Err() != nil:
			for _, x := range held {
				answer(x)
			}
			drainPeer(peer)
			return
		}
		if len(held) > 0 && (err != nil || len(held) > 50) {
			i := rand.IntN(len(held))
			answer(held[i])
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		}
	}
}

// drainPeer asks the client something that it answers, after all that went before.
func drainPeer(peer *transporttest.MemoryPeer) {
	if peer.Send([]byte(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)) != nil {
		return
	}
	for {
		b, err := peer.Next(context.Background())
		if err != nil || string(b) == `{"jsonrpc":"2.0","id":"last","result":{}}` {
			return
		}
	}
}

// TestCloseAmidCalls closes a session under hundreds of calls that are cancelled
// and questions that are answered: nothing is left, and nothing hangs.
func TestCloseAmidCalls(t *testing.T) {
	transporttest.Leak(t)
	for range 20 {
		for _, private := range []bool{false, true} {
			closeAmid(t, private)
		}
	}
}

func closeAmid(t *testing.T, private bool) {
	client, peer := openPair(t, mcp.EraLegacy, transporttest.MemoryOptions{Private: private}, mcp.Options{})
	var wg sync.WaitGroup
	started := make(chan struct{}, 100)
	for i := range 100 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%2 == 0 {
				wg.Go(func() { <-started; cancel() })
			}
			started <- struct{}{}
			_, err := client.Do(ctx, &mcp.Request{Method: "tools/list"})
			if !errors.Is(err, transport.ErrClosed) && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for i := range 20 {
		_ = peer.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i))
	}
	wg.Go(func() { _ = client.Close(t.Context()) })
	_ = client.Close(t.Context())
	wg.Wait()
	if client.InFlight() != 0 {
		t.Errorf("%d left in the table", client.InFlight())
	}
	if !errors.Is(client.Err(), transport.ErrClosed) {
		t.Errorf("over because %v", client.Err())
	}
}

func methodOf(frame []byte) string {
	m, _ := requestIn(frame)
	if m == nil {
		return ""
	}
	return m.Method
}
