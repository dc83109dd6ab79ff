package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

const okResult = `{"content":[{"type":"text","text":"ok"}],"structuredContent":{"n":12345678901234567890},"isError":false,"x":1}`

// echoes answers each call with what it got.
func echoes(modern bool) *server {
	return &server{modern: modern, serve: func(c *call) {
		c.result(`{"content":[],"structuredContent":{"method":"` + c.Method + `","params":` + string(c.Params) + `}}`)
	}}
}

// got reads what an echoing server got.
func got(t *testing.T, res *v1.CallToolResponse) map[string]any {
	t.Helper()
	var v struct{ Params map[string]any }
	if err := json.Unmarshal([]byte(res.GetResult().GetStructuredContent().GetText()), &v); err != nil {
		t.Fatal(err)
	}
	return v.Params
}

func TestCallToolByEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		for _, private := range []bool{false, true} {
			b := one(t, &server{modern: modern, private: private, serve: func(c *call) { c.result(okResult) }})
			clients := map[string]mcpbridgev1connect.McpServiceClient{
				"connect": b.client, "json": b.connect(t, connecthttp.WithProtoJSON()),
				"grpc": b.connect(t, connecthttp.WithGRPC()), "grpc-web": b.connect(t, connecthttp.WithGRPCWeb()),
			}
			for name, c := range clients {
				res, err := c.CallTool(t.Context(), &v1.CallToolRequest{Name: "echo", ArgumentsJson: "{}"})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				r := res.GetResult()
				if r.GetContent()[0].GetText().GetText() != "ok" || r.GetStructuredContent().GetText() != `{"n":12345678901234567890}` || r.GetExtraJson() != `{"x":1}` {
					t.Errorf("%s: %v", name, res)
				}
			}
		}
	}
}

func TestCallToolByGRPC(t *testing.T) {
	t.Parallel()
	b := one(t, &server{serve: func(c *call) {
		if strings.Contains(string(c.Params), "bad") {
			c.fail(-32602, "Unknown tool: bad", `{"hint":"good"}`)
			return
		}
		c.result(okResult)
	}})
	conn, err := grpc.NewClient(strings.TrimPrefix(b.url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	res := &v1.CallToolResponse{}
	var header metadata.MD
	if err := conn.Invoke(t.Context(), mcpbridgev1connect.McpServiceCallToolProcedure, &v1.CallToolRequest{Name: "good"}, res, grpc.Header(&header)); err != nil {
		t.Fatal(err)
	}
	if res.GetResult().GetContent()[0].GetText().GetText() != "ok" {
		t.Errorf("%v", res)
	}
	err = conn.Invoke(t.Context(), mcpbridgev1connect.McpServiceCallToolProcedure, &v1.CallToolRequest{Name: "bad"}, res)
	st := grpcstatus.Convert(err)
	if st.Code() != codes.InvalidArgument || st.Message() != "MCP error -32602: Unknown tool: bad" || len(st.Details()) != 2 {
		t.Fatalf("%v: %v", st, st.Details())
	}
	u, ok := st.Details()[1].(*v1.UpstreamError)
	if !ok || u.JsonrpcError.DataJson != `{"hint":"good"}` || u.Delivery != answered || u.Reason != "INVALID_PARAMS" {
		t.Errorf("%v", st.Details())
	}
}

func TestCallToolByCurl(t *testing.T) {
	t.Parallel()
	b := one(t, &server{serve: func(c *call) { c.result(okResult) }})
	post := func(body string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", b.url+mcpbridgev1connect.McpServiceCallToolProcedure, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		res, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	if code, body := post(`{"name":"x","options":{"resultFormat":"RESULT_FORMAT_RAW"}}`); code != 200 || !strings.Contains(body, `"rawJson":`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := post(`{"name":"x","argumentsJson":"[]"}`); code != 400 || !strings.Contains(body, "INVALID_REQUEST") {
		t.Errorf("%d %s", code, body)
	}
}

func TestResultFormats(t *testing.T) {
	t.Parallel()
	b := one(t, &server{serve: func(c *call) { c.result(okResult) }})
	ask := func(f v1.ResultFormat) *v1.CallToolResponse {
		res, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{ResultFormat: f}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := ask(v1.ResultFormat_RESULT_FORMAT_RAW); res.RawJson != okResult || res.Outcome != nil {
		t.Errorf("%v", res)
	}
	if sc := ask(v1.ResultFormat_RESULT_FORMAT_STRUCT).GetResult().GetStructuredContent(); sc.GetValue().GetStructValue() == nil || sc.GetText() == "" {
		t.Errorf("%v", sc) // a number that a double can't hold stands in text as well
	}
	if sc := ask(v1.ResultFormat_RESULT_FORMAT_TYPED).GetResult().GetStructuredContent(); sc.GetValue() != nil {
		t.Errorf("%v", sc)
	}
	_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{ResultFormat: 99}})
	want(t, err, connect.CodeInvalidArgument, "INVALID_REQUEST")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	args, _ := structpb.NewStruct(map[string]any{"n": 3})
	for name, r := range map[string]*v1.CallToolRequest{
		"struct": {Name: "x", Arguments: args},
		"text":   {Name: "x", ArgumentsJson: "{\r\n\t\"n\": 3\n}"},
	} {
		res, err := b.client.CallTool(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p := got(t, res); p["name"] != "x" || p["arguments"].(map[string]any)["n"] != 3.0 {
			t.Errorf("%s: %v", name, p)
		}
	}
	nan, _ := structpb.NewStruct(nil)
	nan.Fields = map[string]*structpb.Value{"x": structpb.NewNumberValue(math.Inf(1))}
	for name, r := range map[string]*v1.CallToolRequest{
		"both":          {Name: "x", Arguments: args, ArgumentsJson: "{}"},
		"no object":     {Name: "x", ArgumentsJson: "[1]"},
		"two objects":   {Name: "x", ArgumentsJson: "{}{}"},
		"an injection":  {Name: "x", ArgumentsJson: `{}},"method":"tools/list","params":{"a":{}`},
		"no JSON":       {Name: "x", ArgumentsJson: "{"},
		"infinite":      {Name: "x", Arguments: nan},
		"no tool":       {ArgumentsJson: "{}"},
		"bad meta":      {Name: "x", Options: &v1.RequestOptions{MetaJson: "1"}},
		"our meta":      {Name: "x", Options: &v1.RequestOptions{MetaJson: `{"progressToken":1}`}},
		"reserved":      {Name: "x", Options: &v1.RequestOptions{MetaJson: `{"io.modelcontextprotocol/x":1}`}},
		"no such level": {Name: "x", Options: &v1.RequestOptions{LogLevel: 77}},
		"long call_id":  {Name: "x", Options: &v1.RequestOptions{CallId: strings.Repeat("x", 2000)}},
		"no server":     {Name: "x", Server: "two"},
	} {
		_, err := b.client.CallTool(t.Context(), r)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		v := judge(t, err)
		if name == "no server" {
			if v.Code != connect.CodeNotFound || v.Reason != "SERVER_NOT_FOUND" {
				t.Errorf("%s: %+v", name, v)
			}
		} else if v.Code != connect.CodeInvalidArgument || v.Reason != "INVALID_REQUEST" {
			t.Errorf("%s: %+v", name, v)
		} else if v.Upstream != nil && v.Upstream.Delivery != notSent {
			t.Errorf("%s: %v", name, v.Upstream)
		}
	}
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(true))
	ctx, info := connect.NewClientContext(t.Context())
	info.RequestHeader().Set("Traceparent", "00-11111111111111111111111111111111-2222222222222222-01")
	info.RequestHeader().Set("Baggage", "from=header")
	res, err := b.client.CallTool(ctx, &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{
		MetaJson: `{"com.example/a":[1],"baggage":"from=meta"}`, CallId: "mine", LogLevel: v1.LogLevel_LOG_LEVEL_WARNING,
		Capabilities: &v1.ClientCapabilities{Sampling: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := got(t, res)["_meta"].(map[string]any)
	if m["traceparent"] == nil || m["baggage"] != "from=meta" || m["com.example/a"] == nil || m["progressToken"] == nil ||
		m["io.modelcontextprotocol/logLevel"] != "warning" {
		t.Errorf("%v", m)
	}
	if caps := m["io.modelcontextprotocol/clientCapabilities"].(map[string]any); caps["sampling"] == nil {
		t.Errorf("%v", caps)
	}
}

func TestCapabilitiesOfALegacySession(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	ask := func(session string, c *v1.ClientCapabilities) error {
		_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{SessionId: session, Name: "x", Options: &v1.RequestOptions{Capabilities: c}})
		return err
	}
	// The first request finds out the era before it is sent.
	want(t, ask("", &v1.ClientCapabilities{Sampling: true}), connect.CodeFailedPrecondition, "CAPABILITY_REQUIRED")
	if err := ask("", &v1.ClientCapabilities{}); err != nil {
		t.Errorf("nothing exceeds nothing: %v", err)
	}
	x, err := b.client.Initialize(t.Context(), &v1.InitializeRequest{Capabilities: &v1.ClientCapabilities{Sampling: true, ElicitationForm: true, Roots: true}})
	if err != nil {
		t.Fatal(err)
	}
	for c, ok := range map[*v1.ClientCapabilities]bool{
		{Sampling: true}:                        true,
		{Sampling: true, ElicitationForm: true}: true,
		{Roots: true}:                           true,
		{SamplingTools: true}:                   false,
		{ElicitationUrl: true}:                  false,
		{Extensions: map[string]*v1.Json{"com.example/x": {Text: "{}"}}}: false,
	} {
		err := ask(x.SessionId, c)
		if ok && err != nil {
			t.Errorf("%v: %v", c, err)
		} else if !ok {
			want(t, err, connect.CodeFailedPrecondition, "CAPABILITY_REQUIRED")
		}
	}
}

func TestOutcomesThatAreNotThereYet(t *testing.T) {
	t.Parallel()
	typ := `"input_required"`
	b := one(t, &server{modern: true, serve: func(c *call) {
		c.result(`{"resultType":` + typ + `,"inputRequests":{},"requestState":"s","content":[]}`)
	}})
	for _, f := range []v1.ResultFormat{v1.ResultFormat_RESULT_FORMAT_TYPED, v1.ResultFormat_RESULT_FORMAT_RAW} {
		r := &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{ResultFormat: f}}
		typ = `"input_required"`
		_, err := b.client.CallTool(t.Context(), r)
		if v := want(t, err, connect.CodeUnimplemented, "UNIMPLEMENTED"); v.Upstream.Delivery != answered {
			t.Errorf("%v", v.Upstream)
		}
		typ = `"never heard of"`
		_, err = b.client.CallTool(t.Context(), r)
		want(t, err, connect.CodeInternal, "INVALID_RESPONSE")
	}
	_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x", AcceptTask: true})
	want(t, err, connect.CodeUnimplemented, "UNIMPLEMENTED")
}

func TestAnInvalidResultIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	b := one(t, &server{serve: func(c *call) { c.result(`[1,2]`) }})
	_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x"})
	if v := want(t, err, connect.CodeInternal, "INVALID_RESPONSE"); v.Upstream.Delivery != answered || v.Upstream.Origin != byBridge {
		t.Errorf("%v", v.Upstream)
	}
}

// silent never answers a request, and tells of cancellations.
func silent(cancelled chan<- string) *server {
	return &server{serve: func(*call) {}, notified: func(n *jsonrpc.Notification) {
		if n.Method == "notifications/cancelled" {
			cancelled <- string(n.Params)
		}
	}}
}

func TestATimeoutIsTheCallersOwnNumber(t *testing.T) {
	t.Parallel()
	cancelled := make(chan string, 10)
	b := one(t, silent(cancelled))
	if _, err := b.client.Ping(t.Context(), &v1.PingRequest{}); err != nil {
		t.Fatal(err)
	}
	for header, value := range map[string]string{"Connect-Timeout-Ms": "300", "Grpc-Timeout": "300m"} {
		var options []connecthttp.Option
		if header == "Grpc-Timeout" {
			options = append(options, connecthttp.WithGRPC())
		}
		client := b.sending(t, map[string]string{header: value}, options...)
		began := time.Now()
		_, err := client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x"})
		took := time.Since(began)
		v := want(t, err, connect.CodeDeadlineExceeded, "TIMEOUT")
		if v.Message != "request timeout after 300ms" || v.Metadata["phase"] != "wait" || v.Upstream.Delivery != sent {
			t.Errorf("%s: %+v", header, v)
		}
		if took < 250*time.Millisecond {
			t.Errorf("gave up after %v", took)
		}
		if c := <-cancelled; !strings.Contains(c, "timeout") {
			t.Errorf("cancelled with %s", c)
		}
	}
}

func TestServersTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout, ceiling time.Duration
		deadline         time.Duration
		message          string
	}{
		"the server's own":    {timeout: 50 * time.Millisecond, message: "request timeout after 50ms"},
		"a ceiling":           {timeout: time.Minute, ceiling: 60 * time.Millisecond, message: "request timeout after 60ms"},
		"a ceiling over RPCs": {timeout: time.Minute, ceiling: 60 * time.Millisecond, deadline: time.Minute, message: "request timeout after 60ms"},
	} {
		s := silent(make(chan string, 1))
		b := start(t, rpc.Options{Servers: upstreams(t, func(_ int, o *upstream.Options) { o.Timeout, o.MaxTimeout = c.timeout, c.ceiling }, s)})
		ctx := t.Context()
		if c.deadline > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.deadline)
			defer cancel()
		}
		_, err := b.client.CallTool(ctx, &v1.CallToolRequest{Name: "x"})
		if v := want(t, err, connect.CodeDeadlineExceeded, "TIMEOUT"); v.Message != c.message {
			t.Errorf("%s: %q", name, v.Message)
		}
	}
}

func TestProgressExtendsTheTimeout(t *testing.T) {
	t.Parallel()
	s := &server{serve: func(c *call) {
		for i := range 5 {
			<-time.After(100 * time.Millisecond)
			c.notify("notifications/progress", `{"progressToken":`+c.token()+`,"progress":`+string(rune('1'+i))+`}`)
		}
		c.result(okResult)
	}}
	b := start(t, rpc.Options{Servers: upstreams(t, func(_ int, o *upstream.Options) { o.Timeout = 300 * time.Millisecond }, s)})
	ask := func(extend bool) error {
		_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{ProgressExtendsTimeout: extend, CallId: "c"}})
		return err
	}
	if err := ask(true); err != nil {
		t.Error(err)
	}
	want(t, ask(false), connect.CodeDeadlineExceeded, "TIMEOUT")
}

func TestADeadlineThatHasPassed(t *testing.T) {
	t.Parallel()
	b := one(t, silent(make(chan string, 10)))
	for _, ms := range []string{"0", "1"} {
		_, err := b.sending(t, map[string]string{"Connect-Timeout-Ms": ms}).CallTool(t.Context(), &v1.CallToolRequest{Name: "x"})
		if connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("%s ms: %v", ms, err)
		}
		v := judge(t, err)
		if v.Reason != "TIMEOUT" || v.Message != "request timeout after "+ms+"ms" {
			t.Errorf("%s ms: %+v", ms, v)
		}
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	cancelled := make(chan string, 1)
	began := make(chan struct{}, 1)
	s := silent(cancelled)
	s.serve = func(*call) { began <- struct{}{} }
	b := one(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err := b.client.CallTool(ctx, &v1.CallToolRequest{Name: "x"})
	if connect.CodeOf(err) != connect.CodeCanceled {
		t.Error(err)
	}
	if c := <-cancelled; !strings.Contains(c, "cancelled by the caller") {
		t.Error(c)
	}
}

func TestDrainingRefusesNewCalls(t *testing.T) {
	t.Parallel()
	draining, drain := context.WithCancel(t.Context())
	began, end := make(chan struct{}), make(chan struct{})
	s := &server{serve: func(c *call) { close(began); <-end; c.result(okResult) }}
	b := start(t, rpc.Options{Servers: upstreams(t, nil, s), Draining: draining})
	inFlight := make(chan error, 1)
	go func() {
		_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x"})
		inFlight <- err
	}()
	<-began
	drain()
	for name, f := range map[string]func() error{
		"CallTool":   func() error { _, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x"}); return err },
		"ListTools":  func() error { _, err := b.client.ListTools(t.Context(), &v1.ListToolsRequest{}); return err },
		"Ping":       func() error { _, err := b.client.Ping(t.Context(), &v1.PingRequest{}); return err },
		"Initialize": func() error { _, err := b.client.Initialize(t.Context(), &v1.InitializeRequest{}); return err },
		"Call":       func() error { _, err := b.client.Call(t.Context(), &v1.CallRequest{Method: "m"}); return err },
		"Notify":     func() error { _, err := b.client.Notify(t.Context(), &v1.NotifyRequest{Method: "m"}); return err },
		"StreamTool": func() error { return streamError(t, b, &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x"}}) },
		"Watch": func() error {
			stream, err := b.client.WatchNotifications(t.Context(), &v1.WatchNotificationsRequest{})
			if err == nil {
				_, err = stream.Receive()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if v := want(t, f(), connect.CodeUnavailable, "DRAINING"); v.Retry.GetRetryDelay().AsDuration() <= 0 {
				t.Errorf("%+v", v)
			}
		})
	}
	close(end)
	if err := <-inFlight; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
}

func streamError(t *testing.T, b *bridge, r *v1.StreamToolRequest) error {
	t.Helper()
	stream, err := b.client.StreamTool(t.Context(), r)
	for err == nil {
		_, err = stream.Receive()
	}
	return err
}

func TestARequestThatIsLost(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	quick := func(trust bool) func(int, *upstream.Options) {
		return func(_ int, o *upstream.Options) {
			o.TrustAnnotations = trust
			o.Restart.Initial, o.Restart.Jitter, o.Restart.GiveUp = time.Millisecond, 0, 0
		}
	}
	for _, trust := range []bool{true, false} {
		s := &server{serve: func(c *call) {
			if c.Method == "tools/list" {
				c.result(`{"tools":[{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}},{"name":"set","inputSchema":{},"annotations":{"idempotentHint":true}},{"name":"pay","inputSchema":{}}]}`)
				return
			}
			calls.Add(1)
			c.peer.Break(errors.New("gone"))
		}}
		b := start(t, rpc.Options{Servers: upstreams(t, quick(trust), s)})
		ask := func(tool string) error {
			_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: tool})
			return err
		}
		want(t, ask("look"), connect.CodeAborted, "REQUEST_LOST") // nobody has asked for the list yet
		if _, err := b.client.ListTools(t.Context(), &v1.ListToolsRequest{}); err != nil {
			t.Fatal(err)
		}
		safe := connect.CodeAborted
		if trust {
			safe = connect.CodeUnavailable
		}
		want(t, ask("look"), safe, "REQUEST_LOST")
		want(t, ask("set"), safe, "REQUEST_LOST")
		want(t, ask("pay"), connect.CodeAborted, "REQUEST_LOST")
		_, err := b.client.Call(t.Context(), &v1.CallRequest{Method: "resources/read", ParamsJson: `{"uri":"x"}`})
		want(t, err, connect.CodeUnavailable, "REQUEST_LOST")
		_, err = b.client.Call(t.Context(), &v1.CallRequest{Method: "resources/read", ParamsJson: `{"uri":"x","inputResponses":{}}`})
		want(t, err, connect.CodeAborted, "REQUEST_LOST")
		if n := calls.Swap(0); n != 6 {
			t.Errorf("the server saw %d calls, want 6: nothing that was sent is repeated", n)
		}
	}
}

func TestAFeatureThatIsNotOffered(t *testing.T) {
	t.Parallel()
	s := echoes(false)
	s.capabilities = `{"prompts":{}}`
	b := one(t, s)
	_, err := b.client.CallTool(t.Context(), &v1.CallToolRequest{Name: "x"})
	if v := want(t, err, connect.CodeUnimplemented, "NOT_OFFERED"); v.Upstream.Delivery != notSent {
		t.Errorf("%v", v.Upstream)
	}
}

// Some of the caller's time may be gone before the bridge looks at its clock.
func TestATimeoutIsTheCallersOwnNumberHoweverSlowHisRequest(t *testing.T) {
	t.Parallel()
	b := one(t, silent(make(chan string, 1)))
	ready(t, b, "one")
	body, send := io.Pipe()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", b.url+mcpbridgev1connect.McpServiceCallToolProcedure, body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connect-Timeout-Ms", "300")
	go func() {
		<-time.After(50 * time.Millisecond)
		_, _ = io.WriteString(send, `{"name":"x"}`)
		_ = send.Close()
	}()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); !strings.Contains(string(text), "request timeout after 300ms") {
		t.Errorf("%s %s", res.Status, text)
	}
}
