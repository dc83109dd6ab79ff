package front_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/front"
)

// bigBytes is how much the tool "big" returns.
const bigBytes = 3 << 20

// A service does what its requests ask for.
type service struct {
	mcpbridgev1connect.UnimplementedMcpServiceHandler
	mu      sync.Mutex
	calls   int
	began   chan string   // names of tools whose calls have begun
	ended   chan error    // why calls of "wait" have ended
	release chan struct{} // ends calls of "hold"
}

func newService() *service {
	return &service{began: make(chan string, 10_000), ended: make(chan error, 10_000), release: make(chan struct{})}
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *service) CallTool(ctx context.Context, r *v1.CallToolRequest) (*v1.CallToolResponse, error) {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	s.began <- r.Name
	switch r.Name {
	case "fail":
		return nil, connect.NewError(connect.CodeUnavailable, "not now")
	case "fail with a header":
		info, _ := connect.CallInfoForServerContext(ctx)
		info.ResponseHeader().Set("X-Own", "1")
		return nil, connect.NewError(connect.CodeUnavailable, "not now")
	case "wait":
		<-ctx.Done()
		s.ended <- context.Cause(ctx)
		return nil, connect.NewError(connect.CodeCanceled, "cancelled")
	case "hold":
		<-s.release
	case "big":
		return &v1.CallToolResponse{RawJson: strings.Repeat("x", bigBytes)}, nil
	}
	return &v1.CallToolResponse{RawJson: r.ArgumentsJson}, nil
}

// StreamTool sends the arguments for ever, or fails.
func (s *service) StreamTool(ctx context.Context, r *v1.StreamToolRequest, stream mcpbridgev1connect.McpServiceStreamToolServerStream) error {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	s.began <- r.GetCall().GetName()
	m := &v1.StreamToolResponse{Event: &v1.StreamToolResponse_Response{Response: &v1.CallToolResponse{RawJson: r.GetCall().GetArgumentsJson()}}}
	switch r.GetCall().GetName() {
	case "fail":
		return connect.NewError(connect.CodeUnavailable, "not now")
	case "hold":
		<-s.release
		return stream.Send(m)
	case "fail late":
		if err := stream.Send(m); err != nil {
			return err
		}
		return connect.NewError(connect.CodeUnavailable, "not now")
	}
	for {
		if err := stream.Send(m); err != nil {
			s.ended <- err
			return err
		}
		if r.GetCall().GetName() == "quiet" {
			<-ctx.Done()
			s.ended <- context.Cause(ctx)
			return nil
		}
	}
}

// A running front.
type running struct {
	*service
	srv    *http.Server
	health *front.Health
	addr   string
	url    string
}

func serve(t testing.TB, o front.Options, change ...func(*http.Server)) *running {
	t.Helper()
	r := &running{service: newService(), health: front.NewHealth(mcpbridgev1connect.McpServiceName)}
	server := connect.NewServer()
	mcpbridgev1connect.RegisterMcpServiceHandler(server, r.service)
	o.Probes = true
	r.srv = front.NewServer(front.NewHandler(server, r.health, o), log.New(io.Discard, "", 0))
	for _, f := range change {
		f(r.srv)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { _ = r.srv.Close(); wg.Wait() })
	r.addr = l.Addr().String()
	r.url = "http://" + r.addr
	return r
}

// client speaks HTTP/1.1, or h2c.
func client(t testing.TB, h2c bool) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(!h2c)
	p.SetUnencryptedHTTP2(h2c)
	tr := &http.Transport{Protocols: p, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// A raw is an h2c connection in single frames.
type raw struct {
	t    *testing.T
	conn net.Conn
	*http2.Framer
	settings map[http2.SettingID]uint32
	hpack    bytes.Buffer
	enc      *hpack.Encoder
}

// dial opens a connection; window is what it lets the server send on a stream.
func (r *running) dial(t *testing.T, window uint32) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
	c := &raw{t: t, conn: conn, Framer: http2.NewFramer(conn, conn), settings: map[http2.SettingID]uint32{}}
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.enc = hpack.NewEncoder(&c.hpack)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		t.Fatal(err)
	}
	for seen := false; !seen; {
		if f, ok := c.next().(*http2.SettingsFrame); ok && !f.IsAck() {
			_ = f.ForeachSetting(func(s http2.Setting) error { c.settings[s.ID] = s.Val; return nil })
			seen = true
		}
	}
	if err := c.WriteSettingsAck(); err != nil {
		t.Fatal(err)
	}
	return c
}

// next reads a frame, and answers pings.
func (c *raw) next() http2.Frame {
	c.t.Helper()
	for {
		f, err := c.ReadFrame()
		if err != nil {
			c.t.Fatal(err)
		}
		if p, ok := f.(*http2.PingFrame); ok && !p.IsAck() {
			_ = c.WritePing(true, p.Data)
			continue
		}
		return f
	}
}

// header is the headers of a call.
func (c *raw) header(stream uint32, procedure string, end bool, more ...string) {
	c.t.Helper()
	if err := c.tryHeader(stream, procedure, end, more...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *raw) tryHeader(stream uint32, procedure string, end bool, more ...string) error {
	c.hpack.Reset()
	fields := append([]string{":method", "POST", ":scheme", "http", ":path", procedure, ":authority", "localhost"}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.hpack.Bytes(), EndHeaders: true, EndStream: end})
}

// grpc starts a gRPC call.
func (c *raw) grpc(stream uint32, procedure string, m proto.Message) {
	c.t.Helper()
	c.header(stream, procedure, false, "content-type", "application/grpc", "te", "trailers")
	if err := c.WriteData(stream, true, envelope(m)); err != nil {
		c.t.Fatal(err)
	}
}

// envelope is a message as gRPC sends it.
func envelope(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// answer reads the frames of a stream to its end: how many headers there were,
// and what was in them.
func (c *raw) answer(stream uint32) (headers int, fields map[string]string, data []byte, reset http2.ErrCode) {
	c.t.Helper()
	fields = map[string]string{}
	for {
		f := c.next()
		if f.Header().StreamID != stream {
			continue
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			headers++
			for _, h := range f.Fields {
				fields[h.Name] = h.Value
			}
			if f.StreamEnded() {
				return headers, fields, data, 0
			}
		case *http2.DataFrame:
			data = append(data, f.Data()...)
			if f.StreamEnded() {
				return headers, fields, data, 0
			}
		case *http2.RSTStreamFrame:
			return headers, fields, data, f.ErrCode
		}
	}
}

const (
	callTool   = mcpbridgev1connect.McpServiceCallToolProcedure
	streamTool = mcpbridgev1connect.McpServiceStreamToolProcedure
)

func call(name string) *v1.CallToolRequest { return &v1.CallToolRequest{Name: name} }

// post sends a Connect call in JSON with headers.
func (r *running) post(t testing.TB, c *http.Client, procedure, body string, header ...string) (*http.Response, string) {
	t.Helper()
	return r.send(t, c, "POST", procedure, body, append([]string{"Content-Type", "application/json"}, header...)...)
}

func (r *running) send(t testing.TB, c *http.Client, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}
