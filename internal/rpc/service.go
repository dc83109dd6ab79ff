package rpc

import (
	"context"
	"log/slog"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// Options say how the service behaves. Zero values mean the defaults.
type Options struct {
	Servers *upstream.Set
	// Principal tells who calls; nil: everybody is the same.
	Principal func(ctx context.Context) string
	// Redact removes secrets from text that callers will see; nil: none are known.
	Redact    func(string) string
	Heartbeat time.Duration // longest silence on a stream; 0: 15 s
	MaxPages  int           // of a list with all_pages; 0: 1,000
	MaxItems  int           // 0: 100,000
	// WatchBuffer is how many events may wait for one watcher; 0: 1,024.
	WatchBuffer int
	// Draining ends when the bridge wants its streams to end; nil: never.
	Draining context.Context
	Log      *slog.Logger
}

// A Service implements the RPCs.
type Service struct {
	mcpbridgev1connect.UnimplementedMcpServiceHandler
	o        Options
	hints    hints
	declared declared
	anyone   *upstream.CallTag // of calls without a name, where nobody is told from others
}

var _ mcpbridgev1connect.McpServiceHandler = (*Service)(nil)

// New makes a service.
func New(o Options) *Service {
	if o.Principal == nil {
		o.Principal = func(context.Context) string { return "" }
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 15 * time.Second
	}
	if o.MaxPages <= 0 {
		o.MaxPages = 1000
	}
	if o.MaxItems <= 0 {
		o.MaxItems = 100_000
	}
	if o.WatchBuffer <= 0 {
		o.WatchBuffer = 1024
	}
	if o.Draining == nil {
		o.Draining = context.Background()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o, anyone: &upstream.CallTag{}}
}

// Register adds the service to a server.
func (s *Service) Register(server *connect.Server) {
	mcpbridgev1connect.RegisterMcpServiceHandler(server, s)
}

// header reads a header of the request.
func header(ctx context.Context, name string) string {
	if info, ok := connect.CallInfoForServerContext(ctx); ok {
		return info.RequestHeader().Get(name)
	}
	return ""
}

// setHeader sets a header of the response.
func setHeader(ctx context.Context, name, value string) {
	if info, ok := connect.CallInfoForServerContext(ctx); ok {
		info.ResponseHeader().Set(name, value)
	}
}

// format is the result format that a request asks for.
func format(o *mcpbridgev1.RequestOptions) mcpbridgev1.ResultFormat {
	if f := o.GetResultFormat(); f != mcpbridgev1.ResultFormat_RESULT_FORMAT_UNSPECIFIED {
		return f
	}
	return mcpbridgev1.ResultFormat_RESULT_FORMAT_TYPED
}
