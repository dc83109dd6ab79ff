package cli

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
)

const (
	addrVariable = "MCP_BRIDGE_ADDR"
	defaultAddr  = "http://127.0.0.1:8080"
	maxAnswer    = 1 << 30 // a result of any size is shown; the default would be 4 MiB
)

// Remote are the flags of everything that speaks to a bridge.
type Remote struct {
	Addr    string        `placeholder:"URL" help:"Where the bridge is. Default: $$MCP_BRIDGE_ADDR, else http://127.0.0.1:8080."`
	Header  []string      `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Send this header with every request; may be repeated."`
	Timeout time.Duration `placeholder:"DURATION" help:"Give up after this long, such as 90s. Default: as the bridge is configured."`
}

// A link is a client of one bridge, for one run of a subcommand.
type link struct {
	mcpbridgev1connect.McpServiceClient
	base string
	ctx  context.Context
	end  func()
}

// open makes a client. Its end must be called.
func (r *Remote) open(c *Context) (*link, error) {
	base := r.Addr
	if base == "" {
		base = c.env(addrVariable)
	}
	if base == "" {
		base = defaultAddr
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usage("--addr: want a URL such as %s, not %q", defaultAddr, base)
	}
	headers, err := r.headers()
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.context(c)
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	base = strings.TrimRight(base, "/")
	client := connect.NewClient(connecthttp.NewTransport(&http.Client{Transport: transport}, base, connecthttp.WithReadMaxBytes(maxAnswer)), withHeaders(headers))
	return &link{
		McpServiceClient: mcpbridgev1connect.NewMcpServiceClient(client),
		base:             base,
		ctx:              ctx,
		end: func() {
			cancel()
			transport.CloseIdleConnections()
		},
	}, nil
}

// context bounds a run by --timeout.
func (r *Remote) context(c *Context) (context.Context, context.CancelFunc) {
	if r.Timeout > 0 {
		return context.WithTimeout(c.Ctx, r.Timeout)
	}
	return context.WithCancel(c.Ctx)
}

func (r *Remote) headers() (map[string]string, error) {
	headers := map[string]string{}
	for _, h := range r.Header {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}") {
			return nil, usage("--header: want NAME:VALUE, not %q", h)
		}
		headers[name] = value
	}
	return headers, nil
}

func withHeaders(headers map[string]string) connect.ClientInterceptor {
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			info, ok := connect.CallInfoForClientContext(ctx)
			if !ok {
				ctx, info = connect.NewClientContext(ctx)
			}
			for name, value := range headers {
				info.RequestHeader().Set(name, value)
			}
			return next(ctx, spec)
		}
	}
}
