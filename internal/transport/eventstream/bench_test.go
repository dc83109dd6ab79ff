package eventstream_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
)

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{100, 10 << 10, 1 << 20, 16 << 20} {
		wire, err := eventstream.Append(nil, message(string(bytes.Repeat([]byte("x"), size))))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) { read(b, wire, func(r io.Reader) io.Reader { return r }) })
		if size <= 1<<20 {
			b.Run(fmt.Sprint(size, "/bytewise"), func(b *testing.B) { read(b, wire, iotest.OneByteReader) })
		}
	}
}

func read(b *testing.B, wire []byte, as func(io.Reader) io.Reader) {
	b.ReportAllocs()
	b.SetBytes(int64(len(wire)))
	src := bytes.NewReader(nil)
	var rd eventstream.Reader
	for b.Loop() {
		src.Reset(wire)
		rd.Reset(as(src), noLimit)
		if _, err := rd.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	w := eventstream.NewWriter(io.Discard)
	ev := message(string(bytes.Repeat([]byte("x"), 10<<10)))
	b.ReportAllocs()
	b.SetBytes(int64(len(ev.Data)))
	for b.Loop() {
		if err := w.Write(ev); err != nil {
			b.Fatal(err)
		}
	}
}
