package demo

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// count is what became of the calls of a tool.
type count struct {
	Calls     int `json:"calls"`
	Finished  int `json:"finished"`
	Cancelled int `json:"cancelled"`
	Running   int `json:"running"`
}

// counts are those of all tools.
type counts struct {
	mu    sync.Mutex
	tools map[string]*count
}

// counted counts the calls of a tool.
func (c *counts) counted(name string, do mcp.ServerHandler) mcp.ServerHandler {
	own := &count{}
	c.tools[name] = own
	return func(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
		c.mu.Lock()
		own.Calls++
		own.Running++
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			own.Running--
			if ctx.Err() != nil {
				own.Cancelled++
			} else {
				own.Finished++
			}
		}()
		return do(ctx, r)
	}
}

// snapshot is the sum, and each tool that was called.
func (c *counts) snapshot() (all count, tools map[string]count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tools = map[string]count{}
	for name, n := range c.tools {
		if n.Calls == 0 {
			continue
		}
		tools[name] = *n
		all.Calls += n.Calls
		all.Finished += n.Finished
		all.Cancelled += n.Cancelled
		all.Running += n.Running
	}
	return all, tools
}
