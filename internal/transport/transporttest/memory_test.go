package transporttest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func TestMemoryShared(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Peer {
		return serve(t, transporttest.MemoryOptions{Limit: transporttest.MaxMessageBytes, Backlog: 8})
	})
}

func TestMemorySharedNeverWaits(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Peer {
		p := serve(t, transporttest.MemoryOptions{Limit: transporttest.MaxMessageBytes})
		p.NeverWaits = true
		return p
	})
}

func TestMemoryPrivate(t *testing.T) {
	for _, noListen := range []bool{false, true} {
		transporttest.Run(t, func(t *testing.T) transporttest.Peer {
			p := serve(t, transporttest.MemoryOptions{
				Private: true, NoListen: noListen, Limit: transporttest.MaxMessageBytes, Window: 3,
			})
			if noListen {
				p.Say = nil
			}
			return p
		})
	}
}

// serve answers as the suite wants until the link ends.
func serve(t *testing.T, o transporttest.MemoryOptions) transporttest.Peer {
	conn, server := transporttest.NewPair(o)
	var wg sync.WaitGroup
	obey := func(x *transporttest.Exchange) {
		err := transporttest.Obey(x.Frame.Body, far{x, server, o.Private})
		select {
		case <-server.Closed():
		case <-x.Done(): // whoever has left can't be told
		default:
			if err != nil {
				t.Error(err)
			}
		}
	}
	wg.Go(func() {
		for {
			x, err := server.NextExchange(context.Background())
			if err != nil {
				return
			}
			if o.Private {
				wg.Go(func() { obey(x) })
			} else {
				obey(x)
			}
		}
	})
	t.Cleanup(wg.Wait)
	return transporttest.Peer{Conn: conn, Say: func(frame []byte) { _ = server.Send(frame) }}
}

type far struct {
	x       *transporttest.Exchange
	server  *transporttest.MemoryPeer
	private bool
}

func (f far) Reply(frame []byte) error { return f.x.Reply(frame) }

func (f far) End() {
	if f.private {
		f.x.End(nil)
	} else {
		f.server.Break(errors.New("EOF"))
	}
}

func (f far) Break() {
	if f.private {
		f.x.End(&transport.LostError{Err: errors.New("reset")})
	} else {
		f.server.Break(errors.New("reset"))
	}
}

func (f far) Hold() {
	if f.private {
		<-f.x.Done()
	} else {
		<-f.server.Closed()
	}
}

func TestMemoryInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server := transporttest.NewPair(transporttest.MemoryOptions{Private: true})
		go func() {
			x, err := server.NextExchange(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			<-time.After(time.Hour)
			_ = x.Reply([]byte("late"))
			<-x.Done()
		}()
		t0 := time.Now()
		err := conn.Send(t.Context(), transport.Frame{Body: []byte("x"), Expects: true}, func(in transport.Inbound) error {
			if string(in.Body) != "late" || time.Since(t0) != time.Hour {
				t.Errorf("%q after %v", in.Body, time.Since(t0))
			}
			return transport.ErrEnough
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A reader that stalls is felt by the server: it is at most Window frames ahead.
func TestMemoryWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window, sent = 3, 10
		conn, server := transporttest.NewPair(transporttest.MemoryOptions{Private: true, Window: window})
		replied := 0
		go func() {
			x, _ := server.NextExchange(t.Context())
			for range sent {
				_ = x.Reply([]byte("x"))
				replied++
			}
			x.End(nil)
		}()
		seen := 0
		err := conn.Send(t.Context(), transport.Frame{Expects: true}, func(transport.Inbound) error {
			if seen == 0 {
				synctest.Wait()
				if replied != window+1 {
					t.Errorf("the server is %d frames ahead", replied)
				}
			}
			seen++
			return nil
		})
		if _, ok := errors.AsType[*transport.NoReplyError](err); !ok || seen != sent {
			t.Errorf("%d seen, %v", seen, err)
		}
	})
}

func TestMemoryRefuse(t *testing.T) {
	refused := &transport.RefusedError{Status: 404, Text: "Not Found"}
	conn, _ := transporttest.NewPair(transporttest.MemoryOptions{
		Refuse: func(transport.Frame) error { return refused },
	})
	if err := conn.Send(t.Context(), transport.Frame{}, nil); err != refused {
		t.Fatal(err)
	}
}
