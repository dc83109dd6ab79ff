package mcp_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// A fakeConn is a Conn whose verbs a test writes itself. What it leaves out
// answers the handshake, or waits until the end.
type fakeConn struct {
	private bool
	// send is asked first; handled=false: the handshake's answers.
	send   func(ctx context.Context, f transport.Frame, method string, sink transport.Sink) (err error, handled bool)
	listen func(ctx context.Context, sink transport.Sink) error
	legacy bool

	once   sync.Once
	made   sync.Once
	closed chan struct{}
	in     chan transport.Inbound
}

func (c *fakeConn) init() {
	c.made.Do(func() { c.closed, c.in = make(chan struct{}), make(chan transport.Inbound, 4096) })
}

func (c *fakeConn) Binding() transport.Binding {
	c.init()
	return transport.Binding{Name: "fake", Peer: "fake", Shared: !c.private}
}

func (c *fakeConn) Close(context.Context) error {
	c.init()
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *fakeConn) Listen(ctx context.Context, sink transport.Sink) error {
	if c.listen != nil {
		return c.listen(ctx, sink)
	}
	for {
		select {
		case in := <-c.in:
			if err := sink(in); err != nil {
				return err
			}
		case <-c.closed:
			return transport.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *fakeConn) Send(ctx context.Context, f transport.Frame, sink transport.Sink) error {
	m, err := jsonrpc.Parse(f.Body)
	if err != nil {
		return err
	}
	call, _ := m.(*jsonrpc.Call)
	method := ""
	if call != nil {
		method = call.Method
	} else if n, ok := m.(*jsonrpc.Notification); ok {
		method = n.Method
	}
	if c.send != nil {
		if err, handled := c.send(ctx, f, method, sink); handled {
			return err
		}
	}
	switch method {
	case "server/discover":
		if c.legacy {
			return c.answer(call.ID, `"error":{"code":-32601,"message":"no"}`, sink)
		}
		return c.answer(call.ID, `"result":{"supportedVersions":["2026-07-28"]}`, sink)
	case "initialize":
		return c.answer(call.ID, `"result":{"protocolVersion":"2025-11-25"}`, sink)
	}
	if call != nil {
		return c.answer(call.ID, `"result":{}`, sink)
	}
	return nil
}

func (c *fakeConn) answer(id jsonrpc.ID, member string, sink transport.Sink) error {
	in := transport.Inbound{Body: []byte(`{"jsonrpc":"2.0","id":` + id.String() + `,` + member + `}`)}
	if c.private {
		return sinkEnd(sink(in))
	}
	c.in <- in
	return nil
}

// sinkEnd is what Send makes of what a sink returns.
func sinkEnd(err error) error {
	if err == transport.ErrEnough {
		return nil
	}
	return err
}

// openOver opens a session on a fakeConn.
func openOver(t testing.TB, c *fakeConn, o mcp.Options) *mcp.Client {
	t.Helper()
	client, err := mcp.Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

// openPair opens a session of an era over a link in memory, whose other end the
// test holds.
func openPair(t testing.TB, era mcp.Era, m transporttest.MemoryOptions, o mcp.Options) (*mcp.Client, *transporttest.MemoryPeer) {
	t.Helper()
	conn, peer := transporttest.NewPair(m)
	o.Protocol.Era = era
	if o.ClientInfo == nil {
		o.ClientInfo = []byte(`{"name":"t","version":"1"}`)
	}
	done := make(chan error, 1)
	go func() {
		x, err := peer.NextExchange(t.Context())
		if err != nil {
			done <- err
			return
		}
		answer := `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`
		if era == mcp.EraLegacy {
			answer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`
		}
		err = x.Reply([]byte(answer))
		if era == mcp.EraLegacy && err == nil {
			_, err = peer.Next(t.Context())
		}
		done <- err
	}()
	client, err := mcp.Open(t.Context(), conn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return client, peer
}

// idOf reads the id of a request.
func idOf(t testing.TB, frame []byte) string {
	t.Helper()
	m, err := jsonrpc.Parse(frame)
	if err != nil {
		t.Fatal(err)
	}
	call, ok := m.(*jsonrpc.Call)
	if !ok {
		t.Fatalf("no request: %s", frame)
	}
	return call.ID.String()
}

func contains(t testing.TB, s, part string) {
	t.Helper()
	if !strings.Contains(s, part) {
		t.Errorf("%q does not contain %q", s, part)
	}
}

func requestIn(frame []byte) (*jsonrpc.Call, error) {
	m, err := jsonrpc.Parse(frame)
	if err != nil {
		return nil, err
	}
	call, _ := m.(*jsonrpc.Call)
	return call, nil
}
