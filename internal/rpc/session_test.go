package rpc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	connect "connectrpc.com/connect/v2"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// failing is a dialer that can't dial.
type failing struct{ err error }

func (f failing) Dial(context.Context) (transport.Conn, error) { return nil, transport.NotSent(f.err) }

func TestASessionFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		s := echoes(modern)
		b := one(t, s)
		ctx, info := connect.NewClientContext(t.Context())
		x, err := b.client.Initialize(ctx, &v1.InitializeRequest{ClientInfo: &v1.Implementation{Name: "me", Version: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		if x.SessionId == "" || info.ResponseHeader().Get("Mcp-Session-Id") != x.SessionId || info.ResponseHeader().Get("Mcp-Session-Generation") != "1" ||
			x.Server != "one" || x.Generation != 1 || x.ServerInfo.GetName() != "scripted" || x.IdleTimeout.AsDuration() <= 0 || x.RawJson != "" {
			t.Errorf("%v %v", x, info.ResponseHeader())
		}
		ctx, info = connect.NewClientContext(t.Context())
		if _, err := b.client.CallTool(ctx, &v1.CallToolRequest{SessionId: x.SessionId, Name: "x"}); err != nil {
			t.Error(err)
		}
		if g := info.ResponseHeader().Get("Mcp-Session-Generation"); g != "1" {
			t.Errorf("generation %q", g)
		}
		ctx, info = connect.NewClientContext(t.Context())
		stream, err := b.client.StreamTool(ctx, &v1.StreamToolRequest{Call: &v1.CallToolRequest{SessionId: x.SessionId, Name: "x"}})
		for err == nil {
			_, err = stream.Receive()
		}
		if g := info.ResponseHeader().Get("Mcp-Session-Generation"); g != "1" {
			t.Errorf("generation of a stream %q", g)
		}
		if _, err := b.client.CloseSession(t.Context(), &v1.CloseSessionRequest{SessionId: x.SessionId}); err != nil {
			t.Error(err)
		}
		_, err = b.client.CloseSession(t.Context(), &v1.CloseSessionRequest{SessionId: x.SessionId})
		want(t, err, connect.CodeNotFound, "SESSION_NOT_FOUND")
		_, err = b.client.CallTool(t.Context(), &v1.CallToolRequest{SessionId: x.SessionId, Name: "x"})
		want(t, err, connect.CodeNotFound, "SESSION_NOT_FOUND")
	}
}

func TestWhomARequestIsFor(t *testing.T) {
	t.Parallel()
	b := start(t, rpc.Options{Servers: upstreams(t, nil, echoes(false), echoes(false))})
	open := func(server, who string) string {
		x, err := b.client.Initialize(as(t.Context(), who), &v1.InitializeRequest{Server: server})
		if err != nil {
			t.Fatal(err)
		}
		return x.SessionId
	}
	mine, other := open("one", "me"), open("one", "me")
	elsewhere := "AAAAAAAA" + mine[strings.Index(mine, "."):]
	for name, c := range map[string]struct {
		field, header, server, who string
		code                       connect.Code
		reason                     string
	}{
		"a field":                  {field: mine, who: "me"},
		"a header":                 {header: mine, who: "me"},
		"both":                     {field: mine, header: mine, who: "me"},
		"with its server":          {header: mine, server: "one", who: "me"},
		"a server":                 {server: "two"},
		"none":                     {code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"},
		"two that differ":          {field: mine, header: other, who: "me", code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"},
		"header and other server":  {header: mine, server: "two", who: "me", code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"},
		"field and other server":   {field: mine, server: "two", who: "me", code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"},
		"somebody else's":          {field: mine, who: "you", code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND"},
		"nobody's":                 {field: "x", code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND"},
		"of another instance":      {field: elsewhere, who: "me", code: connect.CodeFailedPrecondition, reason: "SESSION_ELSEWHERE"},
		"a server that is unknown": {server: "nine", code: connect.CodeNotFound, reason: "SERVER_NOT_FOUND"},
	} {
		ctx, info := connect.NewClientContext(t.Context())
		info.RequestHeader().Set("X-Test-Principal", c.who)
		if c.header != "" {
			info.RequestHeader().Set("Mcp-Session-Id", c.header)
		}
		_, err := b.client.CallTool(ctx, &v1.CallToolRequest{SessionId: c.field, Server: c.server, Name: "x"})
		if c.reason == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.reason != "" {
			t.Run(name, func(t *testing.T) { want(t, err, c.code, c.reason) })
		}
	}
}

func TestInitializeRefuses(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	for name, c := range map[string]struct {
		r      *v1.InitializeRequest
		code   connect.Code
		reason string
	}{
		"roots without the capability": {&v1.InitializeRequest{Roots: []*v1.Root{{Uri: "file:///x"}}}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"no such server":               {&v1.InitializeRequest{Server: "two"}, connect.CodeNotFound, "SERVER_NOT_FOUND"},
		"no revision":                  {&v1.InitializeRequest{MaxProtocolVersion: "newest"}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"a revision that is too old":   {&v1.InitializeRequest{MaxProtocolVersion: "2024-01-01"}, connect.CodeFailedPrecondition, "PROTOCOL_VERSION"},
		"bad capabilities":             {&v1.InitializeRequest{Capabilities: &v1.ClientCapabilities{Experimental: &v1.Json{Text: "1"}}}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.client.Initialize(t.Context(), c.r)
			want(t, err, c.code, c.reason)
		})
	}
	if _, err := b.client.CloseSession(t.Context(), &v1.CloseSessionRequest{}); judge(t, err).Reason != "INVALID_REQUEST" {
		t.Error(err)
	}
}

// A page of another program must see a refused call by its HTTP status, too.
func TestStatusOfConnectErrors(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	res, err := http.Post(b.url+mcpbridgev1connect.McpServiceCallToolProcedure, "application/json", strings.NewReader(`{"server":"nine","name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Error(res.Status)
	}
}
