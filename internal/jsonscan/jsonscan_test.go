package jsonscan_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
)

func TestValid(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct {
		in  string
		off int // of the error; -1: none
	}{
		{`{}`, -1}, {` [ ] `, -1}, {`{"a":[1,{"b":null}],"a":2}`, -1}, {"\"\u007f\u2028é\"", -1},
		{`-0.0e-00`, -1}, {`"\ud800"`, -1}, {`"\u0000"`, -1}, {"[1\n,\r\n2\t]", -1},
		{deep(1000), -1}, {deep(1001), 1000}, {strings.Repeat(`{"a":`, 1001), 5000},
		{``, 0}, {` `, 1}, {`nul`, 0}, {`truex`, 4}, {`01`, 1}, {`-`, 1}, {`1.`, 2}, {`1e+`, 3}, {`.5`, 0}, {`+1`, 0},
		{`[1,]`, 3}, {`[1 2]`, 3}, {`{"a"}`, 4}, {`{"a":}`, 5}, {`{"a":1,}`, 7}, {`{a:1}`, 1}, {`{} {}`, 3}, {`[}`, 1}, {`{]`, 1}, {`[1}`, 2},
		{`"abc`, 4}, {`"a\x"`, 2}, {`"\u12g4"`, 1}, {"\"a\tb\"", 2}, {"\"ab\xffcd\"", 3}, {"\"\xed\xa0\x80\"", 1}, {`"\`, 1}, {`[`, 1}, {`{"a":1`, 6},
		{"\xef\xbb\xbf{}", 0},
		{`"0123456789abcdef0123456789abcdef` + "\x1f" + `"`, 33},
		{`"0123456789abcdef0123456789abcdefé` + "\xc3" + `"`, 35},
	} {
		err := jsonscan.Valid([]byte(tt.in))
		if tt.off < 0 {
			if err != nil {
				t.Errorf("%.40q: %v", tt.in, err)
			}
			continue
		}
		var se *jsonscan.SyntaxError
		if !errors.As(err, &se) || se.Offset != tt.off {
			t.Errorf("%.40q: got %v, want an error at %d", tt.in, err, tt.off)
		}
	}
}

func TestDepthErrorNamesTheLimit(t *testing.T) {
	d := jsonscan.NewDecoderDepth([]byte(`[[[1]]]`), 2)
	d.Skip()
	if err := d.End(); err == nil || err.Error() != "nested deeper than 2 levels at offset 2" {
		t.Errorf("Skip: %v", err)
	}
	d = jsonscan.NewDecoderDepth([]byte(`[[[1]]]`), 2)
	for d.OpenArray() && d.NextElement() {
	}
	if err := d.Err(); err == nil || err.Error() != "nested deeper than 2 levels at offset 2" {
		t.Errorf("OpenArray: %v", err)
	}
	d = jsonscan.NewDecoderDepth([]byte(`[{"a":[]},{"a":[]},[[]]]`), 3)
	if got := string(walk(&d, nil)); got != `[{"a":[]},{"a":[]},[[]]]` || d.End() != nil {
		t.Errorf("what was left counts: %s, %v", got, d.Err())
	}
	d = jsonscan.NewDecoderDepth([]byte(`[[],[],[[]]]`), 2)
	d.OpenArray()
	for d.NextElement() {
		d.Skip()
	}
	if err := d.Err(); err == nil || err.Error() != "nested deeper than 2 levels at offset 8" {
		t.Errorf("Skip inside: %v", err)
	}
}

// walk reads a value by the cursor and writes it down again, without white space.
func walk(d *jsonscan.Decoder, out []byte) []byte {
	switch d.Peek() {
	case jsonscan.Object:
		d.OpenObject()
		out = append(out, '{')
		var m jsonscan.Member
		for n := 0; d.NextMember(&m); n++ {
			if n > 0 {
				out = append(out, ',')
			}
			out = append(jsonscan.AppendString(out, m.Name), ':')
			out = walk(d, out)
		}
		return append(out, '}')
	case jsonscan.Array:
		d.OpenArray()
		out = append(out, '[')
		for n := 0; d.NextElement(); n++ {
			if n > 0 {
				out = append(out, ',')
			}
			out = walk(d, out)
		}
		return append(out, ']')
	case jsonscan.String:
		s, _ := d.ReadString()
		return jsonscan.AppendString(out, s)
	case jsonscan.Bool:
		return fmt.Append(out, d.ReadBool())
	case jsonscan.Null:
		d.ReadNull()
		return append(out, "null"...)
	}
	return append(out, d.ReadRaw()...)
}

func TestCursor(t *testing.T) {
	in := " { \"a\" : [ 1 , -2.50e3 ,\"x\\u0041\\n\" , [ ] , { } ] ,\"\\u0061\": {\"b\":true,\"c\":[false,null]} } \n"
	d := jsonscan.NewDecoder([]byte(in))
	got := string(walk(&d, nil))
	if want := `{"a":[1,-2.50e3,"xA\n",[],{}],"a":{"b":true,"c":[false,null]}}`; got != want || d.End() != nil {
		t.Fatalf("got %s, %v\nwant %s", got, d.Err(), want)
	}
}

func TestMembersKeepTheirText(t *testing.T) {
	in := `{"a" :  1 , "b":{"c":[2]}}`
	d := jsonscan.NewDecoder([]byte(in))
	d.OpenObject()
	var m jsonscan.Member
	var got []string
	for d.NextMember(&m) {
		mark := d.Mark()
		first := string(d.ReadRaw())
		d.Rewind(mark)
		if again := string(d.ReadRaw()); again != first {
			t.Errorf("read %q, after Rewind %q", first, again)
		}
		got = append(got, string(d.Slice(m.At, d.Offset())))
	}
	if s := strings.Join(got, "|"); s != `"a" :  1|"b":{"c":[2]}` || d.End() != nil {
		t.Fatalf("%s, %v", s, d.Err())
	}
}

func TestFirstErrorStays(t *testing.T) {
	d := jsonscan.NewDecoder([]byte(`[1,"x",tru]`))
	d.OpenArray()
	n := 0
	for d.NextElement() {
		if n++; n > 10 {
			t.Fatal("the loop does not end")
		}
		d.Skip()
	}
	if err := d.End(); err == nil || err.Error() != "malformed literal at offset 7" {
		t.Fatal(err)
	}
	if s, ok := d.ReadString(); s != "" || ok || d.Peek() != jsonscan.None || d.ReadRaw() != nil || d.ReadBool() || d.OpenObject() {
		t.Fatal("something could be read after an error")
	}
	d = jsonscan.NewDecoder([]byte(`5`))
	if _, ok := d.ReadString(); ok || d.Err() == nil {
		t.Fatal("a number was read as a string")
	}
}

func TestStrings(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		exact    bool
	}{
		{`""`, "", true}, {`"abc"`, "abc", true}, {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"a\u0000b"`, "a\x00b", true}, {`"\u00e9\u20ac\ud83d\ude00x"`, "é€😀x", true},
		{`"\ud800"`, "\ufffd", false}, {`"\udc00\ud800"`, "\ufffd\ufffd", false}, {`"\ud800\ud83d\ude00"`, "\ufffd😀", false},
		{`"\ud800x\ud800\n"`, "\ufffdx\ufffd\n", false}, {`"\ud800\u0041"`, "\ufffdA", false}, {`"\ufffd"`, "\ufffd", true},
		{`"` + strings.Repeat("x", 100) + `\n` + strings.Repeat("é", 50) + `"`, strings.Repeat("x", 100) + "\n" + strings.Repeat("é", 50), true},
	} {
		d := jsonscan.NewDecoder([]byte(tt.in))
		got, exact := d.ReadString()
		if got != tt.want || exact != tt.exact || d.End() != nil {
			t.Errorf("%s: %q %t %v", tt.in, got, exact, d.Err())
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "abc": `"abc"`, "a\"b\\c\n\x01\x7f": `"a\"b\\c\n\u0001` + "\x7f\"", "é\xffé": `"é` + "\ufffd" + `é"`,
		"0123456789\t\r\b\fé": `"0123456789\t\r\b\fé"`,
	} {
		if got := jsonscan.Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		in        string
		f         float64
		exact, ok bool
		n         int64
		whole     bool
	}{
		{"0", 0, true, true, 0, true}, {"-0", math.Copysign(0, -1), true, true, 0, true}, {"1.50", 1.5, true, true, 0, false},
		{"1e3", 1000, true, true, 1000, true}, {"-12.0", -12, true, true, -12, true}, {"120e-1", 12, true, true, 12, true},
		{"9007199254740993", 9007199254740992, false, true, 9007199254740993, true},
		{"9007199254740992", 9007199254740992, true, true, 9007199254740992, true},
		{"9223372036854775807", 9223372036854775807, false, true, math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, false, true, math.MinInt64, true},
		{"9223372036854775808", 9223372036854775807, false, true, 0, false},
		{"922337203685477580.8e1", 9223372036854775807, false, true, 0, false},
		{"1e18", 1e18, true, true, 1e18, true}, {"1e19", 1e19, true, true, 0, false},
		{"0.1", 0.1, true, true, 0, false}, {"0.1000000000000000055", 0.1, false, true, 0, false}, {"0.10000000000000000000000000000000", 0.1, true, true, 0, false},
		{"1e400", math.Inf(1), false, false, 0, false}, {"1e-400", 0, false, true, 0, false}, {"1e99999999999", math.Inf(1), false, false, 0, false},
		{"0e99999999999", 0, true, true, 0, true}, {"5e-324", 5e-324, true, true, 0, false}, {"4e-324", 5e-324, false, true, 0, false},
		{"1.7976931348623157e308", math.MaxFloat64, true, true, 0, false}, {"0.1e-99999999999", 0, false, true, 0, false},
	} {
		d := jsonscan.NewDecoder([]byte(tt.in))
		f, exact, ok := d.ReadExactFloat64()
		if f != tt.f || math.Signbit(f) != math.Signbit(tt.f) || exact != tt.exact || ok != tt.ok || d.End() != nil {
			t.Errorf("%s: %v %t %t %v", tt.in, f, exact, ok, d.Err())
		}
		d = jsonscan.NewDecoder([]byte(tt.in))
		if f, ok := d.ReadFloat64(); f != tt.f || ok != tt.ok {
			t.Errorf("%s: ReadFloat64 gives %v %t", tt.in, f, ok)
		}
		d = jsonscan.NewDecoder([]byte(tt.in))
		if n, whole := d.ReadInt64(); n != tt.n || whole != tt.whole || d.End() != nil {
			t.Errorf("%s: ReadInt64 gives %d %t, %v", tt.in, n, whole, d.Err())
		}
	}
}

func TestCompactLines(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x y"}`: `x{"a":"x y"}`, "{\r\n  \"a\": [1,\n2]\r}\n": `x{  "a": [1,2]}`, "": "x", "\n": "x",
	} {
		if got := string(jsonscan.CompactLines([]byte("x"), []byte(in))); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestObjects(t *testing.T) {
	for in, want := range map[string]bool{` {}`: true, `[]`: false, ``: false, `{`: false, `{} {}`: false, `"{"`: false} {
		if err := jsonscan.ValidObject([]byte(in)); (err == nil) != want {
			t.Errorf("%q: %v", in, err)
		}
	}
	if !jsonscan.IsObject([]byte("\n{")) || jsonscan.IsObject([]byte(" 1")) || jsonscan.IsObject(nil) {
		t.Error("IsObject")
	}
}
