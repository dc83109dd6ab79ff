package typed

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// maxValueDepth is how deep a google.protobuf.Value may nest: parsers of several
// languages give up a little deeper.
const maxValueDepth = 32

// newJSON gives valid JSON text in the form that was asked for.
func (r *reader) newJSON(text []byte) *v1.Json {
	if text == nil { // after an error
		return nil
	}
	if r.opt.Format != v1.ResultFormat_RESULT_FORMAT_STRUCT {
		return &v1.Json{Text: jsonscan.AsString(text)}
	}
	d := jsonscan.NewDecoderDepth(text, maxValueDepth)
	b := builder{Decoder: &d, exact: true}
	v := b.value()
	if d.End() != nil || b.impossible {
		return &v1.Json{Text: jsonscan.AsString(text)}
	}
	j := &v1.Json{Value: v}
	if !b.exact {
		j.Text = jsonscan.AsString(text)
	}
	return j
}

// builder makes a Value of JSON text.
type builder struct {
	*jsonscan.Decoder
	exact      bool // the Value stands for the same as the text
	impossible bool // no Value does
}

func (b *builder) value() *structpb.Value {
	switch b.Peek() {
	case jsonscan.Object:
		return structpb.NewStructValue(b.object())
	case jsonscan.Array:
		l := &structpb.ListValue{}
		b.OpenArray()
		for b.NextElement() {
			l.Values = append(l.Values, b.value())
		}
		return structpb.NewListValue(l)
	case jsonscan.String:
		s, exact := b.ReadString()
		b.exact = b.exact && exact
		return structpb.NewStringValue(s)
	case jsonscan.Number:
		f, exact, ok := b.ReadExactFloat64()
		b.exact = b.exact && exact
		b.impossible = b.impossible || !ok
		return structpb.NewNumberValue(f)
	case jsonscan.Bool:
		return structpb.NewBoolValue(b.ReadBool())
	}
	b.ReadNull()
	return structpb.NewNullValue()
}

func (b *builder) object() *structpb.Struct {
	fields := map[string]*structpb.Value{}
	b.OpenObject()
	var m jsonscan.Member
	for b.NextMember(&m) {
		if _, twice := fields[m.Name]; twice {
			b.impossible = true
		}
		fields[m.Name] = b.value()
	}
	return &structpb.Struct{Fields: fields}
}
