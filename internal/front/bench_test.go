package front_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/front"
)

// A sink is a writer that can do all that net/http's can, and does nothing.
type sink struct{ h http.Header }

func (s sink) Header() http.Header              { return s.h }
func (sink) Write(b []byte) (int, error)        { return len(b), nil }
func (sink) WriteHeader(int)                    {}
func (sink) FlushError() error                  { return nil }
func (sink) SetReadDeadline(t time.Time) error  { return nil }
func (sink) SetWriteDeadline(t time.Time) error { return nil }

// BenchmarkPatient is what watching over a unary request costs by itself.
func BenchmarkPatient(b *testing.B) {
	for _, major := range []int{1, 2} {
		b.Run(map[int]string{1: "HTTP1", 2: "HTTP2"}[major], func(b *testing.B) {
			h := front.Patient(time.Minute, time.Minute, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var p [512]byte
				for {
					if _, err := r.Body.Read(p[:]); err == io.EOF {
						break
					}
				}
				_, _ = w.Write(p[:])
				w.(http.Flusher).Flush()
			}))
			text := strings.NewReader("request")
			r := &http.Request{Method: "POST", ProtoMajor: major}
			w := sink{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				text.Reset("request")
				r.Body = io.NopCloser(text)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkUnary is a whole call over loopback.
func BenchmarkUnary(b *testing.B) {
	for _, h2c := range []bool{false, true} {
		b.Run(map[bool]string{false: "HTTP1", true: "h2c"}[h2c], func(b *testing.B) {
			r := serve(b, front.Options{})
			c := client(b, h2c)
			b.ReportAllocs()
			for b.Loop() {
				res, _ := r.post(b, c, callTool, `{"name":"x"}`)
				<-r.began
				if res.StatusCode != 200 {
					b.Fatal(res.Status)
				}
			}
		})
	}
}
