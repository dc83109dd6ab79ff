package mcptest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/mcptest"
)

func TestCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &mcptest.Capture{}
		got := make(chan int)
		go func() {
			r, err := c.AwaitResponse(t.Context(), jsonrpc.IntID(2))
			if err != nil || r.ID != jsonrpc.IntID(2) {
				t.Error(r, err)
			}
			all, err := c.Await(t.Context(), 3)
			if err != nil {
				t.Error(err)
			}
			got <- len(all)
		}()
		for _, m := range []jsonrpc.Message{&jsonrpc.Response{ID: jsonrpc.IntID(1)}, &jsonrpc.Notification{Method: "n"}, &jsonrpc.Response{ID: jsonrpc.IntID(2)}} {
			synctest.Wait() // the other side is waiting
			if err := c.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		if n := <-got; n != 3 || len(c.Messages()) != 3 {
			t.Error(n)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Await(ctx, 4); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := c.Emit(mcp.SessionInitialized{ID: "s"}); err != nil || c.Session() != "s" {
			t.Error(err)
		}
		gone := errors.New("gone")
		c.Fail(gone)
		if c.Send(&jsonrpc.Notification{}) != gone || c.Emit(mcp.SessionInitialized{}) != gone {
			t.Error("it did not fail")
		}
	})
}
