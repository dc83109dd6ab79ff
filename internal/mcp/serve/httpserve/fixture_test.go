package httpserve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/httpserve"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1}`

type fixture struct {
	t           *testing.T
	core        *mcp.Server
	url         string
	h           *httpserve.Handler
	calls, said atomic.Int64

	started, ended chan error
	release        chan struct{}
	left           chan string // a request was over for the server: its method
}

func newCore(t *testing.T, f *fixture) *mcp.Server {
	t.Helper()
	s, err := mcp.NewServer(mcp.ServerOptions{Name: "test", Version: "1", Tools: []mcp.ServerTool{
		{Name: "hold", Handle: f.hold},
		{Name: "steps", Handle: f.steps},
		{Name: "mirror", InputSchema: jsontext.Value(`{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}`),
			Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) { return []byte(`{"content":[]}`), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newFixture(t *testing.T, o httpserve.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, started: make(chan error, 10), ended: make(chan error, 10), release: make(chan struct{}), left: make(chan string, 10_000)}
	f.core = newCore(t, f)
	f.h = httpserve.New(f.core, o)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.h.ServeHTTP(w, r)
		f.left <- r.Method
	}))
	f.url = srv.URL
	t.Cleanup(func() { f.h.Close(); srv.Close() })
	return f
}

// hold says one thing, and waits.
func (f *fixture) hold(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
	f.started <- nil
	r.Progress(1, 2, "")
	select {
	case <-ctx.Done():
		f.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	case <-f.release:
		r.Progress(2, 2, "")
		f.ended <- nil
		return []byte(`{"content":[]}`), nil
	}
}

// steps says as many things as it is asked for.
func (f *fixture) steps(ctx context.Context, r *mcp.ServerRequest) ([]byte, error) {
	f.calls.Add(1)
	var n int
	if _, err := fmt.Sscanf(string(r.Arguments), `{"n":%d}`, &n); err != nil {
		return nil, err
	}
	for i := 1; i <= n && ctx.Err() == nil; i++ {
		r.Progress(float64(i), 0, strings.Repeat("x", 500))
		f.said.Add(1)
	}
	return []byte(`{"content":[]}`), nil
}

// request builds one; headers are pairs.
func (f *fixture) request(ctx context.Context, method, body string, headers ...string) *http.Request {
	f.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, f.url, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req
}

func (f *fixture) do(req *http.Request) *http.Response {
	f.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// send sends and reads all of the reply.
func (f *fixture) send(method, body string, headers ...string) (status int, text string, header http.Header) {
	f.t.Helper()
	resp := f.do(f.request(f.t.Context(), method, body, headers...))
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// modern are the headers of a request of 2026-07-28.
func modern(method, name string, more ...string) []string {
	h := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return append(h, more...)
}

func call(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,` + meta + `}}`
}

func legacyCall(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{"progressToken":1}}}`
}

// session opens one.
func (f *fixture) session(version string) string {
	f.t.Helper()
	status, body, header := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`"}}`)
	id := header.Get("Mcp-Session-Id")
	if status != 200 || id == "" || header.Get("Content-Type") != "application/json" {
		f.t.Fatalf("%d %s", status, body)
	}
	if status, body, _ := f.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id); status != 202 || body != "" {
		f.t.Fatalf("%d %s", status, body)
	}
	return id
}

// events reads a reply that is a stream, event by event.
func events(resp *http.Response) *eventstream.Reader {
	return eventstream.NewReader(bufio.NewReader(resp.Body), 1<<20)
}

func within[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}
