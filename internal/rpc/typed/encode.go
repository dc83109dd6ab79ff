package typed

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// All errors of the functions that write JSON mean that the message which they
// were given is not as the API wants it: its sender is to be told.

var (
	errBothForms = errors.New("both the text and the value of a JSON value are set")
	errNoForm    = errors.New("neither the text nor the value of a JSON value is set")
	errNoObject  = errors.New("not a JSON object")
)

// AppendJSON appends a JSON value: exactly one of its two forms must be set. Line
// ends between tokens are dropped.
func AppendJSON(dst []byte, j *v1.Json) ([]byte, error) {
	switch {
	case j.GetText() != "" && j.GetValue() != nil:
		return dst, errBothForms
	case j.GetValue() != nil:
		return AppendValue(dst, j.GetValue())
	case j.GetText() == "":
		return dst, errNoForm
	}
	text := jsonscan.AsBytes(j.GetText())
	if err := jsonscan.Valid(text); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return jsonscan.CompactLines(dst, text), nil
}

// AppendJSONObject is AppendJSON for what must be an object.
func AppendJSONObject(dst []byte, j *v1.Json) ([]byte, error) {
	from := len(dst)
	dst, err := AppendJSON(dst, j)
	if err == nil && !jsonscan.IsObject(dst[from:]) {
		err = errNoObject
	}
	return dst, err
}

// AppendObjectText appends the text of a `…_json` field, which must be one object.
// Line ends between tokens are dropped.
func AppendObjectText(dst []byte, text string) ([]byte, error) {
	b := jsonscan.AsBytes(text)
	if err := jsonscan.ValidObject(b); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return jsonscan.CompactLines(dst, b), nil
}

// AppendStruct appends s as an object with its names in order.
func AppendStruct(dst []byte, s *structpb.Struct) ([]byte, error) {
	return appendStruct(dst, s, jsonscan.DefaultMaxDepth)
}

// AppendValue appends v.
func AppendValue(dst []byte, v *structpb.Value) ([]byte, error) {
	return appendValue(dst, v, jsonscan.DefaultMaxDepth)
}

func appendStruct(dst []byte, s *structpb.Struct, depth int) (_ []byte, err error) {
	if depth == 0 {
		return dst, fmt.Errorf("nested deeper than %d levels", jsonscan.DefaultMaxDepth)
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(s.GetFields())) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, name), ':')
		if dst, err = appendValue(dst, s.Fields[name], depth-1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, v *structpb.Value, depth int) (_ []byte, err error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return append(dst, "null"...), nil
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(dst, k.BoolValue), nil
	case *structpb.Value_NumberValue:
		return appendNumber(dst, k.NumberValue)
	case *structpb.Value_StringValue:
		return jsonscan.AppendString(dst, k.StringValue), nil
	case *structpb.Value_StructValue:
		return appendStruct(dst, k.StructValue, depth)
	case *structpb.Value_ListValue:
		if depth == 0 {
			return dst, fmt.Errorf("nested deeper than %d levels", jsonscan.DefaultMaxDepth)
		}
		dst = append(dst, '[')
		for i, item := range k.ListValue.GetValues() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, item, depth-1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
	return dst, errors.New("a google.protobuf.Value without a kind")
}

// appendNumber writes whole numbers that a double holds exactly as people write
// them, others in the shortest form that reads as the same double.
func appendNumber(dst []byte, f float64) ([]byte, error) {
	switch abs := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return dst, fmt.Errorf("%v is no JSON number", f)
	case abs < 1<<53 && f == math.Trunc(f):
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	return strconv.AppendFloat(dst, f, 'e', -1, 64), nil
}
