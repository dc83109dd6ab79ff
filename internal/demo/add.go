package demo

import (
	"context"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

type addArgs struct {
	A jsontext.Value `json:"a"`
	B jsontext.Value `json:"b"`
}

func add(_ context.Context, _ *mcp.ServerRequest, in addArgs) ([]byte, error) {
	a, okA := number(in.A)
	b, okB := number(in.B)
	if !okA || !okB {
		return failed("a and b must be numbers of at most %d digits.", maxDigits)
	}
	sum := new(big.Rat).Add(a, b)
	digits, _ := sum.FloatPrec() // exact: what JSON can write has an end in decimals
	return structured(struct {
		Sum jsontext.Value `json:"sum"`
	}{jsontext.Value(sum.FloatString(digits))})
}

// maxDigits bounds the work, exponents included.
const maxDigits = 1000

// number reads a JSON number exactly.
func number(v jsontext.Value) (*big.Rat, bool) {
	if len(v) == 0 || v.Kind() != '0' || len(v) > maxDigits {
		return nil, false
	}
	text := string(v)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || exponent > maxDigits || exponent < -maxDigits {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}
