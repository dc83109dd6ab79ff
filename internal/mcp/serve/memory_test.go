package serve_test

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// memory is a server transport of its own, on channels: all it takes to bring
// clients to a server. The core knows nothing of it.
type memory struct {
	in  chan []byte
	out chan []byte

	mu      sync.Mutex
	session string
	ctx     context.Context
	server  *mcp.Server
	own     sync.WaitGroup
}

// serveMemory serves one client until ctx ends.
func serveMemory(ctx context.Context, s *mcp.Server, m *memory) {
	m.server, m.ctx = s, mcp.ContextWithLink(ctx)
	defer m.own.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-m.in:
			m.handle(text)
		}
	}
}

func (m *memory) handle(text []byte) {
	m.mu.Lock()
	id := m.session
	m.mu.Unlock()
	ctx := m.server.CreateContext(id, "").Attach(m.ctx)
	msg, err := jsonrpc.Parse(text)
	if err != nil {
		m.server.HandleUnreadable(ctx, err, m)
		return
	}
	switch msg := msg.(type) {
	case *jsonrpc.Call:
		m.server.HandleCall(ctx, *msg, m)
	case *jsonrpc.Notification:
		m.server.HandleNotification(ctx, *msg)
	case *jsonrpc.Response:
		m.server.HandleResponse(ctx, *msg)
	}
}

func (m *memory) Send(msg jsonrpc.Message) error {
	select {
	case m.out <- jsonrpc.Append(nil, msg):
		return nil
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

func (m *memory) Emit(e mcp.SessionInitialized) error {
	m.mu.Lock()
	m.session = e.ID
	m.mu.Unlock()
	m.own.Go(func() { _ = m.server.HandleListen(m.server.CreateContext(e.ID, "").Attach(m.ctx), m) })
	return nil
}
