package front_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/front"
)

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	local := serve(t, front.Options{Loopback: true, AllowedHosts: []string{"bridge.internal"}, AllowedOrigins: []string{"https://app.example"}})
	open := serve(t, front.Options{})
	closed := serve(t, front.Options{Loopback: true})
	port := local.addr[strings.LastIndex(local.addr, ":"):]
	for name, c := range map[string]struct {
		to     *running
		header []string
		ok     bool
	}{
		"a program":                         {local, nil, true},
		"localhost":                         {local, []string{"Host", "localhost" + port}, true},
		"LOCALHOST":                         {local, []string{"Host", "LOCALHOST" + port}, true},
		"a name below localhost":            {local, []string{"Host", "a.localhost"}, true},
		"loopback, IPv6":                    {local, []string{"Host", "[::1]" + port}, true},
		"loopback, another address":         {local, []string{"Host", "127.1.2.3"}, true},
		"a rebound name":                    {local, []string{"Host", "evil.example" + port}, false},
		"a rebound name as its own origin":  {local, []string{"Host", "evil.example", "Origin", "http://evil.example"}, false},
		"a name that looks like localhost":  {local, []string{"Host", "localhost.evil.example"}, false},
		"an address that is not loopback":   {local, []string{"Host", "192.168.1.1"}, false},
		"an allowed name":                   {local, []string{"Host", "bridge.internal:99"}, true},
		"any name where not on loopback":    {open, []string{"Host", "bridge.example"}, true},
		"a page of the same origin":         {open, []string{"Host", "bridge.example", "Origin", "http://bridge.example"}, true},
		"the same origin, with its port":    {open, []string{"Host", "bridge.example:80", "Origin", "http://bridge.example"}, true},
		"another port":                      {open, []string{"Host", "bridge.example", "Origin", "http://bridge.example:3000"}, false},
		"a page of another origin":          {open, []string{"Origin", "https://evil.example"}, false},
		"a page of an allowed origin":       {local, []string{"Origin", "https://app.example"}, true},
		"an allowed origin's subdomain":     {local, []string{"Origin", "https://x.app.example"}, false},
		"an allowed origin without TLS":     {local, []string{"Origin", "http://app.example"}, false},
		"no origin, by a file or a sandbox": {local, []string{"Origin", "null"}, false},
		"another site without an origin":    {local, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, false},
		"somebody who typed the address":    {local, []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, true},
		"grpc-web of a browser":             {closed, []string{"Content-Type", "application/grpc-web+proto", "Origin", "https://evil.example"}, false},
		"grpc-web under a rebound name":     {closed, []string{"Content-Type", "application/grpc-web+proto", "Host", "evil.example"}, false},
		"gRPC under any name":               {closed, []string{"Content-Type", "application/grpc", "Host", "evil.example"}, true},
		"gRPC by a page":                    {closed, []string{"Content-Type", "application/grpc", "Host", "evil.example", "Origin", "http://evil.example"}, false},
	} {
		res, body := c.to.post(t, client(t, false), callTool, `{"name":"x"}`, c.header...)
		if (res.StatusCode != http.StatusForbidden) != c.ok {
			t.Errorf("%s: %s %s", name, res.Status, body)
		}
		if !c.ok && c.to.count() < 0 {
			t.Error("unreachable")
		}
	}
}

func TestARefusedRequestIsNotServed(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{Loopback: true})
	r.post(t, client(t, false), callTool, `{"name":"x"}`, "Origin", "https://evil.example")
	r.post(t, client(t, false), callTool, `{"name":"x"}`, "Host", "evil.example")
	if n := r.count(); n != 0 {
		t.Errorf("%d calls were carried out", n)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{Loopback: true, AllowedOrigins: []string{"https://app.example"}})
	ask := func(origin, header string) *http.Response {
		res, _ := r.send(t, client(t, false), "OPTIONS", callTool, "", "Origin", origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", header)
		return res
	}
	allowed := "authorization,connect-protocol-version,connect-timeout-ms,content-type,mcp-session-id,traceparent,x-grpc-web"
	res := ask("https://app.example", allowed)
	h := res.Header
	if res.StatusCode >= 300 || h.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.EqualFold(h.Get("Access-Control-Allow-Headers"), allowed) || h.Get("Access-Control-Max-Age") != "7200" {
		t.Errorf("%s %v", res.Status, h)
	}
	if h := ask("https://app.example", "x-evil").Header; h.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("%v", h)
	}
	if res := ask("https://evil.example", allowed); res.StatusCode != http.StatusForbidden || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	got, _ := r.post(t, client(t, false), callTool, `{"name":"x"}`, "Origin", "https://app.example")
	exposed := strings.ToLower(got.Header.Get("Access-Control-Expose-Headers"))
	for _, name := range []string{"mcp-session-id", "mcp-session-generation", "grpc-status", "grpc-message", "grpc-status-details-bin"} {
		if !strings.Contains(exposed, name) {
			t.Errorf("%s is not exposed: %s", name, exposed)
		}
	}
}
