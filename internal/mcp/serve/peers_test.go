package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/httpserve"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/stdio"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
)

// A peer is a client of one of the transports. say hands a message over; heard
// waits for what comes back, in any order and on any way.
type peer interface {
	say(text string)
	heard() string
}

// transports are all ways to a server.
var transports = map[string]func(*testing.T, *mcp.Server) peer{
	"memory": memoryPeer,
	"stdio":  stdioPeer,
	"http":   httpPeer,
}

// running runs f until the test's end, and waits for it.
func running(t *testing.T, f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var own sync.WaitGroup
	own.Go(func() { f(ctx) })
	t.Cleanup(func() { cancel(); own.Wait() })
}

type memoryClient struct {
	t *testing.T
	m *memory
}

func memoryPeer(t *testing.T, s *mcp.Server) peer {
	m := &memory{in: make(chan []byte), out: make(chan []byte, 100)}
	running(t, func(ctx context.Context) { serveMemory(ctx, s, m) })
	return &memoryClient{t, m}
}

func (c *memoryClient) say(text string) { c.m.in <- []byte(text) }
func (c *memoryClient) heard() string   { return string(<-c.m.out) }

type stdioClient struct {
	t     *testing.T
	w     io.Writer
	lines *bufio.Scanner
}

func stdioPeer(t *testing.T, s *mcp.Server) peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	running(t, func(ctx context.Context) {
		if err := stdio.Serve(ctx, s, inR, outW, stdio.Options{}); err != context.Canceled {
			t.Errorf("served until %v", err)
		}
	})
	return &stdioClient{t, inW, bufio.NewScanner(outR)}
}

func (c *stdioClient) say(text string) {
	if _, err := io.WriteString(c.w, text+"\n"); err != nil {
		c.t.Error(err)
	}
}

func (c *stdioClient) heard() string {
	if !c.lines.Scan() {
		c.t.Fatalf("the output ended: %v", c.lines.Err())
	}
	return c.lines.Text()
}

type httpClient struct {
	t   *testing.T
	url string
	got chan string
	own *sync.WaitGroup
	ctx context.Context

	mu      sync.Mutex
	session string
}

func httpPeer(t *testing.T, s *mcp.Server) peer {
	h := httpserve.New(s, httpserve.Options{})
	srv := httptest.NewServer(h)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &httpClient{t: t, url: srv.URL, got: make(chan string, 100), own: &sync.WaitGroup{}, ctx: ctx}
	t.Cleanup(func() { cancel(); h.Close(); srv.Close(); c.own.Wait() })
	return c
}

// say POSTs and reads the reply on a goroutine, as answers may take their time.
// What a header must say is taken from the body.
func (c *httpClient) say(text string) {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	req := c.request(http.MethodPost, text, session)
	var body struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
			Meta struct {
				V string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal([]byte(text), &body) == nil && body.Params.Meta.V != "" {
		req.Header.Set("MCP-Protocol-Version", body.Params.Meta.V)
		req.Header.Set("Mcp-Method", body.Method)
		if name := body.Params.Name + body.Params.URI; name != "" {
			req.Header.Set("Mcp-Name", name)
		}
		req.Header.Del("Mcp-Session-Id")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.mu.Lock()
		c.session = id
		c.mu.Unlock()
		got, err := http.DefaultClient.Do(c.request(http.MethodGet, "", id))
		if err != nil {
			c.t.Fatal(err)
		}
		c.own.Go(func() { c.read(got) })
	}
	c.own.Go(func() { c.read(resp) })
}

func (c *httpClient) request(method, body, session string) *http.Request {
	req, err := http.NewRequestWithContext(c.ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	return req
}

func (c *httpClient) read(resp *http.Response) {
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if b, err := io.ReadAll(resp.Body); err == nil && len(b) > 0 {
			c.got <- string(b)
		}
		return
	}
	r := eventstream.NewReader(resp.Body, 1<<20)
	for {
		e, err := r.Next()
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(e.Data)) > 0 {
			c.got <- string(e.Data)
		}
	}
}

func (c *httpClient) heard() string { return <-c.got }

var _ mcp.LegacySender = (*memory)(nil)

func parse(t *testing.T, text string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}
