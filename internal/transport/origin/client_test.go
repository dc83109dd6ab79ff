package origin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func TestConfiguredHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got <- r })
	c := client(t, origin.Options{
		URL:       strings.Replace(s.URL, "://", "://user:pa%20ss@", 1) + "/mcp#top",
		UserAgent: "test/1",
		Header: http.Header{
			"x-tenant": {"a", "b"}, "HOST": {"elsewhere.example"},
			"Content-Type": {"text/x"}, "accept": {"*/*"}, "Mcp-Session-Id": {"s"}, "Mcp-Param-Region": {"eu"}, "Connection": {"close"},
		},
	})
	if _, err := post(t, c, "{}"); err != nil {
		t.Fatal(err)
	}
	r := <-got
	user, password, _ := r.BasicAuth()
	if user != "user" || password != "pa ss" {
		t.Errorf("user %q, password %q", user, password)
	}
	if c.URL().User != nil || c.URL().Fragment != "" || r.Host != "elsewhere.example" || r.UserAgent() != "test/1" {
		t.Errorf("URL %s, Host %s, User-Agent %s", c.URL(), r.Host, r.UserAgent())
	}
	if v := r.Header.Values("X-Tenant"); len(v) != 2 {
		t.Errorf("X-Tenant: %q", v)
	}
	for _, name := range []string{"Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Param-Region", "Connection"} {
		if v := r.Header.Get(name); v != "" {
			t.Errorf("%s: %s came through", name, v)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]origin.Options{
		"no scheme":     {URL: "example.com/mcp"},
		"other scheme":  {URL: "ftp://example.com/mcp"},
		"no host":       {URL: "http:///mcp"},
		"no URL":        {URL: "http://[::1"},
		"header name":   {URL: "http://a", Header: http.Header{"a b": {"c"}}},
		"header value":  {URL: "http://a", Header: http.Header{"Authorization": {"secret\nX: y"}}},
		"user agent":    {URL: "http://a", UserAgent: "a\r\nb"},
		"password seen": {URL: "ftp://user:secret@a"},
	} {
		_, err := origin.New(o)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wörd ", 300)
	for name, c := range map[string]struct {
		status     int
		typ, body  string
		text, kind string
	}{
		"plain":       {400, "text/plain; charset=utf-8", "No valid\n session\tID\n", "Bad Request: No valid session ID", "text/plain"},
		"no type":     {503, "", "busy", "Service Unavailable: busy", ""},
		"repeats":     {404, "text/plain", "not found\n", "Not Found", "text/plain"},
		"HTML":        {502, "Text/HTML", "<html>nginx</html>", "Bad Gateway", "text/html"},
		"JSON":        {400, "application/json", `{"error":1}`, "Bad Request", "application/json"},
		"JSON hidden": {400, "text/plain", `{"error":1}`, "Bad Request", "text/plain"},
		"binary":      {500, "text/plain", "\xff\xfe\x00", "Internal Server Error", "text/plain"},
		"controls":    {500, "text/plain", "a\x1b[31mb\x00c", "Internal Server Error: a [31mb c", "text/plain"},
		"long":        {429, "text/plain", long, "Too Many Requests: " + strings.TrimSpace(long[:509]), "text/plain"},
		"empty":       {401, "text/plain", "", "Unauthorized", "text/plain"},
		"strange":     {599, "text/plain", "", "status code 599", "text/plain"},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Content-Type"] = nil
			if c.typ != "" {
				h.Set("Content-Type", c.typ)
			}
			h.Set("Retry-After", "7")
			h["Www-Authenticate"] = []string{"Bearer a", "Basic b"}
			h.Set("mcp-auth-server", "https://auth.example")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		cl := client(t, origin.Options{URL: s.URL})
		x, _ := cl.Begin(t.Context())
		if _, err := x.Do("POST", cl.URL(), cl.Header(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		e := x.Refusal()
		x.End()
		if e.Status != c.status || e.Type != c.kind || string(e.Body) != c.body || e.RetryAfter != 7*time.Second ||
			e.WWWAuthenticate != "Bearer a, Basic b" || e.MCPAuthServer != "https://auth.example" {
			t.Errorf("%s: %+v", name, e)
		}
		if strings.TrimSuffix(e.Text, "…") != c.text && !(name == "long" && strings.HasPrefix(e.Text, c.text[:500]) && len(e.Text) < 600) {
			t.Errorf("%s: text %q, want %q", name, e.Text, c.text)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-3": 0, "soon": 0, "1.5": 0, "99999999999999999999": 1 << 31 * time.Second,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0,
	} {
		if got := origin.RetryAfter(v); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := origin.RetryAfter(at); got < 59*time.Minute || got > time.Hour {
		t.Errorf("%s: %v", at, got)
	}
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 511, 512, 513, 1<<20 - 1, 1 << 20, 5<<20 + 3} {
		for _, chunked := range []bool{false, true} {
			body := bytes.Repeat([]byte("x"), size)
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if chunked {
					w.(http.Flusher).Flush()
				} else {
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				_, _ = w.Write(body)
			})
			c := client(t, origin.Options{URL: s.URL})
			for _, limit := range []int64{int64(size), int64(size) - 1} {
				x, _ := c.Begin(t.Context())
				if _, err := x.Do("POST", c.URL(), c.Header(), []byte("{}")); err != nil {
					t.Fatal(err)
				}
				got, err := x.ReadAll(limit)
				x.End()
				big, isBig := errors.AsType[*transport.TooLargeError](err)
				switch {
				case limit >= int64(size):
					if err != nil || !bytes.Equal(got, body) {
						t.Errorf("%d bytes, chunked %t: %d, %v", size, chunked, len(got), err)
					}
				case !isBig || !big.Inbound || big.Limit != limit || !chunked && big.Size != int64(size):
					t.Errorf("%d bytes, chunked %t, limit %d: %v", size, chunked, limit, err)
				}
			}
		}
	}
}

func TestBodyCutShort(t *testing.T) {
	t.Parallel()
	s := raw(t, func(_ *rawServer, c net.Conn) {
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 64000000\r\n\r\n{")
	})
	_, err := post(t, client(t, origin.Options{URL: s.url()}), "{}")
	if _, ok := errors.AsType[*transport.TooLargeError](err); !ok {
		t.Fatalf("got %v", err)
	}
	c := client(t, origin.Options{URL: s.url()})
	x, _ := c.Begin(t.Context())
	defer x.End()
	if _, err := x.Do("POST", c.URL(), c.Header(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	_, err = x.ReadAll(1 << 30)
	if _, ok := errors.AsType[*transport.LostError](err); !ok || errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v", err)
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]int{"timeout=5": 5, "max=100, Timeout = 65": 65, "timeout=0": 0, "max=3": -1, "timeout=x": -1, "": -1, "timeout=-1": -1} {
		got, ok := origin.KeepAlive(v)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", v, got, want)
		}
	}
}

// The server keeps idle connections for one second, so ours go before that.
func TestIdleConnectionsGoBeforeTheServerClosesThem(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 2)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Keep-Alive", "timeout=1")
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateClosed {
			closed <- struct{}{}
		}
	}
	s.Start()
	defer s.Close()
	c := client(t, origin.Options{URL: s.URL})
	for range 2 { // the first answer tells, the second connection heeds
		if _, err := post(t, c, "{}"); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for range 2 {
		<-closed
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("closed after %v", d)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	transporttest.Leak(t)
	arrived := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	c := client(t, origin.Options{URL: s.URL})
	ended := make(chan error)
	for range 3 {
		go func() {
			_, err := post(t, c, "{}")
			ended <- err
		}()
		<-arrived
	}
	x, err := c.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-arrived }()
	if _, err := x.Do("POST", c.URL(), c.Header(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	x.Drain()
	c.Close()
	c.Close()
	for range 3 {
		if err := <-ended; err != transport.ErrClosed {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	if _, err := c.Begin(context.Background()); !errors.Is(err, transport.ErrClosed) || !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("got %v", err)
	}
}
