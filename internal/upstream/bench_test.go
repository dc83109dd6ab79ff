package upstream_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// An instant server answers on the caller's goroutine.
type instant struct{}

func (instant) Dial(context.Context) (transport.Conn, error) { return instant{}, nil }
func (instant) Close(context.Context) error                  { return nil }
func (instant) Binding() transport.Binding                   { return transport.Binding{Name: "instant"} }
func (instant) Listen(context.Context, transport.Sink) error { return transport.ErrUnsupported }
func (instant) Send(_ context.Context, f transport.Frame, replies transport.Sink) error {
	if !f.Expects {
		return nil
	}
	_, id, ok := bytes.Cut(f.Body, []byte(`"id":`))
	end := bytes.IndexByte(id, ',')
	if !ok || end < 0 {
		return &transport.NoReplyError{}
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id[:end]...)
	_ = replies(transport.Inbound{Body: append(b, `,"result":{"protocolVersion":"2025-11-25"}}`...)})
	return nil
}

// BenchmarkDo is what a session adds to a request, and how callers of one are in
// each other's way.
func BenchmarkDo(b *testing.B) {
	o := upstream.Defaults()
	o.Dialers, o.Protocol = []transport.Dialer{instant{}}, mcp.Protocol{Era: mcp.EraLegacy}
	u := upstream.New(o)
	defer u.Close(context.Background())
	run := func(b *testing.B, s *upstream.Session) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.Do(context.Background(), &mcp.Request{Method: "x"}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.Run("shared", func(b *testing.B) { run(b, u.Shared()) })
	b.Run("private", func(b *testing.B) {
		set := upstream.NewSet([]*upstream.Upstream{u})
		s, err := set.Open(context.Background(), u, upstream.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		defer set.CloseSession(context.Background(), s)
		run(b, s)
	})
	b.Run("client alone", func(b *testing.B) {
		c, err := mcp.Open(context.Background(), instant{}, mcp.Options{Protocol: o.Protocol})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close(context.Background())
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := c.Do(context.Background(), &mcp.Request{Method: "x"}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
