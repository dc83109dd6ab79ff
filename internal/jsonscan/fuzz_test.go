package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
)

// FuzzAgainstStandard compares validation, walking, unquoting, quoting and numbers with
// encoding/json.
func FuzzAgainstStandard(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,"x\u0041\n",[],{}],"b":{"b":true,"c":[false,null]}}`, `"\ud83d\ude00\ud800"`, `[1,]`, "\"\xff\"",
		`"0123456789abcdef0123456789abcdef\\é"`, `1e400`, `0.1000000000000000055`, ` [ 1 , 2 ] `, `{"a":1`, `123456789012345678901`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := json.Valid(b) && utf8.Valid(b)
		d := jsonscan.NewDecoderDepth(b, 10000)
		d.Skip()
		if err := d.End(); (err == nil) != want {
			t.Fatalf("%q: %v, encoding/json says %t", b, err, want)
		}
		d = jsonscan.NewDecoderDepth(b, 10000)
		again := walk(&d, nil)
		if err := d.End(); (err == nil) != want {
			t.Fatalf("%q: the cursor says %v, encoding/json %t", b, err, want)
		}
		if q := jsonscan.Quote(string(b)); true {
			var s string
			if err := json.Unmarshal([]byte(q), &s); err != nil || s != string(bytes.ToValidUTF8(b, []byte("\ufffd"))) && utf8.Valid(b) {
				t.Fatalf("%q quoted as %s: %v", b, q, err)
			}
		}
		if !want {
			return
		}
		var x, y any
		if json.Unmarshal(b, &x) == nil { // numbers out of range are an error there
			if err := json.Unmarshal(again, &y); err != nil {
				t.Fatalf("%q written as %q: %v", b, again, err)
			}
			bx, _ := json.Marshal(x)
			by, _ := json.Marshal(y)
			if !bytes.Equal(bx, by) {
				t.Fatalf("%q written as %q", b, again)
			}
		}
		compareScalar(t, b)
		compact := jsonscan.CompactLines(nil, b)
		if bytes.ContainsAny(compact, "\r\n") || !json.Valid(compact) {
			t.Fatalf("%q compacted to %q", b, compact)
		}
	})
}

func compareScalar(t *testing.T, b []byte) {
	d := jsonscan.NewDecoder(b)
	switch d.Peek() {
	case jsonscan.String:
		got, _ := d.ReadString()
		var want string
		if err := json.Unmarshal(b, &want); err != nil || got != want {
			t.Fatalf("%q: %q, want %q", b, got, want)
		}
	case jsonscan.Number:
		got, ok := d.ReadFloat64()
		var want float64
		if err := json.Unmarshal(b, &want); (err == nil) != ok || ok && got != want {
			t.Fatalf("%q: %v %t, want %v %v", b, got, ok, want, err)
		}
		d = jsonscan.NewDecoder(b)
		n, ok := d.ReadInt64()
		var whole int64
		if err := json.Unmarshal(b, &whole); err == nil && (!ok || n != whole) {
			t.Fatalf("%q: %d %t, want %d", b, n, ok, whole)
		}
	}
}
