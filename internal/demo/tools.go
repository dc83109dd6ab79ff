package demo

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

const (
	harmless   = `{"readOnlyHint":true,"openWorldHint":false}`
	noteworthy = `{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}`
)

// tools are all tools, each counted.
func (d *server) tools() []mcp.ServerTool {
	list := []mcp.ServerTool{
		{Name: "echo", Title: "Echo", Description: "Returns the message. Any further arguments come back as JSON, exactly as they were.",
			InputSchema: schemaEcho, Handle: echo},
		{Name: "add", Title: "Add two numbers", Description: "Adds two numbers of any size, without rounding.",
			InputSchema: schemaAdd, OutputSchema: schemaSum, Handle: with(add)},
		{Name: "sleep", Title: "Sleep", Description: "Waits, tells its progress on the way, and stops at once when it is cancelled.",
			InputSchema: schemaSleep, Handle: with(sleep)},
		{Name: "stats", Title: "Statistics", Description: "Says how often each tool was called, has finished, and was cancelled.",
			OutputSchema: schemaStats, Handle: d.stats},
		{Name: "image", Title: "Image", Description: "Returns a small picture as PNG.", Handle: picture},
		{Name: "structured", Title: "Structured result", Description: "Returns nested structured content, made of all JSON types.",
			OutputSchema: schemaStructured, Handle: nested},
		{Name: "fail", Title: "Fail", Description: "Fails as tools do: with a result that is marked as an error.",
			InputSchema: schemaMessage, Handle: with(fail)},
		{Name: "error", Title: "Protocol error", Description: "Fails as servers do: with a JSON-RPC error of the given code.",
			InputSchema: schemaError, Handle: with(protocolError)},
		{Name: "log", Title: "Log", Description: "Sends one log message during the call.",
			InputSchema: schemaLog, Handle: with(logOnce)},
		{Name: "notify", Title: "Notify", Description: "Sends notifications: log messages, changed lists, or updates of a resource.",
			InputSchema: schemaNotify, Handle: with(d.notify)},
		{Name: "blob", Title: "Large result", Description: "Returns a text of the given size.",
			InputSchema: schemaBlob, Handle: with(blob)},
		{Name: "route", Title: "Route", Description: "Returns the region. Over HTTP the region also travels in a header, Mcp-Param-Region.",
			InputSchema: schemaRoute, Handle: with(route)},
		{Name: "ask", Title: "Ask", Description: "Asks the user (a form), the user's model (sampling), or for the client's roots.",
			InputSchema: schemaAsk, Handle: with(ask)},
	}
	for i := range list {
		t := &list[i]
		t.Annotations = jsontext.Value(harmless)
		if t.Name == "notify" || t.Name == "log" || t.Name == "ask" {
			t.Annotations = jsontext.Value(noteworthy)
		}
		t.Handle = d.calls.counted(t.Name, t.Handle)
	}
	return list
}

func echo(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
	type args struct {
		Message *string        `json:"message"`
		Rest    jsontext.Value `json:",embed"`
	}
	return with(func(_ context.Context, r *mcp.ServerRequest, a args) ([]byte, error) {
		if a.Message == nil {
			return failed("The argument \"message\" is missing.")
		}
		out := toolResult{Content: []content{{Type: "text", Text: *a.Message}}}
		if len(a.Rest) > len("{}") {
			out.Content = append(out.Content, content{Type: "text", Text: string(a.Rest)})
		}
		return encode(out)
	})(ctx, r)
}

type sleepArgs struct {
	Seconds float64 `json:"seconds"`
	Steps   int     `json:"steps"`
}

func sleep(ctx context.Context, r *mcp.ServerRequest, a sleepArgs) ([]byte, error) {
	if a.Seconds < 0 || a.Seconds > 3600 || a.Steps < 0 || a.Steps > 1000 {
		return failed("seconds must be between 0 and 3600, steps between 0 and 1000.")
	}
	steps := a.Steps
	if steps == 0 {
		steps = 10
	}
	step := time.Duration(a.Seconds * float64(time.Second) / float64(steps))
	t := time.NewTicker(max(step, 1))
	defer t.Stop()
	for i := 1; i <= steps; i++ {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-t.C:
			r.Progress(float64(i), float64(steps), "")
		}
	}
	return text("Slept for %g seconds.", a.Seconds)
}

func (d *server) stats(context.Context, *mcp.ServerRequest) ([]byte, error) {
	all, tools := d.calls.snapshot()
	return structured(struct {
		count
		Tools map[string]count `json:"tools"`
	}{all, tools})
}

func picture(context.Context, *mcp.ServerRequest) ([]byte, error) {
	b, err := logo()
	if err != nil {
		return nil, err
	}
	return image(b)
}

// nested is written by hand: integers beyond what a double holds, and a null.
func nested(context.Context, *mcp.ServerRequest) ([]byte, error) {
	return structured(jsontext.Value(`{"name":"demo","count":9007199254740993,"ratio":0.25,"on":true,"none":null,` +
		`"tags":["a","b"],"point":{"x":1,"y":-2,"label":{"de":"Größe","ja":"大きさ"}}}`))
}

type messageArgs struct {
	Message string `json:"message"`
}

func fail(_ context.Context, _ *mcp.ServerRequest, a messageArgs) ([]byte, error) {
	if a.Message == "" {
		a.Message = "This tool always fails."
	}
	return failed("%s", a.Message)
}

type errorArgs struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

func protocolError(_ context.Context, _ *mcp.ServerRequest, a errorArgs) ([]byte, error) {
	return nil, &jsonrpc.Error{Code: a.Code, Message: a.Message, Data: a.Data}
}

type blobArgs struct {
	Bytes int `json:"bytes"`
}

func blob(_ context.Context, _ *mcp.ServerRequest, a blobArgs) ([]byte, error) {
	const limit = 48 << 20
	if a.Bytes < 0 || a.Bytes > limit {
		return failed("bytes must be between 0 and %d.", limit)
	}
	const pattern = "0123456789abcdef"
	s := strings.Repeat(pattern, a.Bytes/len(pattern)+1)[:a.Bytes]
	return encode(toolResult{Content: []content{{Type: "text", Text: s}}})
}

type routeArgs struct {
	Region string `json:"region"`
	Weight *int64 `json:"weight"`
}

func route(_ context.Context, _ *mcp.ServerRequest, a routeArgs) ([]byte, error) {
	if a.Weight != nil {
		return text("Routed to %s with weight %d.", a.Region, *a.Weight)
	}
	return text("Routed to %s.", a.Region)
}
