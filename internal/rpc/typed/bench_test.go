package typed_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
)

func textResult(text string) []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonscan.Quote(text))
}

func toolList(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool %d","description":"Does what tool %d does, and nothing else. Give it a path.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where"},"depth":{"type":"integer","minimum":0}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i, i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func toolResults() map[string][]byte {
	const plain, code = "The quick brown fox jumps over the lazy dog. ", "if x == \"y\" {\n\treturn nil\n}\n"
	return map[string][]byte{
		"100B":        textResult(strings.Repeat("x", 64)),
		"10KB":        textResult(strings.Repeat(plain, 228)),
		"1MiB":        textResult(strings.Repeat(plain, 1<<20/45)),
		"1MiBescapes": textResult(strings.Repeat(code, 1<<20/28)),
	}
}

func BenchmarkCallTool(b *testing.B) {
	for name, in := range toolResults() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if out, err := legacy.CallTool(in); err != nil || out.Tool == nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListTools(b *testing.B) {
	in := toolList(100)
	for name, d := range map[string]typed.Decoder{"typed": {}, "struct": {Format: v1.ResultFormat_RESULT_FORMAT_STRUCT}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if page, err := d.ListTools(in); err != nil || len(page.Tools) != 100 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendObjectText(b *testing.B) {
	in := `{"path":"/srv/data/report.txt","depth":3}`
	dst := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := typed.AppendObjectText(dst, in); err != nil {
			b.Fatal(err)
		}
	}
}

// The hot path's share of what a call may allocate.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	for name, want := range map[string]float64{"100B": 6, "10KB": 6, "1MiB": 6, "1MiBescapes": 7} {
		in := toolResults()[name]
		if n := testing.AllocsPerRun(20, func() {
			if _, err := legacy.CallTool(in); err != nil {
				t.Fatal(err)
			}
		}); n > want {
			t.Errorf("%s: %v allocations, at most %v allowed", name, n, want)
		}
	}
}
