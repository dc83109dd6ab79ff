//go:build unix

package stdio_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/stdio"
)

// frame makes a frame of n bytes.
func frame(n int) []byte { return append(bytes.Repeat([]byte("["), n-1), ']') }

// echo runs a server on two pipes that gives back what it gets, and a Listen that
// passes on what comes.
func echo(b *testing.B, o stdio.Options) (conn *stdio.Conn, in chan transport.Inbound) {
	conn, theirs, out := pipes(b, o)
	done, ended := make(chan struct{}), make(chan struct{})
	in = make(chan transport.Inbound, 1024)
	go func() {
		defer close(done)
		_, _ = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{theirs}, make([]byte, 1<<20))
		_ = out.Close()
	}()
	go func() {
		defer close(ended)
		_ = conn.Listen(context.Background(), func(i transport.Inbound) error { in <- i; return nil })
	}()
	b.Cleanup(func() {
		_ = conn.Close(context.Background())
		<-done
		<-ended
		_ = theirs.Close()
	})
	return conn, in
}

func BenchmarkEcho(b *testing.B) {
	for _, n := range []int{100, 10 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			conn, in := echo(b, stdio.Options{})
			f := transport.Frame{Body: frame(n), Expects: true}
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if err := conn.Send(context.Background(), f, nil); err != nil {
					b.Fatal(err)
				}
				<-in
			}
		})
	}
}

// BenchmarkEchoMany has 128 frames in flight.
func BenchmarkEchoMany(b *testing.B) {
	stats := new(transport.Stats)
	conn, in := echo(b, stdio.Options{Stats: stats})
	f := transport.Frame{Body: frame(100), Expects: true}
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := conn.Send(context.Background(), f, nil); err != nil {
				b.Error(err)
				return
			}
			<-in
		}
	})
	b.ReportMetric(float64(stats.Writes.Load())/float64(b.N), "writes/op")
}

func BenchmarkSend(b *testing.B) {
	conn, theirs, out := pipes(b, stdio.Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{theirs}, make([]byte, 64<<10))
	}()
	f := transport.Frame{Body: frame(100)}
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Send(context.Background(), f, nil); err != nil {
			b.Fatal(err)
		}
	}
	_ = conn.Close(context.Background())
	_ = out.Close()
	<-done
	_ = theirs.Close()
}

func BenchmarkLines(b *testing.B) {
	for _, n := range []int{100, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			line := append(frame(n), '\n')
			data := bytes.Repeat(line, max(1, 4<<20/len(line)))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				stdio.Lines(bytes.NewReader(data), 2<<20)
			}
		})
	}
}
