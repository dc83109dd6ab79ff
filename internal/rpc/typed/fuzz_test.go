package typed_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
)

// FuzzCallTool checks that whatever is valid JSON is accepted and fits a message
// that can be sent, and nothing else is.
func FuzzCallTool(f *testing.F) {
	g := gen{rand.New(rand.NewPCG(1, 2))}
	for range 20 {
		f.Add([]byte(g.toolResult().in))
	}
	f.Add([]byte(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}},"requestState":"s"}`))
	f.Add([]byte(`{"resultType":"task","taskId":"t","status":"failed","ttlMs":null,"error":{"code":1e99},"result":{}}`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		valid := json.Valid(b) && utf8.Valid(b)
		for _, d := range []typed.Decoder{legacy, modern, asVal, asRaw} {
			d.MaxDepth = 10000
			out, err := d.CallTool(b)
			if errors.Is(err, typed.ErrInvalid) == valid {
				t.Fatalf("%q: %v", b, err)
			}
			if err != nil {
				continue
			}
			for _, m := range []proto.Message{out.Tool, out.Task} {
				if _, err := proto.Marshal(m); err != nil {
					t.Fatalf("%q: %v", b, err)
				}
			}
		}
		for name, read := range readers(asVal) {
			if err := read(b); err == nil && !valid {
				t.Fatalf("%s accepts %q", name, b)
			}
		}
	})
}
