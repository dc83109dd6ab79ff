//go:build unix

package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/structpb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// TestRequestsThatAreWrong: the fault is the caller's, and he is told which.
func TestRequestsThatAreWrong(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry()+"  other:\n"+demoEntry())
	invalid := want{code: connect.CodeInvalidArgument, reason: "INVALID_REQUEST"}
	for name, c := range b.callers(t) {
		a := api{c}
		for what, tt := range map[string]struct {
			r    *mcpbridgev1.CallToolRequest
			want want
		}{
			"unknown server":  {&mcpbridgev1.CallToolRequest{Server: "nobody", Name: "echo"}, want{code: connect.CodeNotFound, reason: "SERVER_NOT_FOUND", says: []string{"nobody"}}},
			"unknown session": {&mcpbridgev1.CallToolRequest{SessionId: "nobody", Name: "echo"}, want{code: connect.CodeNotFound, reason: "SESSION_NOT_FOUND"}},
			"no server":       {&mcpbridgev1.CallToolRequest{Name: "echo"}, invalid},
			"no tool":         {&mcpbridgev1.CallToolRequest{Server: "demo"}, invalid},
			"bad JSON":        {&mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{"a":`}, invalid},
			"two objects":     {&mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{}{}`}, invalid},
			"no object":       {&mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `[1]`}, invalid},
			"both forms":      {&mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{}`, Arguments: &structpb.Struct{}}, invalid},
			"reserved meta":   {&mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", Options: &mcpbridgev1.RequestOptions{MetaJson: `{"progressToken":1}`}}, invalid},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				_, err := a.call(within(t, patience), tt.r)
				tt.want.check(t, err)
			})
		}
	}
	if n := b.rpc().stats(t, "demo", "echo").Calls; n != 0 {
		t.Errorf("%d of them were sent", n)
	}
	for body, status := range map[string]int{`{"server":`: 400, `{"server":7}`: 400, `[]`: 400, ``: 400} {
		res, err := http.Post(b.base+servicePath+"CallTool", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != status || !strings.Contains(string(text), `"invalid_argument"`) {
			t.Errorf("%q: HTTP %d %s", body, res.StatusCode, text)
		}
	}
}

// TestTooLarge: what is over a limit fails for its own caller; the bridge lives
// and keeps its memory.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  gusher:\n"+roleEnv("gusher")+"  demo:\n"+demoEntry())
	a := b.rpc()
	// A line of 1 GiB, of which the bridge must not hold more than its limit.
	_, err := a.call(within(t, time.Minute), &mcpbridgev1.CallToolRequest{Server: "gusher", Name: "gibibyte"})
	want{connect.CodeResourceExhausted, "MESSAGE_TOO_LARGE", answered, []string{"max_message_bytes"}}.check(t, err)
	res, err := a.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "gusher", Name: "ok"})
	if err != nil || firstText(res.GetResult()) != "fine" {
		t.Errorf("the same server: %v %v", res, err)
	}
	b.staysBelow(512 << 20)

	// A request over 64 MiB is refused, whoever sends it.
	body := io.MultiReader(strings.NewReader(`{"server":"demo","name":"echo","argumentsJson":"`), io.LimitReader(zeros{}, 80<<20), strings.NewReader(`"}`))
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodPost, b.base+servicePath+"CallTool", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil { // it may also be cut off while it is being sent
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if !strings.Contains(string(text), "resource_exhausted") {
			t.Errorf("HTTP %d %.300s", res.StatusCode, text)
		}
	}
	_, err = api{newGRPC(t, b.base)}.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{"message":"` + strings.Repeat("0", 66<<20) + `"}`})
	want{code: connect.CodeResourceExhausted}.check(t, err)
	// Just under it, all is well.
	large := strings.Repeat("0", 40<<20)
	res, err = a.call(within(t, time.Minute), &mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{"message":"` + large + `"}`})
	if err != nil || firstText(res.GetResult()) != large {
		t.Errorf("40 MiB there and back: %d bytes, %v", len(firstText(res.GetResult())), err)
	}
}

// zeros is an endless text.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte("0"), len(p)))
	return len(p), nil
}

// TestBrowsers: pages of other sites have no business here.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "cors: {allowed_origins: [https://app.example.com]}\nservers:\n  demo:\n"+demoEntry())
	for origin, status := range map[string]int{"": 200, "https://app.example.com": 200, "https://evil.example.com": 403} {
		req, err := http.NewRequestWithContext(within(t, patience), http.MethodPost, b.base+servicePath+"ListServers", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("origin %q: HTTP %d, want %d", origin, res.StatusCode, status)
		}
	}
	req, err := http.NewRequestWithContext(within(t, patience), http.MethodPost, b.base+servicePath+"ListServers", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example.com"
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("Host rebound.example.com: HTTP %d", res.StatusCode)
	}
	for path, status := range map[string]int{"/livez": 200, "/readyz": 200} {
		res, err := http.Get(b.base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s: HTTP %d", path, res.StatusCode)
		}
	}
}
