package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// TestProbeThatIsNotTaken is a shared link that does not take the probe.
func TestProbeThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		back bool // the binding takes the frame back; else a part of it is out
	}{{"queued", true}, {"partly out", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := &fakeConn{}
				conn.send = func(ctx context.Context, _ transport.Frame, method string, _ transport.Sink) (error, bool) {
					if method != "server/discover" {
						return nil, false
					}
					<-ctx.Done()
					err := context.Cause(ctx)
					if c.back {
						err = transport.NotSent(err)
					}
					return err, true
				}
				began := time.Now()
				client, err := mcp.Open(t.Context(), conn, mcp.Options{})
				if d := time.Since(began); d != 5*time.Second {
					t.Errorf("it took %v", d)
				}
				if c.back {
					if err == nil || !errors.Is(err, transport.ErrNotSent) || errorKind(err) != "other" {
						t.Fatalf("got %v", err)
					}
					contains(t, err.Error(), "within 5s")
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if v := client.Info().Verdict; v.Era != mcp.EraLegacy || !v.Provisional {
					t.Errorf("the verdict is %+v", v)
				}
				if err := client.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStreamRefused is a server that answers the GET for its own stream with 404:
// some have forgotten the session, more of them have no such route.
func TestStreamRefused(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("gone=%v", gone), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				refused := &transport.RefusedError{Status: 404, Text: "Not Found", Session: true}
				var pings atomic.Int64
				conn := &fakeConn{private: true, legacy: true}
				conn.listen = func(context.Context, transport.Sink) error { return refused }
				conn.send = func(_ context.Context, _ transport.Frame, method string, _ transport.Sink) (error, bool) {
					if method == "ping" {
						pings.Add(1)
						return refused, gone
					}
					return nil, false
				}
				client := openOver(t, conn, mcp.Options{})
				synctest.Wait()
				if pings.Load() != 1 {
					t.Errorf("%d pings", pings.Load())
				}
				if err := client.Err(); errors.Is(err, mcp.ErrGone) != gone {
					t.Errorf("over because %v", err)
				}
			})
		})
	}
}

// TestOpenLeavesNothing has Open fail in many ways.
func TestOpenLeavesNothing(t *testing.T) {
	transporttest.Leak(t)
	for _, private := range []bool{false, true} {
		for _, answers := range [][]string{
			{},
			{`"error":{"code":-32601,"message":"no"}`},
			{`"error":{"code":-32601,"message":"no"}`, `"error":{"code":1,"message":"no"}`},
			{`"error":{"code":-32601,"message":"no"}`, `"result":{"protocolVersion":"1999-01-01"}`},
			{`"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}`},
		} {
			conn, peer := transporttest.NewPair(transporttest.MemoryOptions{Private: private})
			ctx, cancel := context.WithCancelCause(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				for _, a := range answers {
					x, err := peer.NextExchange(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					_ = x.Reply([]byte(`{"jsonrpc":"2.0","id":` + idOf(t, x.Frame.Body) + `,` + a + `}`))
				}
				_, _ = peer.NextExchange(t.Context()) // one that stays without an answer, or the end
				cancel(errors.New("enough"))
			})
			if _, err := mcp.Open(ctx, conn, mcp.Options{}); err == nil {
				t.Error("Open succeeded")
			}
			wg.Wait()
			<-peer.Closed()
		}
	}
}

// TestManyQuestions has more questions than may be open: those beyond are refused
// and not left without an answer.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stats := &mcp.Stats{}
		client, peer := openPair(t, mcp.EraLegacy, transporttest.MemoryOptions{}, mcp.Options{Stats: stats, Handler: &scriptEvents{}})
		for i := range 300 {
			if err := peer.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"hold"}`, i)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := stats.Refused.Load(); n != 300-256 {
			t.Errorf("%d refused", n)
		}
		for range 300 - 256 {
			b, err := peer.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(b), `"error":{"code":-32603`)
		}
		if err := client.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// bigAnswer answers more than a link takes.
type bigAnswer struct{ scriptEvents }

func (*bigAnswer) Ask(context.Context, *jsonrpc.Call, any) ([]byte, *jsonrpc.Error) {
	return []byte(`"` + strings.Repeat("x", 5000) + `"`), nil
}

func TestAnswerOverTheLimit(t *testing.T) {
	t.Parallel()
	client, peer := openPair(t, mcp.EraLegacy, transporttest.MemoryOptions{Limit: 1000}, mcp.Options{Handler: &bigAnswer{}})
	if err := peer.Send([]byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)); err != nil {
		t.Fatal(err)
	}
	b, err := peer.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(b), `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"request of `)
	if err := client.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoHandler answers what needs no handler, and refuses the rest.
func TestNoHandler(t *testing.T) {
	t.Parallel()
	_, peer := openPair(t, mcp.EraLegacy, transporttest.MemoryOptions{}, mcp.Options{})
	for ask, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:       `{"jsonrpc":"2.0","id":"a","result":{}}`,
		`{"jsonrpc":"2.0","id":"b","method":"roots/list"}`: `{"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"Method not found"}}`,
	} {
		if err := peer.Send([]byte(ask)); err != nil {
			t.Fatal(err)
		}
		if got, err := peer.Next(t.Context()); err != nil || string(got) != want {
			t.Errorf("answered %s, %v, want %s", got, err, want)
		}
	}
}

// TestCancellationsOfAStuckLink bounds what gathers where cancellations can't be
// sent, and how long.
func TestCancellationsOfAStuckLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Int64
		conn := &fakeConn{legacy: true}
		conn.send = func(ctx context.Context, _ transport.Frame, method string, _ transport.Sink) (error, bool) {
			switch method {
			case "hold":
				return nil, true // taken, and never answered
			case "notifications/cancelled":
				stuck.Add(1)
				<-ctx.Done()
				stuck.Add(-1)
				return transport.NotSent(context.Cause(ctx)), true
			}
			return nil, false
		}
		client := openOver(t, conn, mcp.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 1500 {
			wg.Go(func() { _, _ = client.Do(ctx, &mcp.Request{Method: "hold"}) })
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		synctest.Wait()
		if n := stuck.Load(); n != 1024 {
			t.Errorf("%d cancellations wait", n)
		}
		<-time.After(5 * time.Second)
		synctest.Wait()
		if n := stuck.Load(); n != 0 {
			t.Errorf("%d cancellations wait after their time", n)
		}
	})
}

// TestPing asks what the era has for it.
func TestPing(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{true, false} {
		var last atomic.Value
		var answer atomic.Value
		conn := &fakeConn{legacy: legacy}
		conn.send = func(_ context.Context, f transport.Frame, method string, sink transport.Sink) (error, bool) {
			last.Store(method)
			if a := answer.Load(); a != nil {
				return conn.answer(mustID(f.Body), a.(string), sink), true
			}
			return nil, false
		}
		client := openOver(t, conn, mcp.Options{})
		want := "server/discover"
		if legacy {
			want = "ping"
		}
		if err := client.Ping(t.Context()); err != nil || last.Load() != want {
			t.Errorf("asked %v: %v", last.Load(), err)
		}
		answer.Store(`"error":{"code":1,"message":"no"}`)
		if err := client.Ping(t.Context()); errorKind(err) != "server" {
			t.Errorf("got %v", err)
		}
		answer.Store(`"result":{oops}`)
		if err := client.Ping(t.Context()); errorKind(err) != "protocol" {
			t.Errorf("got %v", err)
		}
	}
}

// TestReaderDoesNotLookIntoPayloads lets the reader take an answer whose payload
// is large: it must not cost it more than one whose payload is small.
func TestReaderDoesNotLookIntoPayloads(t *testing.T) {
	big := []byte(`{"jsonrpc":"2.0","id":9000000,"result":"` + strings.Repeat("ž", 4<<20) + `"}`)
	small := []byte(`{"jsonrpc":"2.0","id":9000000,"result":"ž"}`)
	conn := &fakeConn{}
	frames, took := make(chan []byte), make(chan time.Duration)
	conn.listen = func(ctx context.Context, sink transport.Sink) error {
		for {
			select {
			case in := <-conn.in:
				_ = sink(in)
			case f := <-frames:
				began := time.Now()
				_ = sink(transport.Inbound{Body: f})
				took <- time.Since(began)
			case <-conn.closed:
				return transport.ErrClosed
			}
		}
	}
	openOver(t, conn, mcp.Options{})
	fastest := func(f []byte) time.Duration {
		best := time.Hour
		for range 20 {
			frames <- f
			best = min(best, <-took)
		}
		return best
	}
	runtime.GC()
	// Only to look at 8 MiB takes some ms.
	if s, b := fastest(small), fastest(big); b > s+500*time.Microsecond {
		t.Errorf("a small answer takes the reader %v, a large one %v", s, b)
	}
}

// TestBothAnswersAtOnce has the late answer to the probe and that to initialize
// come in one frame: the first is proof, whichever the client sees first.
func TestBothAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			conn := &fakeConn{}
			conn.send = func(_ context.Context, _ transport.Frame, method string, _ transport.Sink) (error, bool) {
				if method == "initialize" {
					conn.in <- transport.Inbound{Body: []byte(
						`[{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}},` +
							`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25"}}]`)}
					synctest.Wait()
				}
				return nil, method == "server/discover" || method == "initialize"
			}
			client := openOver(t, conn, mcp.Options{})
			if v := client.Info().Verdict; v.Era != mcp.EraLegacy || v.Provisional {
				t.Errorf("the verdict is %+v", v)
			}
		})
	}
}

// TestNothingAfterClose has a stream bring a ping and a question when Close has
// returned already: nothing is begun any more.
func TestNothingAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var answers atomic.Int64
		conn := &fakeConn{private: true, legacy: true}
		conn.send = func(_ context.Context, _ transport.Frame, method string, sink transport.Sink) (error, bool) {
			switch method {
			case "hold":
				<-release
				_ = sink(transport.Inbound{Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
				_ = sink(transport.Inbound{Body: []byte(`{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)})
				return transport.ErrClosed, true
			case "":
				answers.Add(1)
			}
			return nil, false
		}
		handler := &scriptEvents{}
		client := openOver(t, conn, mcp.Options{Handler: handler})
		done := make(chan error)
		go func() {
			_, err := client.Do(t.Context(), &mcp.Request{Method: "hold"})
			done <- err
		}()
		synctest.Wait()
		if err := client.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(release)
		if err := <-done; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if n := answers.Load(); n != 0 {
			t.Errorf("%d answers after Close", n)
		}
		if e := handler.pop(); e != "" {
			t.Errorf("after Close: %s", e)
		}
	})
}
