// Package mcptest helps to test the protocol: Capture is a sender that keeps
// what it is given.
//
// It does not know: transports, and which era speaks.
package mcptest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A Capture is a sender that keeps a list. The zero Capture is ready to use, by
// many goroutines.
type Capture struct {
	mu       sync.Mutex
	messages []jsonrpc.Message
	sessions []mcp.SessionInitialized
	fail     error
	grown    chan struct{} // closed when there is more
}

var _ mcp.LegacySender = (*Capture)(nil)

// Send keeps m.
func (c *Capture) Send(m jsonrpc.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.messages = append(c.messages, m)
	if c.grown != nil {
		close(c.grown)
		c.grown = nil
	}
	return nil
}

// Emit keeps the event.
func (c *Capture) Emit(e mcp.SessionInitialized) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, e)
	return c.fail
}

// Fail makes every later Send and Emit fail with err.
func (c *Capture) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// Messages are those sent so far.
func (c *Capture) Messages() []jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.messages)
}

// Session is the id of the last session that was opened; empty: none.
func (c *Capture) Session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) == 0 {
		return ""
	}
	return c.sessions[len(c.sessions)-1].ID
}

// Await waits until at least n messages were sent, and returns all of them.
func (c *Capture) Await(ctx context.Context, n int) ([]jsonrpc.Message, error) {
	for {
		c.mu.Lock()
		if len(c.messages) >= n {
			defer c.mu.Unlock()
			return slices.Clone(c.messages), nil
		}
		if c.grown == nil {
			c.grown = make(chan struct{})
		}
		grown, have := c.grown, len(c.messages)
		c.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d messages: %w", have, n, context.Cause(ctx))
		}
	}
}

// AwaitResponse waits for the response to id.
func (c *Capture) AwaitResponse(ctx context.Context, id jsonrpc.ID) (*jsonrpc.Response, error) {
	for n := 0; ; n++ {
		all, err := c.Await(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("no response to %s: %w", id, err)
		}
		for _, m := range all {
			if r, ok := m.(*jsonrpc.Response); ok && r.ID == id {
				return r, nil
			}
		}
		n = len(all)
	}
}
