package rpc

import (
	"context"
	"math"
	"sync"
	"time"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// StreamTool calls a tool and streams what happens meanwhile.
func (s *Service) StreamTool(ctx context.Context, r *mcpbridgev1.StreamToolRequest, stream mcpbridgev1connect.McpServiceStreamToolServerStream) error {
	call := r.GetCall()
	if call == nil {
		return s.fail(invalid("call: not set"), s.about(ctx, nil, methodCallTool, ""))
	}
	x, err := s.target(ctx, call)
	if err != nil {
		return s.fail(err, s.about(ctx, nil, methodCallTool, call.Name))
	}
	bctx, cancel, clock := bound(ctx, x.Upstream().Options(), call.GetOptions().GetProgressExtendsTimeout())
	defer cancel()
	c := &toolCall{}
	if err := s.prepare(bctx, x, call, c); err != nil {
		return s.fail(err, s.about(ctx, x, methodCallTool, call.Name))
	}
	t := &toolStream{
		stream: stream, session: x, call: call,
		inbox: fanout.NewHub(fanout.HubOptions{ReplayEvents: -1}),
		sub:   fanout.NewSubscriber(fanout.SubscriberOptions{Events: s.o.WatchBuffer}),
		quiet: heartbeat(r.HeartbeatInterval.AsDuration(), s.o.Heartbeat), chunk: chunkBytes(r.ChunkBytes),
	}
	defer t.sub.Close(nil)
	if _, err := t.inbox.Attach(t.sub, fanout.Attach{}); err != nil {
		return s.fail(err, s.about(ctx, x, methodCallTool, call.Name))
	}
	c.req.Progress, c.req.Notify, c.req.Clock = true, t.put, clock

	var res *mcpbridgev1.CallToolResponse
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() {
		res, failed = s.doTool(bctx, x, &c.req, format(call.Options))
		t.inbox.Close()
	})
	defer wg.Wait()
	defer cancel() // a stream that breaks ends its call
	err = t.follow(ctx)
	if err != nil {
		cancel()
	}
	wg.Wait()
	switch {
	case err == nil && failed == nil:
		err = t.finish(ctx, res)
	case err == nil, ctx.Err() != nil && failed != nil:
		err = failed // which knows more of why it ended
	}
	return s.fail(err, s.about(ctx, x, methodCallTool, call.Name))
}

// A toolStream writes the messages of one StreamTool. What its call receives
// waits in a queue with bounds, so that a slow caller never makes the reader of
// the link wait.
type toolStream struct {
	stream  mcpbridgev1connect.McpServiceStreamToolServerStream
	session *upstream.Session
	call    *mcpbridgev1.CallToolRequest
	inbox   *fanout.Hub
	sub     *fanout.Subscriber
	quiet   time.Duration
	chunk   int
	begun   bool // something was sent
}

// eventOverhead is what an event costs in memory besides its params, roughly.
const eventOverhead = 256

// put takes a notification of the call. It never waits.
func (t *toolStream) put(n *mcp.Notification) {
	t.inbox.Publish(fanout.Event{Value: n, Size: len(n.Params) + len(n.Method) + eventOverhead})
}

// follow passes on what comes until the call has ended.
func (t *toolStream) follow(ctx context.Context) error {
	for {
		item, beat, err := next(ctx, t.sub, t.quiet)
		switch {
		case err != nil:
			return err
		case beat:
			err = t.send(ctx, &mcpbridgev1.StreamToolResponse{Event: &mcpbridgev1.StreamToolResponse_Heartbeat{Heartbeat: &mcpbridgev1.Heartbeat{}}})
		case item.End:
			return nil
		case item.Lost > 0:
			gap := &mcpbridgev1.Gap{Lost: int32(min(item.Lost, math.MaxInt32))}
			err = t.send(ctx, &mcpbridgev1.StreamToolResponse{Event: &mcpbridgev1.StreamToolResponse_Gap{Gap: gap}})
		default:
			err = t.notification(ctx, item.Event.Value.(*mcp.Notification))
		}
		if err != nil {
			return err
		}
	}
}

// next waits for the next item, but not longer than quiet.
func next(ctx context.Context, sub *fanout.Subscriber, quiet time.Duration) (item fanout.Item, beat bool, err error) {
	wait, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	item, err = sub.Next(wait)
	switch {
	case err == nil:
		return item, false, nil
	case ctx.Err() != nil:
		return item, false, context.Cause(ctx)
	case wait.Err() != nil:
		return item, true, nil
	}
	return item, false, err
}

// send writes a message. The first one takes the headers along.
func (t *toolStream) send(ctx context.Context, m *mcpbridgev1.StreamToolResponse) error {
	if !t.begun {
		t.begun = true
		answered(ctx, t.session)
	}
	return t.stream.Send(m)
}

func (t *toolStream) notification(ctx context.Context, n *mcp.Notification) error {
	d := decoder(t.session, format(t.call.Options))
	read, err := d.Notification(n.Method, n.Params)
	if err != nil {
		return nil // not readable, so nothing to show; the link counts it
	}
	m := &mcpbridgev1.StreamToolResponse{}
	switch e := read.Event.Event.(type) {
	case *mcpbridgev1.WatchNotificationsResponse_Progress:
		e.Progress.CallId = t.call.GetOptions().GetCallId()
		m.Event = &mcpbridgev1.StreamToolResponse_Progress{Progress: e.Progress}
	case *mcpbridgev1.WatchNotificationsResponse_Log:
		e.Log.CallId = t.call.GetOptions().GetCallId()
		m.Event = &mcpbridgev1.StreamToolResponse_Log{Log: e.Log}
	case *mcpbridgev1.WatchNotificationsResponse_Other:
		m.Event = &mcpbridgev1.StreamToolResponse_Other{Other: e.Other}
	default:
		d.Format = mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW
		if read, err = d.Notification(n.Method, n.Params); err != nil {
			return nil
		}
		m.Event = &mcpbridgev1.StreamToolResponse_Other{Other: read.Event.GetOther()}
	}
	return t.send(ctx, m)
}

// finish sends the result, what is large of it in chunks before it.
func (t *toolStream) finish(ctx context.Context, res *mcpbridgev1.CallToolResponse) error {
	err := chunked(res, t.chunk, func(c *mcpbridgev1.ContentChunk) error {
		return t.send(ctx, &mcpbridgev1.StreamToolResponse{Event: &mcpbridgev1.StreamToolResponse_Chunk{Chunk: c}})
	})
	if err != nil {
		return err
	}
	return t.send(ctx, &mcpbridgev1.StreamToolResponse{Event: &mcpbridgev1.StreamToolResponse_Response{Response: res}})
}

// heartbeat is the longest silence of a stream.
func heartbeat(wanted, configured time.Duration) time.Duration {
	if wanted <= 0 {
		return configured
	}
	return max(wanted, 100*time.Millisecond)
}
