package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// A server is a scripted MCP server. It answers the handshake itself and asks
// serve for all else, each request on a goroutine of its own.
type server struct {
	modern       bool
	private      bool
	capabilities string // JSON text; empty: all
	serve        func(c *call)
	notified     func(n *jsonrpc.Notification)
	refuse       func(transport.Frame) error

	mu    sync.Mutex
	peers []*transporttest.MemoryPeer
	dials int
	wg    sync.WaitGroup
}

// A call is one request at the server.
type call struct {
	*jsonrpc.Call
	x    *transporttest.Exchange
	peer *transporttest.MemoryPeer
}

func (c *call) result(text string) {
	_ = c.x.Reply([]byte(`{"jsonrpc":"2.0","id":` + c.ID.String() + `,"result":` + text + `}`))
}

func (c *call) fail(code int, message, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	_ = c.x.Reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, c.ID, code, message, data))
}

func (c *call) notify(method, params string) {
	_ = c.x.Reply([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`))
}

// token is the progress token of the request.
func (c *call) token() string {
	_, rest, ok := strings.Cut(string(c.Params), `"progressToken":`)
	if !ok {
		return ""
	}
	return rest[:strings.IndexAny(rest, ",}")]
}

// Dial makes a link in memory.
func (s *server) Dial(context.Context) (transport.Conn, error) {
	conn, peer := transporttest.NewPair(transporttest.MemoryOptions{Private: s.private, Refuse: s.refuse})
	s.mu.Lock()
	s.peers = append(s.peers, peer)
	s.dials++
	s.mu.Unlock()
	s.wg.Go(func() {
		for {
			x, err := peer.NextExchange(context.Background())
			if err != nil {
				return
			}
			s.receive(x, peer)
		}
	})
	return conn, nil
}

// peer is the latest link.
func (s *server) peer() *transporttest.MemoryPeer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[len(s.peers)-1]
}

func (s *server) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

func (s *server) receive(x *transporttest.Exchange, peer *transporttest.MemoryPeer) {
	m, err := jsonrpc.Parse(x.Frame.Body)
	if err != nil {
		panic(err) // the bridge wrote no JSON-RPC
	}
	if n, ok := m.(*jsonrpc.Notification); ok {
		if s.notified != nil {
			s.notified(n)
		}
		return
	}
	q, ok := m.(*jsonrpc.Call)
	if !ok {
		return
	}
	c := &call{q, x, peer}
	caps := s.capabilities
	if caps == "" {
		caps = `{"tools":{"listChanged":true},"resources":{},"prompts":{},"completions":{},"logging":{}}`
	}
	switch {
	case q.Method == "server/discover" && !s.modern:
		c.fail(-32601, "Method not found", "")
	case q.Method == "server/discover":
		c.result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + caps + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"2"}}}`)
	case q.Method == "initialize":
		c.result(`{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"serverInfo":{"name":"scripted","version":"1"}}`)
	case q.Method == "ping":
		c.result(`{}`)
	case q.Method == "subscriptions/listen":
		c.notify("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+c.ID.String()+`}}`)
	default:
		s.wg.Go(func() { s.serve(c) })
	}
}

// A bridge is a service with its servers.
type bridge struct {
	*rpc.Service
	set    *upstream.Set
	client mcpbridgev1connect.McpServiceClient
	url    string
}

// as makes the call one of somebody.
func as(ctx context.Context, who string) context.Context {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("X-Test-Principal", who)
	return ctx
}

// principal is who calls, as the header of a test says.
func principal(ctx context.Context) string {
	if info, ok := connect.CallInfoForServerContext(ctx); ok {
		return info.RequestHeader().Get("X-Test-Principal")
	}
	return ""
}

// upstreams makes servers of scripts, named "one", "two", and so on.
func upstreams(t testing.TB, change func(i int, o *upstream.Options), servers ...*server) *upstream.Set {
	t.Helper()
	var all []*upstream.Upstream
	for i, s := range servers {
		o := upstream.Defaults()
		o.Name, o.Transport, o.Dialers = []string{"one", "two", "three"}[i], "memory", []transport.Dialer{s}
		if change != nil {
			change(i, &o)
		}
		all = append(all, upstream.New(o))
		t.Cleanup(s.wg.Wait)
	}
	set := upstream.NewSet(all)
	t.Cleanup(func() { set.Close(context.Background()) })
	return set
}

// start serves a bridge on a loopback listener, over HTTP/1.1 and h2c.
func start(t testing.TB, o rpc.Options) *bridge {
	t.Helper()
	if o.Principal == nil {
		o.Principal = principal
	}
	b := &bridge{Service: rpc.New(o), set: o.Servers}
	s := connect.NewServer()
	b.Register(s)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: mux, Protocols: p}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { _ = srv.Close(); wg.Wait() })
	b.url = "http://" + l.Addr().String()
	b.client = b.connect(t)
	return b
}

// one starts a bridge with one scripted server.
func one(t testing.TB, s *server) *bridge {
	t.Helper()
	return start(t, rpc.Options{Servers: upstreams(t, nil, s)})
}

// connect makes a client that speaks h2c.
func (b *bridge) connect(t testing.TB, options ...connecthttp.Option) mcpbridgev1connect.McpServiceClient {
	return b.sending(t, nil, options...)
}

// headers adds headers to requests that a client has made.
type headers struct {
	http.RoundTripper
	add map[string]string
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.add {
		r.Header.Set(k, v)
	}
	return h.RoundTripper.RoundTrip(r)
}

// sending makes a client that speaks h2c, and sends headers as well.
func (b *bridge) sending(t testing.TB, add map[string]string, options ...connecthttp.Option) mcpbridgev1connect.McpServiceClient {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	t.Cleanup(tr.CloseIdleConnections)
	return mcpbridgev1connect.NewMcpServiceClient(connect.NewClient(connecthttp.NewTransport(&http.Client{Transport: headers{tr, add}}, b.url, options...)))
}

// A verdict is what a caller learns of an error.
type verdict struct {
	Code     connect.Code
	Message  string
	Reason   string
	Metadata map[string]string
	Upstream *v1.UpstreamError
	Retry    *errdetails.RetryInfo
}

// judge reads an error's details.
func judge(t testing.TB, err error) verdict {
	t.Helper()
	var e *connect.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is no connect error: %v", err, err)
	}
	v := verdict{Code: e.Code(), Message: e.Message()}
	for _, d := range e.Details() {
		m, err := connectproto.UnmarshalErrorDetail(d)
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			if m.Domain != rpc.Domain {
				t.Errorf("domain %q", m.Domain)
			}
			v.Reason, v.Metadata = m.Reason, m.Metadata
		case *v1.UpstreamError:
			v.Upstream = m
			if v.Reason != m.Reason {
				t.Errorf("reasons differ: %q and %q", v.Reason, m.Reason)
			}
		case *errdetails.RetryInfo:
			v.Retry = m
		}
	}
	return v
}

// want checks an error's code and reason.
func want(t testing.TB, err error, code connect.Code, reason string) verdict {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %v %s", code, reason)
	}
	v := judge(t, err)
	if v.Code != code || v.Reason != reason {
		t.Fatalf("%v %s (%s), want %v %s", v.Code, v.Reason, v.Message, code, reason)
	}
	return v
}
