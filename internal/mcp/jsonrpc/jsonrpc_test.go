package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

func TestParse(t *testing.T) {
	id := func(raw string) jsonrpc.ID { return jsonrpc.RawID([]byte(raw)) }
	tests := []struct {
		name, in string
		want     jsonrpc.Message
		err      error
	}{
		{"call", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, &jsonrpc.Call{ID: id("7"), Method: "ping"}, nil},
		{"string id, escapes in the method", `{"id":"a\"b","method":"p\u0069ng","params":{"x":1}}`,
			&jsonrpc.Call{ID: id(`"a\"b"`), Method: "ping", Params: []byte(`{"x":1}`)}, nil},
		{"notification", `{"method":"n","params":null}`, &jsonrpc.Notification{Method: "n"}, nil},
		{"id null is a notification", `{"id":null,"method":"n"}`, &jsonrpc.Notification{Method: "n"}, nil},
		{"odd params are kept", `{"method":"n","params":[1]}`, &jsonrpc.Notification{Method: "n", Params: []byte(`[1]`)}, nil},
		{"result", ` { "id" : 1e0 , "result" : {"b":1,"a":2} } `, &jsonrpc.Response{ID: id("1e0"), Result: []byte(`{"b":1,"a":2}`)}, nil},
		{"error null beside a result", `{"id":1,"result":{},"error":null}`, &jsonrpc.Response{ID: id("1"), Result: []byte(`{}`)}, nil},
		{"result null beside an error", `{"id":1,"result":null,"error":{"code":-1,"message":"m"}}`,
			&jsonrpc.Response{ID: id("1"), Error: &jsonrpc.Error{Code: -1, Message: "m"}}, nil},
		{"result null alone", `{"id":1,"result":null}`, &jsonrpc.Response{ID: id("1"), Result: []byte(`null`)}, nil},
		{"error without id", `{"error":{"code":-32700,"message":"no","data":[1.0]}}`,
			&jsonrpc.Response{Error: &jsonrpc.Error{Code: -32700, Message: "no", Data: []byte(`[1.0]`)}}, nil},
		{"an error of another shape is still one", `{"id":1,"error":"broken"}`,
			&jsonrpc.Response{ID: id("1"), Error: &jsonrpc.Error{Message: `"broken"`}}, nil},
		{"code as a float", `{"id":1,"error":{"code":-32601.0,"message":5}}`,
			&jsonrpc.Response{ID: id("1"), Error: &jsonrpc.Error{Code: -32601, Message: "5"}}, nil},
		{"duplicate names: the last counts", `{"id":1,"id":2,"result":1}`, &jsonrpc.Response{ID: id("2"), Result: []byte(`1`)}, nil},
		{"nothing", `{"jsonrpc":"2.0"}`, nil, jsonrpc.ErrNotMessage},
		{"scalar", `17`, nil, jsonrpc.ErrNotMessage},
		{"id object", `{"id":{},"method":"x"}`, nil, jsonrpc.ErrNotMessage},
		{"method number", `{"id":1,"method":2}`, nil, jsonrpc.ErrNotMessage},
		{"text", `Starting server...`, nil, jsonrpc.ErrInvalidJSON},
		{"cut", `{"id":1,"result":{`, nil, jsonrpc.ErrInvalidJSON},
		{"two", `{"id":1,"result":1}{}`, nil, jsonrpc.ErrInvalidJSON},
		{"empty", ``, nil, jsonrpc.ErrInvalidJSON},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonrpc.Parse([]byte(tt.in))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b jsonrpc.ID) bool { return a == b })); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestIDInt(t *testing.T) {
	for raw, want := range map[string]int64{"7": 7, `"7"`: 7, "7.0": 7, "70e-1": 7, "-3": -3} {
		if n, ok := jsonrpc.RawID([]byte(raw)).Int(); !ok || n != want {
			t.Errorf("%s reads as %d, %t", raw, n, ok)
		}
	}
	for _, raw := range []string{`"x"`, "7.5", "null", `""`, "1e300", `"0x7"`} {
		if n, ok := jsonrpc.RawID([]byte(raw)).Int(); ok {
			t.Errorf("%s reads as %d", raw, n)
		}
	}
	if jsonrpc.IntID(1) == jsonrpc.StringID("1") {
		t.Error(`1 and "1" are the same id`)
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		in      string
		id      int64
		payload string
		isError bool
		ok      bool
	}{
		{`{"jsonrpc":"2.0","id":12,"result":{"a":1}}`, 12, `{"a":1}`, false, true},
		{`{"jsonrpc":"2.0","id":12,"error":{"code":1}}` + "\r", 12, `{"code":1}`, true, true},
		{`{"result":{"a":1},"jsonrpc":"2.0","id":9}`, 9, `{"a":1}`, false, true},
		{`{"error":{"code":1},"id":9}`, 9, `{"code":1}`, true, true},
		{`{"jsonrpc":"2.0","id":"12","result":{}}`, 0, "", false, false},
		{`{"method":"ping","jsonrpc":"2.0","id":9}`, 0, "", false, false},
		{`{"jsonrpc":"2.0","id":9,"method":"ping"}`, 0, "", false, false},
		{`{"result":"x","id":1.5}`, 0, "", false, false},
		{`{"jsonrpc":"2.0","id":012,"result":{}}`, 0, "", false, false},
		{`{"jsonrpc":"2.0","id":1234567890123456789,"result":{}}`, 0, "", false, false},
		{`{"result":",\"id\":7}`, 0, "", false, false},
		{``, 0, "", false, false},
	}
	for _, tt := range tests {
		id, payload, isError, ok := jsonrpc.Split([]byte(tt.in))
		if id != tt.id || string(payload) != tt.payload || isError != tt.isError || ok != tt.ok {
			t.Errorf("%s: %d %q %t %t", tt.in, id, payload, isError, ok)
		}
	}
}

func TestGuessID(t *testing.T) {
	for _, tt := range []struct {
		begin, end string
		id         int64
		ok         bool
	}{
		{`{"jsonrpc":"2.0","id":4,"result":{"te`, ``, 4, true},
		{`{"result":{"te`, `xt"},"jsonrpc":"2.0","id":5}`, 5, true},
		{`{"method":"x"`, `,"id":5}`, 0, false},
		{`npm warn`, `,"id":5}`, 0, false},
	} {
		if id, ok := jsonrpc.GuessID([]byte(tt.begin), []byte(tt.end)); id != tt.id || ok != tt.ok {
			t.Errorf("%s … %s: %d %t", tt.begin, tt.end, id, ok)
		}
	}
}

func TestBatch(t *testing.T) {
	got, ok, err := jsonrpc.ParseBatch([]byte(` [{"id":1,"result":{}}, {"method":"n"}]`))
	if err != nil || !ok || len(got) != 2 || string(got[1]) != `{"method":"n"}` {
		t.Fatalf("%q %t %v", got, ok, err)
	}
	if _, ok, _ := jsonrpc.ParseBatch([]byte(`{}`)); ok {
		t.Fatal("an object is no batch")
	}
	if _, ok, err := jsonrpc.ParseBatch([]byte(`[{}`)); !ok || err == nil {
		t.Fatal("a cut batch was accepted")
	}
}

// FuzzParse checks the codec against encoding/json, and Split against Parse.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[1,2,{"b":null}]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\u00e9\n"}]}}`,
		`{"result":{"x":",\"id\":3"},"jsonrpc":"2.0","id":3}`,
		`{"error":{"code":-32602,"message":"m","data":{}},"jsonrpc":"2.0","id":3}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, `[]`, `{}`, `nul`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := jsonrpc.Parse(b)
		if err == nil && !json.Valid(b) {
			t.Fatalf("accepted invalid JSON %q", b)
		}
		if id, payload, isError, ok := jsonrpc.Split(b); ok && err == nil && json.Valid(payload) && bytes.Count(b, []byte(`"id"`)) == 1 {
			// Where the payload is one value, Split and Parse must agree.
			r, isResponse := m.(*jsonrpc.Response)
			if !isResponse {
				if c, isCall := m.(*jsonrpc.Call); !isCall || c.Method == "" {
					t.Fatalf("Split took %q for a response, Parse for %T", b, m)
				}
				return
			}
			if n, ok := r.ID.Int(); !ok || n != id {
				t.Fatalf("Split reads id %d of %q, Parse %v", id, b, r.ID)
			}
			if !isError && r.Error == nil && !bytes.Equal(bytes.TrimSpace(payload), r.Result) {
				t.Fatalf("payload %q, result %q", payload, r.Result)
			}
		}
		if err != nil {
			return
		}
		out := jsonrpc.Append(nil, m)
		again, err := jsonrpc.Parse(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", b, out, err)
		}
		if second := jsonrpc.Append(nil, again); !bytes.Equal(out, second) {
			t.Fatalf("%q then %q", out, second)
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	frame := []byte(`{"result":{"content":[{"type":"text","text":"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"}]},"jsonrpc":"2.0","id":7}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, ok := jsonrpc.Split(frame); !ok {
			b.Fatal("not split")
		}
	}
}
