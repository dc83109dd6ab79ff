//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
)

const (
	servicePath = "/mcpbridge.v1.McpService/"
	maxAnswer   = 128 << 20 // of a client
)

// A caller calls the bridge over one of its protocols. Errors are *fault.
type caller interface {
	unary(ctx context.Context, method string, in, out proto.Message) error
	stream(ctx context.Context, method string, in proto.Message) (stream, error)
}

// A stream is a running server stream. Its end is io.EOF.
type stream interface {
	next(out proto.Message) error
}

// callers are one client of each kind.
func (b *bridge) callers(t *testing.T) map[string]caller {
	t.Helper()
	return map[string]caller{"grpc": newGRPC(t, b.base), "connect": newConnect(b.base), "json": &jsonCaller{base: b.base}}
}

// rpc is the Connect client with an API to write tests in.
func (b *bridge) rpc() api { return api{newConnect(b.base)} }

// An api has the service's methods on any caller.
type api struct{ caller }

func (a api) initialize(ctx context.Context, r *mcpbridgev1.InitializeRequest) (*mcpbridgev1.InitializeResponse, error) {
	out := &mcpbridgev1.InitializeResponse{}
	return out, a.unary(ctx, "Initialize", r, out)
}

func (a api) closeSession(ctx context.Context, id string) error {
	return a.unary(ctx, "CloseSession", &mcpbridgev1.CloseSessionRequest{SessionId: id}, &mcpbridgev1.CloseSessionResponse{})
}

func (a api) ping(ctx context.Context, r *mcpbridgev1.PingRequest) error {
	return a.unary(ctx, "Ping", r, &mcpbridgev1.PingResponse{})
}

func (a api) servers(ctx context.Context) ([]*mcpbridgev1.Server, error) {
	out := &mcpbridgev1.ListServersResponse{}
	err := a.unary(ctx, "ListServers", &mcpbridgev1.ListServersRequest{}, out)
	return out.Servers, err
}

func (a api) tools(ctx context.Context, r *mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) {
	out := &mcpbridgev1.ListToolsResponse{}
	return out, a.unary(ctx, "ListTools", r, out)
}

func (a api) call(ctx context.Context, r *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
	out := &mcpbridgev1.CallToolResponse{}
	return out, a.unary(ctx, "CallTool", r, out)
}

// connectCaller is a client made of the generated Connect stubs.
type connectCaller struct {
	mcpbridgev1connect.McpServiceClient
}

func newConnect(base string) *connectCaller {
	tr := connecthttp.NewTransport(http.DefaultClient, base, connecthttp.WithReadMaxBytes(maxAnswer))
	return &connectCaller{mcpbridgev1connect.NewMcpServiceClient(connect.NewClient(tr))}
}

func (c *connectCaller) unary(ctx context.Context, method string, in, out proto.Message) error {
	var res proto.Message
	var err error
	switch r := in.(type) {
	case *mcpbridgev1.InitializeRequest:
		res, err = c.Initialize(ctx, r)
	case *mcpbridgev1.CloseSessionRequest:
		res, err = c.CloseSession(ctx, r)
	case *mcpbridgev1.PingRequest:
		res, err = c.Ping(ctx, r)
	case *mcpbridgev1.ListServersRequest:
		res, err = c.ListServers(ctx, r)
	case *mcpbridgev1.ListToolsRequest:
		res, err = c.ListTools(ctx, r)
	case *mcpbridgev1.CallToolRequest:
		res, err = c.CallTool(ctx, r)
	default:
		return errors.New("the Connect client of the tests lacks " + method)
	}
	if err != nil {
		return connectFault(err)
	}
	proto.Merge(out, res)
	return nil
}

func (c *connectCaller) stream(ctx context.Context, method string, in proto.Message) (stream, error) {
	var err error
	switch r := in.(type) {
	case *mcpbridgev1.StreamToolRequest:
		var s mcpbridgev1connect.McpServiceStreamToolClientStream
		if s, err = c.StreamTool(ctx, r); err == nil {
			return connectStream(func() (proto.Message, error) { return s.Receive() }), nil
		}
	case *mcpbridgev1.WatchNotificationsRequest:
		var s mcpbridgev1connect.McpServiceWatchNotificationsClientStream
		if s, err = c.WatchNotifications(ctx, r); err == nil {
			return connectStream(func() (proto.Message, error) { return s.Receive() }), nil
		}
	default:
		return nil, errors.New("the Connect client of the tests lacks " + method)
	}
	return nil, connectFault(err)
}

type connectStream func() (proto.Message, error)

func (s connectStream) next(out proto.Message) error {
	m, err := s()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return connectFault(err)
	}
	proto.Merge(out, m)
	return nil
}

// grpcCaller is a client of grpc-go, which knows nothing of Connect.
type grpcCaller struct{ conn *grpc.ClientConn }

func newGRPC(t *testing.T, base string) *grpcCaller {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+base[len("http://"):], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer), grpc.MaxCallSendMsgSize(maxAnswer)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &grpcCaller{conn}
}

func (c *grpcCaller) unary(ctx context.Context, method string, in, out proto.Message) error {
	return grpcFault(c.conn.Invoke(ctx, servicePath+method, in, out))
}

func (c *grpcCaller) stream(ctx context.Context, method string, in proto.Message) (stream, error) {
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{StreamName: method, ServerStreams: true}, servicePath+method)
	if err == nil {
		err = s.SendMsg(in)
	}
	if err == nil {
		err = s.CloseSend()
	}
	if err != nil {
		return nil, grpcFault(err)
	}
	return grpcStream{s}, nil
}

type grpcStream struct{ grpc.ClientStream }

func (s grpcStream) next(out proto.Message) error {
	err := s.RecvMsg(out)
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return grpcFault(err)
}

func grpcFault(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	f := &fault{code: connect.Code(st.Code()), message: st.Message()}
	for _, d := range st.Proto().GetDetails() {
		f.add(d)
	}
	return f
}

// withHeader makes a context with which both kinds of client send a header.
func withHeader(ctx context.Context, name, value string) context.Context {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set(name, value)
	return metadata.AppendToOutgoingContext(ctx, name, value)
}

// timeLeft is the time until a deadline, in milliseconds; 0: none.
func timeLeft(ctx context.Context) int64 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(end).Milliseconds(), 1)
}
