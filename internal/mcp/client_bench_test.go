package mcp_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// An inlineConn answers each frame from another goroutine, its reader, and does
// as little else as it can: what is measured is the client.
type inlineConn struct {
	ids    chan int64
	closed chan struct{}
	result []byte
	first  bool
	frames [][]byte // of which each answer is made in turn: the client owns it only while it is read
}

func newInlineConn(result string) *inlineConn {
	return &inlineConn{ids: make(chan int64, 16), closed: make(chan struct{}), result: []byte(result), frames: make([][]byte, 64)}
}

func (c *inlineConn) Binding() transport.Binding {
	return transport.Binding{Name: "inline", Shared: true}
}

func (c *inlineConn) Close(context.Context) error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return nil
}

// Send reads the id where it always is: {"jsonrpc":"2.0","id":N,…
func (c *inlineConn) Send(_ context.Context, f transport.Frame, _ transport.Sink) error {
	var id int64
	for _, d := range f.Body[len(`{"jsonrpc":"2.0","id":`):] {
		if d < '0' || d > '9' {
			break
		}
		id = id*10 + int64(d-'0')
	}
	c.ids <- id
	return nil
}

func (c *inlineConn) Listen(_ context.Context, sink transport.Sink) error {
	for n := 0; ; n++ {
		select {
		case id := <-c.ids:
			b := c.frames[n%len(c.frames)][:0]
			b = strconv.AppendInt(append(b, `{"jsonrpc":"2.0","id":`...), id, 10)
			if !c.first {
				c.first = true
				b = append(b, `,"result":{"supportedVersions":["2026-07-28"]}}`...)
			} else {
				b = append(append(append(b, `,"result":`...), c.result...), '}')
			}
			c.frames[n%len(c.frames)] = b
			if err := sink(transport.Inbound{Body: b}); err != nil {
				return err
			}
		case <-c.closed:
			return transport.ErrClosed
		}
	}
}

func openInline(t testing.TB, result string) *mcp.Client {
	t.Helper()
	client, err := mcp.Open(t.Context(), newInlineConn(result), mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

// TestAllocations keeps the client's part of a call small: the frame, the entry
// in the table and its channel are used again.
func TestAllocations(t *testing.T) {
	client := openInline(t, `{"content":[]}`)
	r := &mcp.Request{Method: "tools/call", Name: "add", HasName: true, Params: &mcp.ToolCall{Name: "add", Arguments: `{"a":1}`}}
	ctx := t.Context()
	got := testing.AllocsPerRun(2000, func() {
		res, err := client.Do(ctx, r)
		if err != nil || len(res.Payload) == 0 {
			t.Fatal(err)
		}
	})
	if got > 1 { // none, but that the collector may empty the pool of buffers
		t.Errorf("%v allocations a call", got)
	}
	t.Logf("%v allocations a call", got)
}

func BenchmarkDo(b *testing.B) {
	for _, size := range []int{100, 10_000, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			text := make([]byte, size)
			for i := range text {
				text[i] = 'x'
			}
			client := openInline(b, `{"content":[{"type":"text","text":"`+string(text)+`"}]}`)
			r := &mcp.Request{Method: "tools/call", Params: &mcp.ToolCall{Name: "add", Arguments: `{"a":1}`}}
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := client.Do(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDoParallel(b *testing.B) {
	client := openInline(b, `{"content":[]}`)
	r := &mcp.Request{Method: "tools/call", Params: &mcp.ToolCall{Name: "add", Arguments: `{"a":1}`}}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := client.Do(b.Context(), r); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
