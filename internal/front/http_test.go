package front_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/front"
)

// tcp opens a connection and sends text.
func (r *running) tcp(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestOnePortSpeaksBoth(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	for h2c, major := range map[bool]int{false: 1, true: 2} {
		res, body := r.post(t, client(t, h2c), callTool, `{"name":"x","argumentsJson":"{}"}`)
		if res.StatusCode != 200 || res.ProtoMajor != major || body != `{"rawJson":"{}"}` {
			t.Errorf("%s %s %s", res.Proto, res.Status, body)
		}
	}
}

func TestSlowHeadersAreCut(t *testing.T) {
	t.Parallel()
	if d := front.NewServer(nil, nil).ReadHeaderTimeout; d != 5*time.Second {
		t.Errorf("%v by default", d)
	}
	r := serve(t, front.Options{}, func(s *http.Server) { s.ReadHeaderTimeout = 100 * time.Millisecond })
	for _, begin := range []string{"", "POST " + callTool + " HTTP/1.1\r\nHost: x\r\nContent-", "PRI * HTTP/2.0\r\n\r\nS"} {
		if _, err := io.ReadAll(r.tcp(t, begin)); err != nil {
			t.Errorf("after %q: %v", begin, err)
		}
	}
}

func TestSlowBodiesAreCut(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{BodyPatience: 100 * time.Millisecond, Loopback: true})
	for name, path := range map[string]string{"a call": callTool, "an unknown method": "/x/y"} {
		conn := r.tcp(t, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if res.StatusCode == 200 {
			t.Errorf("%s: %s", name, res.Status)
		}
		if _, err := io.ReadAll(conn); err != nil { // it is closed
			t.Errorf("%s: %v", name, err)
		}
	}
	// Who is refused must not be able to hold a connection with his body either.
	conn := r.tcp(t, "POST "+callTool+" HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if b, err := io.ReadAll(conn); err != nil || !bytes.Contains(b, []byte("403")) {
		t.Errorf("%q %v", b, err)
	}
	c := r.dial(t, 65535)
	c.header(1, callTool, false, "content-type", "application/json")
	if _, f, _, _ := c.answer(1); f[":status"] == "200" {
		t.Errorf("over h2c: %v", f)
	}
}

// The deadline that one request leaves must not be the next one's.
func TestDeadlinesEndWithTheirRequest(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{SendPatience: 100 * time.Millisecond, BodyPatience: 100 * time.Millisecond})
	c := client(t, false)
	for range 3 {
		if res, _ := r.post(t, c, callTool, `{"name":"x"}`); res.StatusCode != 200 {
			t.Error(res.Status)
		}
		<-time.After(200 * time.Millisecond)
	}
	for len(r.began) > 0 {
		<-r.began
	}
	done := make(chan string, 1)
	go func() {
		_, body := r.send(t, c, "POST", streamTool, string(envelope(&v1.StreamToolRequest{Call: call("hold")})), "Content-Type", "application/connect+proto")
		done <- body
	}()
	<-r.began
	<-time.After(300 * time.Millisecond)
	close(r.release)
	if body := <-done; !strings.HasSuffix(body, "{}") { // the end of a stream that went well
		t.Errorf("%q", body)
	}
}

func TestOversizedRequests(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{MaxRequestBytes: 1000})
	big := strings.Repeat("x", 2000)
	for _, h2c := range []bool{false, true} {
		res, body := r.post(t, client(t, h2c), callTool, `{"name":"`+big+`"}`)
		if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "resource_exhausted") {
			t.Errorf("h2c %v: %s %s", h2c, res.Status, body)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`))
	_ = z.Close()
	if packed.Len() > 2000 {
		t.Fatal(packed.Len())
	}
	if res, body := r.post(t, client(t, false), callTool, packed.String(), "Content-Encoding", "gzip"); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("compressed: %s %s", res.Status, body)
	}
	if res, body := r.post(t, client(t, false), "/grpc.health.v1.Health/Check", `{"service":"`+strings.Repeat("x", 1<<20)+`"}`); res.StatusCode == 200 || res.StatusCode == 404 {
		t.Errorf("health: %s %.100s", res.Status, body)
	}
	if res, _ := r.send(t, client(t, false), "GET", "/livez", "", "X-Big", strings.Repeat("x", 100<<10)); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(res.Status)
	}
	if res, err := client(t, true).Do(must(http.NewRequest("GET", r.url+"/livez?"+strings.Repeat("x", 100<<10), nil))); err == nil && res.StatusCode == 200 {
		t.Error(res.Status)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestProbesAndUnknownPaths(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	r := serve(t, front.Options{Ready: ready.Load})
	c := client(t, false)
	get := func(path string) string {
		res, body := r.send(t, c, "GET", path, "")
		return fmt.Sprint(res.StatusCode, " ", body)
	}
	if s := get("/livez"); s != "200 ok\n" {
		t.Error(s)
	}
	if s := get("/readyz"); s != "503 not ready\n" {
		t.Error(s)
	}
	ready.Store(true)
	if s := get("/readyz"); s != "200 ok\n" {
		t.Error(s)
	}
	if s := get("/"); !strings.HasPrefix(s, "404 ") || !strings.Contains(s, "mcpbridge.v1.McpService") {
		t.Error(s)
	}
	for _, path := range []string{"/no.such.Service/Method", "/mcpbridge.v1.McpService/Nope"} {
		if res, body := r.post(t, c, path, "{}"); res.StatusCode != http.StatusNotImplemented || !strings.Contains(body, `"unimplemented"`) {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
		res, _ := r.send(t, client(t, true), "POST", path, "\x00\x00\x00\x00\x00", "Content-Type", "application/grpc-web+proto")
		if res.StatusCode != 200 || res.Header.Get("Grpc-Status") != "12" {
			t.Errorf("%s: %s %v", path, res.Status, res.Header)
		}
	}
	if res, _ := r.send(t, c, "POST", callTool, "{}", "Content-Type", "text/plain"); res.StatusCode != http.StatusUnsupportedMediaType {
		t.Error(res.Status)
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		auto bool
		size int
		want string
	}{{false, 100 << 10, ""}, {true, 1 << 10, ""}, {true, 100 << 10, "gzip"}} {
		r := serve(t, front.Options{Compress: c.auto})
		res, body := r.post(t, client(t, true), callTool, `{"name":"x","argumentsJson":"`+strings.Repeat("x", c.size)+`"}`, "Accept-Encoding", "gzip")
		if got := res.Header.Get("Content-Encoding"); got != c.want || res.StatusCode != 200 {
			t.Errorf("auto %v, %d bytes: encoding %q, want %q (%s)", c.auto, c.size, got, c.want, res.Status)
		}
		if c.want != "" && len(body) > c.size/10 {
			t.Errorf("%d bytes of %d", len(body), c.size)
		}
	}
}

// A large answer may take longer than the patience for one write, as long as it
// moves.
func TestASlowReaderThatMoves(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{SendPatience: 500 * time.Millisecond})
	c := r.dial(t, 0)
	c.header(1, callTool, false, "content-type", "application/json")
	_ = c.WriteData(1, true, []byte(`{"name":"big"}`))
	const step = 256 << 10
	_ = c.WriteWindowUpdate(0, bigBytes)
	_ = c.WriteWindowUpdate(1, step)
	began, got := time.Now(), 0
	for ended := false; !ended; {
		switch f := c.next().(type) {
		case *http2.DataFrame:
			before := got / step
			got += len(f.Data())
			if ended = f.StreamEnded(); !ended && got/step > before {
				<-time.After(100 * time.Millisecond)
				_ = c.WriteWindowUpdate(1, step)
			}
		case *http2.RSTStreamFrame:
			t.Fatalf("reset after %d bytes: %v", got, f.ErrCode)
		}
	}
	if d := time.Since(began); got < bigBytes || d < time.Second {
		t.Errorf("%d bytes in %v", got, d)
	}
}
