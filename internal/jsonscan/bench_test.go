package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
)

func quoted(s string) []byte { return jsonscan.AppendString(nil, s) }

func records() []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, `%s{"id":%d,"name":"record %d","ok":true,"score":%d.25,"tags":["a","bc","def"],"nested":{"x":null,"y":-1e3}}`, sep(i), i, i, i)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func sep(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func inputs() map[string][]byte {
	const line = "The quick brown fox jumps over the lazy dog. \t"
	return map[string][]byte{
		"object100B":   []byte(`{"content":[{"type":"text","text":"the weather is fine, 21 degrees, light wind from the west"}]}`),
		"text1MiB":     quoted(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1<<20/45)),
		"cyrillic1MiB": quoted(strings.Repeat("Съешь ещё этих мягких французских булок. ", 1<<20/75)),
		"cjk1MiB":      quoted(strings.Repeat("天地玄黄宇宙洪荒日月盈昃", 1<<20/36)),
		"escapes1MiB":  quoted(strings.Repeat("if x == \"y\" {\n\treturn nil\n}\n", 1<<20/28)),
		"records1MiB":  records(),
		"lines1MiB":    quoted(strings.Repeat(line+"\n", 1<<20/48)),
	}
}

func BenchmarkValid(b *testing.B) {
	for name, in := range inputs() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if err := jsonscan.Valid(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The yardstick.
func BenchmarkStandardValid(b *testing.B) {
	for name, in := range inputs() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if !json.Valid(in) {
					b.Fatal("invalid")
				}
			}
		})
	}
}

func BenchmarkReadString(b *testing.B) {
	all := inputs()
	for _, name := range []string{"text1MiB", "escapes1MiB", "lines1MiB"} {
		in := all[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				d := jsonscan.NewDecoder(in)
				if s, ok := d.ReadString(); !ok || s == "" {
					b.Fatal(d.Err())
				}
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	var dst []byte
	s := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 1<<20/45)
	b.ReportAllocs()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		dst = jsonscan.AppendString(dst[:0], s)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for name, in := range inputs() {
		if n := testing.AllocsPerRun(2, func() {
			if jsonscan.Valid(in) != nil {
				t.Fatal("invalid")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	text := inputs()["text1MiB"]
	if n := testing.AllocsPerRun(2, func() {
		d := jsonscan.NewDecoder(text)
		d.ReadString()
	}); n != 0 {
		t.Errorf("ReadString: %v allocations", n)
	}
	escapes := inputs()["escapes1MiB"]
	if n := testing.AllocsPerRun(2, func() {
		d := jsonscan.NewDecoder(escapes)
		d.ReadString()
	}); n != 1 {
		t.Errorf("ReadString with escapes: %v allocations", n)
	}
}
