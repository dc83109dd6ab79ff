package front_test

import (
	"context"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/front"
)

func (r *running) grpcClient(t *testing.T, o ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(r.addr, append(o, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// gRPC's own retry policy repeats only what has not begun to be answered.
func TestRetryPolicy(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	conn := r.grpcClient(t, grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{"service":"mcpbridge.v1.McpService"}],"retryPolicy":{
		"maxAttempts":4,"initialBackoff":"0.01s","maxBackoff":"0.02s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`))
	err := conn.Invoke(t.Context(), callTool, call("fail"), &v1.CallToolResponse{})
	if status.Code(err) != codes.Unavailable || r.count() != 4 {
		t.Errorf("%v after %d attempts, want 4", err, r.count())
	}
	for name, attempts := range map[string]int{"fail": 4, "fail late": 1} {
		before := r.count()
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, streamTool)
		if err == nil {
			err = stream.SendMsg(&v1.StreamToolRequest{Call: call(name)})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		for err == nil {
			err = stream.RecvMsg(&v1.StreamToolResponse{})
		}
		if n := r.count() - before; status.Code(err) != codes.Unavailable || n != attempts {
			t.Errorf("%s: %v after %d attempts, want %d", name, err, n, attempts)
		}
	}
}

func TestOtherProtocolsReadFailuresToo(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	for name, o := range map[string][]connecthttp.Option{"connect": nil, "json": {connecthttp.WithProtoJSON()}, "grpc": {connecthttp.WithGRPC()}, "grpc-web": {connecthttp.WithGRPCWeb()}} {
		for _, h2c := range []bool{false, true} {
			c := mcpbridgev1connect.NewMcpServiceClient(connect.NewClient(connecthttp.NewTransport(client(t, h2c), r.url, o...)))
			_, err := c.CallTool(t.Context(), call("fail"))
			if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "not now") {
				t.Errorf("%s, h2c %v: %v", name, h2c, err)
			}
			for _, tool := range []string{"fail", "fail late"} {
				stream, err := c.StreamTool(t.Context(), &v1.StreamToolRequest{Call: call(tool)})
				for err == nil {
					_, err = stream.Receive()
				}
				if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "not now") {
					t.Errorf("%s, h2c %v, a stream that does %q: %v", name, h2c, tool, err)
				}
			}
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	c := healthpb.NewHealthClient(r.grpcClient(t))
	for _, s := range []string{"", mcpbridgev1connect.McpServiceName} {
		res, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: s})
		if err != nil || res.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v %v", s, res, err)
		}
	}
	if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nope"}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	watch, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := watch.Recv(); err != nil || res.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatal(res, err)
	}
	r.health.Drain()
	if res, err := watch.Recv(); err != nil || res.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Error(res, err)
	}
	if res, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: mcpbridgev1connect.McpServiceName}); err != nil || res.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Error(res, err)
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	stream, err := reflectionpb.NewServerReflectionClient(serve(t, front.Options{}).grpcClient(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		res, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	var services []string
	for _, s := range ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		services = append(services, s.Name)
	}
	if all := strings.Join(services, " "); !strings.Contains(all, mcpbridgev1connect.McpServiceName) {
		t.Error(all)
	}
	file := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: mcpbridgev1connect.McpServiceName}})
	if len(file.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v", file)
	}
}
