package demo

import (
	"context"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

type logArgs struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

func logOnce(_ context.Context, r *mcp.ServerRequest, a logArgs) ([]byte, error) {
	if a.Level == "" {
		a.Level = "info"
	}
	r.Log(a.Level, "demo", jsonrpc.AppendString(nil, a.Message))
	return text("Logged as %s.", a.Level)
}

type notifyArgs struct {
	Count   int     `json:"count"`
	Kind    string  `json:"kind"`
	List    string  `json:"list"`
	URI     string  `json:"uri"`
	Outside bool    `json:"outside"`
	Pause   float64 `json:"pause"`
}

func (d *server) notify(ctx context.Context, r *mcp.ServerRequest, a notifyArgs) ([]byte, error) {
	if a.Count == 0 {
		a.Count = 1
	}
	if a.Count < 0 || a.Count > 1000 || a.Pause < 0 || a.Pause > 60 {
		return failed("count must be between 1 and 1000, pause between 0 and 60.")
	}
	send, ok := d.notification(r, &a)
	if !ok {
		return failed("kind must be log, list_changed or resource_updated, list tools, resources or prompts.")
	}
	for i := range a.Count {
		if i > 0 && !pause(ctx, time.Duration(a.Pause*float64(time.Second))) {
			return nil, context.Cause(ctx)
		}
		send(i + 1)
	}
	return text("Sent %d.", a.Count)
}

// notification is how to send the n-th of a kind.
func (d *server) notification(r *mcp.ServerRequest, a *notifyArgs) (send func(n int), ok bool) {
	switch a.Kind {
	case "", "log":
		logTo := r.Log
		if a.Outside {
			logTo = d.mcp.Log
		}
		return func(n int) { logTo("info", "demo", encodeCount(n, a.Count)) }, true
	case "list_changed":
		list := mcp.ServerTools
		if a.List != "" {
			list = mcp.ServerList(a.List)
		}
		return func(int) { r.Changed(list) }, list == mcp.ServerTools || list == mcp.ServerResources || list == mcp.ServerPrompts
	case "resource_updated":
		uri := a.URI
		if uri == "" {
			uri = clockURI
		}
		return func(int) { r.Updated(uri) }, true
	}
	return nil, false
}

func encodeCount(n, of int) []byte {
	b, err := encode(map[string]int{"number": n, "of": of})
	if err != nil { // two integers: can't be
		return []byte("null")
	}
	return b
}

// pause is false where ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
