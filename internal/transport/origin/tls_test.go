package origin_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/origin"
)

// Over TLS the proof of "not sent" has to look below the encryption, and HTTP/2,
// where connections are shared, has none.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	for _, major := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", major), func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int32
			arrived := make(chan struct{}, 1)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				switch string(b) {
				case "lose me":
					lost.Add(1)
					panic(http.ErrAbortHandler)
				case "wait":
					arrived <- struct{}{}
					<-r.Context().Done()
				default:
					fmt.Fprint(w, r.ProtoMajor, " ", string(b))
				}
			}))
			s.EnableHTTP2 = major == 2
			s.StartTLS()
			t.Cleanup(s.Close)
			c := client(t, origin.Options{URL: s.URL, Header: http.Header{"Idempotency-Key": {"1"}}})
			origin.Trust(c, &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
			for i := range 3 {
				if got, err := post(t, c, "hello"); err != nil || got != fmt.Sprint(major, " hello") {
					t.Fatalf("%q, %v", got, err)
				}
				_, err := post(t, c, "lose me")
				if _, ok := errors.AsType[*transport.LostError](err); !ok || errors.Is(err, transport.ErrNotSent) || lost.Load() != int32(i+1) {
					t.Fatalf("%v after %d requests", err, lost.Load())
				}
			}
			weary := errors.New("weary")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-arrived; cancel(weary) }()
			x, err := c.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer x.End()
			if _, err := x.Do(http.MethodPost, c.URL(), c.Header(), []byte("wait")); err != weary {
				t.Errorf("got %v, want the cause and no ErrNotSent", err)
			}
		})
	}
}
