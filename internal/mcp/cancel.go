package mcp

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// sendGrace bounds the sending of what nobody waits for, such as a cancellation,
// whose caller has left.
const sendGrace = 5 * time.Second

var errSendGrace = &transport.TimeoutError{Limit: sendGrace, Total: true}

// cancelRequest tells the server that nobody waits for a request any more:
// notifications/cancelled where the link is shared or the server legacy; on a
// private link to a modern server the end of the exchange has said it already.
// initialize is never cancelled (2025-11-25 §lifecycle; §cancellation).
func (c *Client) cancelRequest(ctx context.Context, id int64, r *Request, e era) {
	if r.Method == methodInitialize || !c.binding.Shared && e.hangsUp() {
		return
	}
	c.o.Stats.Cancelled.Add(1)
	reason := "cancelled by the caller"
	var te *transport.TimeoutError
	if cause := context.Cause(ctx); errors.As(cause, &te) || errors.Is(cause, context.DeadlineExceeded) {
		reason = "timeout"
	}
	m := Members(`"requestId":` + strconv.FormatInt(id, 10) + `,"reason":` + string(jsonrpc.AppendString(nil, reason)))
	c.goSend(notificationCancelled, func(ctx context.Context) error {
		return c.notify(ctx, &Request{Method: notificationCancelled, Params: m}, e)
	})
}

// goSend runs a short send that nobody waits for but Close. On a link that has
// got stuck there may be too many: then it is not done.
func (c *Client) goSend(what string, f func(context.Context) error) {
	started := c.side.startShort(func() {
		ctx, cancel := context.WithTimeoutCause(c.ctx, sendGrace, errSendGrace)
		defer cancel()
		if err := f(ctx); err != nil {
			c.o.Log.Debug("not delivered", "what", what, "err", err)
		}
	})
	if !started {
		c.o.Log.Debug("not sent", "what", what)
	}
}
