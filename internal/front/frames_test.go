package front_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/front"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	c := serve(t, front.Options{}).dial(t, 65535)
	if n := c.settings[http2.SettingMaxConcurrentStreams]; n != 1000 {
		t.Errorf("%d streams", n)
	}
	if n := c.settings[http2.SettingInitialWindowSize]; n != 1<<20 {
		t.Errorf("a window of %d", n)
	}
	if n := c.settings[http2.SettingMaxHeaderListSize]; n < 64<<10 || n > 128<<10 {
		t.Errorf("%d bytes of headers", n)
	}
}

func TestAFailedCallIsOneFrame(t *testing.T) {
	t.Parallel()
	c := serve(t, front.Options{}).dial(t, 65535)
	c.grpc(1, callTool, call("fail"))
	if n, f, data, _ := c.answer(1); n != 1 || f[":status"] != "200" || f["grpc-status"] != "14" || f["grpc-message"] != "not now" || f["content-type"] != "application/grpc" || len(data) != 0 {
		t.Errorf("%d frames of headers with %v, %d bytes", n, f, len(data))
	}
	c.grpc(3, streamTool, &v1.StreamToolRequest{Call: call("fail")})
	if n, f, _, _ := c.answer(3); n != 1 || f["grpc-status"] != "14" {
		t.Errorf("a stream: %d frames of headers with %v", n, f)
	}
	c.grpc(5, "/mcpbridge.v1.McpService/Nope", call("x"))
	if n, f, _, _ := c.answer(5); n != 1 || f["grpc-status"] != "12" || f["content-type"] != "application/grpc" {
		t.Errorf("an unknown method: %d frames of headers with %v", n, f)
	}
	// What has begun, or has headers of its own, keeps them apart.
	c.grpc(7, callTool, call("fine"))
	if n, f, data, _ := c.answer(7); n != 2 || f["grpc-status"] != "0" || len(data) == 0 {
		t.Errorf("a success: %d frames of headers with %v", n, f)
	}
	c.grpc(9, streamTool, &v1.StreamToolRequest{Call: call("fail late")})
	if n, f, data, _ := c.answer(9); n != 2 || f["grpc-status"] != "14" || len(data) == 0 {
		t.Errorf("a late failure: %d frames of headers with %v", n, f)
	}
	c.grpc(11, callTool, call("fail with a header"))
	if n, f, _, _ := c.answer(11); n != 2 || f["grpc-status"] != "14" || f["x-own"] != "1" {
		t.Errorf("own headers: %d frames of headers with %v", n, f)
	}
}

func TestAResetCancelsItsCall(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	c := r.dial(t, 65535)
	c.grpc(1, callTool, call("wait"))
	<-r.began
	if err := c.WriteRSTStream(1, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	<-r.ended
}

func TestManyResetsLeaveTheServerWell(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	c := r.dial(t, 65535)
	// The server may end this connection for it; others must not suffer.
	for i := range uint32(2000) {
		id := 2*i + 1
		if c.tryHeader(id, callTool, false, "content-type", "application/grpc") != nil || c.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	res, body := r.post(t, client(t, true), callTool, `{"name":"x","argumentsJson":"{}"}`)
	if res.StatusCode != 200 || !strings.Contains(body, "rawJson") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

func TestShutdownLetsACallEnd(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{})
	c := r.dial(t, 65535)
	c.grpc(1, callTool, call("hold"))
	<-r.began
	down := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		down <- r.srv.Shutdown(ctx)
	}()
	for {
		if g, ok := c.next().(*http2.GoAwayFrame); ok {
			if g.ErrCode != http2.ErrCodeNo {
				t.Errorf("%v", g)
			}
			break
		}
	}
	close(r.release)
	if _, f, data, _ := c.answer(1); f["grpc-status"] != "0" || len(data) == 0 {
		t.Errorf("the call in flight ended with %v", f)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func TestAWindowThatStaysClosed(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{SendPatience: 150 * time.Millisecond})
	for name, start := range map[string]func(c *raw){
		"a stream": func(c *raw) {
			c.grpc(1, streamTool, &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "flood", ArgumentsJson: strings.Repeat("x", 1000)}})
		},
		"a unary answer": func(c *raw) { c.grpc(1, callTool, &v1.CallToolRequest{Name: "x", ArgumentsJson: "{}"}) },
		"a unary answer by Connect": func(c *raw) { // which net/http writes when the handler has returned
			c.header(1, callTool, false, "content-type", "application/json")
			_ = c.WriteData(1, true, []byte(`{"name":"x","argumentsJson":"{}"}`))
		},
	} {
		c := r.dial(t, 0)
		start(c)
		if _, _, _, reset := c.answer(1); reset == 0 {
			t.Errorf("%s: the stream was not reset", name)
		}
	}
	if err := <-r.ended; err == nil {
		t.Error("the stream's handler did not notice")
	}
}

func TestAQuietStreamLives(t *testing.T) {
	t.Parallel()
	r := serve(t, front.Options{SendPatience: 50 * time.Millisecond, BodyPatience: 50 * time.Millisecond})
	for _, h2c := range []bool{false, true} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", r.url+streamTool, strings.NewReader(string(envelope(&v1.StreamToolRequest{Call: call("quiet")}))))
		req.Header.Set("Content-Type", "application/connect+proto")
		res, err := client(t, h2c).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := res.Body.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-r.ended:
			t.Errorf("h2c %v: the stream ended: %v", h2c, err)
		case <-time.After(300 * time.Millisecond):
		}
		_ = res.Body.Close()
		<-r.ended
	}
}
