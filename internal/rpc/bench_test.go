package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// A pipe is a link to a server that costs next to nothing: each answer is one
// copy of a frame, as the reader of a real pipe makes one.
type pipe struct {
	result string
	in     chan []byte
	done   chan struct{}
	once   sync.Once
}

func (p *pipe) Dial(context.Context) (transport.Conn, error) { return p, nil }

func (p *pipe) Binding() transport.Binding {
	return transport.Binding{Name: "pipe", Peer: "pipe", Shared: true}
}

func (p *pipe) Close(context.Context) error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipe) Send(_ context.Context, f transport.Frame, _ transport.Sink) error {
	if !f.Expects {
		return nil
	}
	const head = `{"jsonrpc":"2.0","id":`
	id, _, _ := bytes.Cut(f.Body[len(head):], []byte(","))
	result := p.result
	if bytes.Contains(f.Body[:min(len(f.Body), 64)], []byte(`"initialize"`)) {
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`
	}
	const middle = `,"result":`
	b := make([]byte, 0, len(head)+len(id)+len(middle)+len(result)+1)
	b = append(append(append(append(b, head...), id...), middle...), result...)
	p.in <- append(b, '}')
	return nil
}

func (p *pipe) Listen(ctx context.Context, sink transport.Sink) error {
	for {
		select {
		case b := <-p.in:
			if err := sink(transport.Inbound{Body: b}); err != nil {
				return err
			}
		case <-p.done:
			return transport.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// inProcess makes a client of a bridge in front of a pipe. Messages are handed
// over, not copied, so that only the bridge's own work is seen.
func inProcess(t testing.TB, size int, sets ...func(*rpc.Options)) (mcpbridgev1connect.McpServiceClient, *rpc.Options) {
	text := strings.Repeat("x", size)
	p := &pipe{
		result: `{"content":[{"type":"text","text":"` + text + `"}]}`,
		in:     make(chan []byte, 64), done: make(chan struct{}),
	}
	o := upstream.Defaults()
	o.Name, o.Dialers, o.Protocol = "one", []transport.Dialer{p}, mcp.Protocol{Era: mcp.EraLegacy}
	set := upstream.NewSet([]*upstream.Upstream{upstream.New(o)})
	t.Cleanup(func() { set.Close(context.Background()) })
	ro := rpc.Options{Servers: set}
	for _, f := range sets {
		f(&ro)
	}
	s := connect.NewServer()
	rpc.New(ro).Register(s)
	return mcpbridgev1connect.NewMcpServiceClient(connect.NewClient(connectinprocess.New(s, connectinprocess.WithCopyFunc(handOver)))), &ro
}

func handOver(dst, src any) error {
	switch dst := dst.(type) {
	case *v1.CallToolRequest:
		src := src.(*v1.CallToolRequest)
		dst.Server, dst.Name, dst.ArgumentsJson, dst.Options = src.Server, src.Name, src.ArgumentsJson, src.Options
	case *v1.CallToolResponse:
		dst.Outcome, dst.RawJson = src.(*v1.CallToolResponse).Outcome, src.(*v1.CallToolResponse).RawJson
	case *v1.StreamToolRequest:
		dst.Call = src.(*v1.StreamToolRequest).Call
	case *v1.StreamToolResponse:
		dst.Event = src.(*v1.StreamToolResponse).Event
	case *v1.WatchNotificationsResponse:
		src := src.(*v1.WatchNotificationsResponse)
		dst.Event, dst.Sequence = src.Event, src.Sequence
	case *v1.ListServersRequest, *v1.ListServersResponse, *v1.WatchNotificationsRequest:
	default:
		return fmt.Errorf("%T", dst)
	}
	return nil
}

// nothing serves the RPC that costs nothing.
type nothing struct {
	mcpbridgev1connect.UnimplementedMcpServiceHandler
}

var emptyResponse = &v1.CallToolResponse{}

func (nothing) CallTool(context.Context, *v1.CallToolRequest) (*v1.CallToolResponse, error) {
	return emptyResponse, nil
}

// maxOwnAllocations is what a unary call over a pipe may allocate beyond what an
// empty call by the same way does.
const maxOwnAllocations = 25

func TestUnaryCallAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := connect.NewServer()
	mcpbridgev1connect.RegisterMcpServiceHandler(s, nothing{})
	empty := mcpbridgev1connect.NewMcpServiceClient(connect.NewClient(connectinprocess.New(s, connectinprocess.WithCopyFunc(handOver))))
	client, _ := inProcess(t, 100)
	req := &v1.CallToolRequest{Server: "one", Name: "echo", ArgumentsJson: `{"text":"hello"}`}
	measure := func(c mcpbridgev1connect.McpServiceClient) float64 {
		return testing.AllocsPerRun(2000, func() {
			if _, err := c.CallTool(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		})
	}
	base, ours := measure(empty), measure(client)
	t.Logf("%v allocations of ours, beside %v of an empty call", ours-base, base)
	if ours-base > maxOwnAllocations {
		t.Errorf("%v allocations of our own, want at most %d", ours-base, maxOwnAllocations)
	}
}

var sizes = []struct {
	name string
	n    int
}{{"100B", 100}, {"10KB", 10 << 10}, {"1MiB", 1 << 20}}

func BenchmarkCallTool(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			client, _ := inProcess(b, size.n)
			req := &v1.CallToolRequest{Server: "one", Name: "echo", ArgumentsJson: `{"text":"hello"}`}
			b.SetBytes(int64(size.n))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.CallTool(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStreamTool(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			client, _ := inProcess(b, size.n)
			req := &v1.StreamToolRequest{Call: &v1.CallToolRequest{Server: "one", Name: "echo"}}
			b.SetBytes(int64(size.n))
			b.ReportAllocs()
			for b.Loop() {
				stream, err := client.StreamTool(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = stream.Receive()
				}
			}
		})
	}
}

// BenchmarkWatchers is the cost of one event for a thousand watchers.
func BenchmarkWatchers(b *testing.B) {
	const watchers = 1000
	client, o := inProcess(b, 100)
	ctx, cancel := context.WithCancel(b.Context())
	var wg, round sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	round.Add(watchers)
	for range watchers {
		stream, err := client.WatchNotifications(ctx, &v1.WatchNotificationsRequest{})
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			for {
				if _, err := stream.Receive(); err != nil {
					return
				}
				round.Done()
			}
		})
	}
	round.Wait() // all have started
	x := o.Servers.All()[0].Shared()
	params := []byte(`{"level":"info","data":"something happened"}`)
	b.ReportAllocs()
	for b.Loop() {
		round.Add(watchers)
		x.Hub().Publish(fanout.Event{Class: uint64(upstream.KindLog), Size: len(params), Value: &upstream.Event{
			Session: x, Kind: upstream.KindLog, Method: "notifications/message", Params: params, Level: "info",
		}})
		round.Wait()
	}
}
