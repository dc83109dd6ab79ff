// Command gosdk is a server on the official Go SDK: gosdk stdio | http PORT | stateless PORT | sse PORT.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var cancelled atomic.Int64

type text struct {
	Message string `json:"message"`
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

type wait struct {
	Seconds float64 `json:"seconds"`
}

type none struct{}

func say(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return say("%s", in.Message), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "Waits, and counts how often it was cancelled."}, slow)
	mcp.AddTool(s, &mcp.Tool{Name: "cancellations"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return say("%d", cancelled.Load()), nil, nil
	})
	var added atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "notify", Description: "Changes the list of tools."}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		// The same tool again: the server tells its clients, and the list stays as it is.
		added.Add(1)
		mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: fmt.Sprintf("Version %d.", added.Load())}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			return say("%s", in.Message), nil, nil
		})
		return say("sent"), nil, nil
	})
	return s
}

func slow(ctx context.Context, r *mcp.CallToolRequest, in wait) (*mcp.CallToolResult, any, error) {
	const steps = 10
	tick := time.NewTicker(max(time.Duration(in.Seconds*float64(time.Second)/steps), 1))
	defer tick.Stop()
	for n := 1; n <= steps; n++ {
		select {
		case <-ctx.Done():
			cancelled.Add(1)
			return nil, nil, ctx.Err()
		case <-tick.C:
		}
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Total: steps})
		}
	}
	return say("done"), nil, nil
}

func main() {
	if len(os.Args) < 2 || os.Args[1] != "stdio" && len(os.Args) < 3 {
		log.Fatal("usage: gosdk stdio | http PORT | stateless PORT | sse PORT")
	}
	s := newServer()
	get := func(*http.Request) *mcp.Server { return s }
	switch os.Args[1] {
	case "stdio":
		if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
	case "http":
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], mcp.NewStreamableHTTPHandler(get, nil)))
	case "stateless": // the only way in which this SDK speaks 2026-07-28 over HTTP
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})))
	case "sse":
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], mcp.NewSSEHandler(get, nil)))
	}
}
