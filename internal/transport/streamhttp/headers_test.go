package streamhttp_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	c := conn(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		_, _ = io.WriteString(w, answer)
	}, func(o *streamhttp.Options) {
		o.Header = http.Header{"Authorization": {"Bearer x"}, "Traceparent": {"ours"}}
	})
	f := call(transport.LinkNone)
	f.Labels = transport.Labels{
		Version: "2026-07-28", Method: "tools/call", Name: "grüße", HasName: true,
		Params: []transport.Label{{Name: "region", Value: "eu west"}, {Name: "Empty"}},
		Trace: []transport.Label{
			{Name: "tracestate", Value: "a=b"}, {Name: "traceparent", Value: "theirs"},
			{Name: "authorization", Value: "Bearer y"}, {Name: "baggage", Value: "a\nb"}, {Name: "a b", Value: "c"},
		},
	}
	if _, err := ask(t, c, f); err != nil {
		t.Fatal(err)
	}
	h := <-got
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer x",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDvMOfZQ==?=",
		"Mcp-Param-Region": "eu west", "Tracestate": "a=b", "Traceparent": "ours",
	} {
		if v := h.Values(name); len(v) != 1 || v[0] != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if v, ok := h["Mcp-Param-Empty"]; !ok || v[0] != "" {
		t.Errorf("an empty argument: %q, %t", v, ok)
	}
	for _, name := range []string{"Baggage", "Mcp-Session-Id", "A b"} {
		if _, ok := h[name]; ok {
			t.Errorf("%s is there", name)
		}
	}
	if _, err := ask(t, c, call(transport.LinkNone)); err != nil {
		t.Fatal(err)
	}
	h = <-got
	for name := range h {
		if strings.HasPrefix(name, "Mcp-") || name == "Tracestate" {
			t.Errorf("without labels: %s", name)
		}
	}
}

func TestLabelsThatFitIntoNoHeader(t *testing.T) {
	t.Parallel()
	c := conn(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	for _, l := range []transport.Labels{
		{Version: "1\n2"}, {Method: "a\r\nb: c"}, {Params: []transport.Label{{Name: "a b"}}}, {Params: []transport.Label{{Name: "a:"}}},
	} {
		f := call(transport.LinkNone)
		f.Labels = l
		if _, err := ask(t, c, f); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]string{
		"":                    "",
		"us-west1":            "us-west1",
		"two words":           "two words",
		"Hello, 世界":           "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":            "=?base64?IHBhZGRlZCA=?=",
		"padded ":             "=?base64?cGFkZGVkIA==?=",
		"line1\nline2":        "=?base64?bGluZTEKbGluZTI=?=",
		"a\tb":                "=?base64?YQli?=",
		"=?base64?literal?=":  "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?=":          "=?base64?PT9iYXNlNjQ/PQ==?=",
		"=?base64?open":       "=?base64?open",
		"=?BASE64?literal?=":  "=?BASE64?literal?=",
		"\x7f":                "=?base64?fw==?=",
		"file:///a%20b?c=d#e": "file:///a%20b?c=d#e",
	} {
		if got := streamhttp.Encode(v); got != want {
			t.Errorf("%q: %s, want %s", v, got, want)
		}
	}
}

// Whatever a value is, a server that decodes as the specification says gets it.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "a", " a", "a\tb", "=?base64??=", "=?base64?YQ==?=", "é", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		wire := streamhttp.Encode(v)
		got := strings.Trim(wire, " \t") // what HTTP does to a value
		if b, ok := strings.CutPrefix(got, "=?base64?"); ok {
			if b, ok := strings.CutSuffix(b, "?="); ok {
				raw, err := base64.StdEncoding.DecodeString(b)
				if err != nil {
					t.Fatalf("%q: %v", wire, err)
				}
				got = string(raw)
			}
		}
		if got != v {
			t.Errorf("%q became %q on the way as %q", v, got, wire)
		}
		for i := range len(wire) {
			if wire[i] < ' ' || wire[i] > '~' {
				t.Errorf("%q holds %q", wire, wire[i])
			}
		}
	})
}
