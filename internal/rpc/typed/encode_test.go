package typed_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
)

func message[T proto.Message](t *testing.T, m T, text string) T {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("the test itself: %v in %s", err, text)
	}
	return m
}

// wrote checks what was appended to "x". An empty want stands for an error.
func wrote(t *testing.T, got []byte, err error, want string) {
	t.Helper()
	if want == "" {
		if err == nil {
			t.Errorf("%s: no error", got)
		}
		return
	}
	if err != nil || string(got) != "x"+want {
		t.Errorf("got  %s, %v\nwant x%s", got, err, want)
		return
	}
	if !json.Valid(got[1:]) {
		t.Errorf("%s is no JSON", got[1:])
	}
}

func TestClientCapabilities(t *testing.T) {
	all := `{"sampling":true,"samplingTools":true,"samplingContext":true,"elicitationForm":true,"elicitationUrl":true,"roots":true,"extensions":{"b/y":{"text":"{\n}"},"a/x":{"value":{"k":1}}},"experimental":{"text":"{\"e\":{}}"}}`
	rest := `,"extensions":{"a/x":{"k":1},"b/y":{}},"experimental":{"e":{}}}`
	for _, tt := range []struct{ in, revision, want string }{
		{`{}`, "2025-11-25", `{}`},
		{all, "2024-11-05", `{"roots":{"listChanged":true},"sampling":{}` + rest},
		{all, "2025-06-18", `{"roots":{"listChanged":true},"sampling":{},"elicitation":{}` + rest},
		{all, "2025-11-25", `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}` + rest},
		{all, "2026-07-28", `{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}` + rest},
		{`{"elicitationUrl":true}`, "2025-06-18", `{}`},
		{`{"elicitationUrl":true}`, "2025-11-25", `{"elicitation":{"url":{}}}`},
		{`{"samplingTools":true}`, "2025-11-25", `{"sampling":{"tools":{}}}`},
		{`{"extensions":{"a/x":{"text":"[]"}}}`, "2026-07-28", ``},
		{`{"extensions":{"a/x":{}}}`, "2026-07-28", ``},
		{`{"experimental":{"text":"{"}}`, "2026-07-28", ``},
	} {
		got, err := typed.AppendClientCapabilities([]byte("x"), message(t, &v1.ClientCapabilities{}, tt.in), tt.revision)
		wrote(t, got, err, tt.want)
	}
	got, err := typed.AppendClientCapabilities([]byte("x"), nil, "2026-07-28")
	wrote(t, got, err, `{}`)
}

func TestImplementationAndRoots(t *testing.T) {
	for in, want := range map[string]string{
		`{"name":"n","version":"v"}`: `{"name":"n","version":"v"}`,
		`{"name":"n","version":"v","title":"t\n","description":"d","websiteUrl":"w","icons":[{"src":"s","mimeType":"m","sizes":["any","48x48"],"theme":"dark","extraJson":"{ \"a\":\n1 }"}],"extraJson":"{\"x\":[1],\"y\":2}"}`: `{"name":"n","version":"v","title":"t\n","description":"d","websiteUrl":"w","icons":[{"src":"s","mimeType":"m","sizes":["any","48x48"],"theme":"dark", "a":1 }],"x":[1],"y":2}`,
		`{"name":"n","extraJson":"{\"name\":7}"}`: `{"version":"","name":7}`,
		`{"extraJson":"[]"}`:                      ``, `{"extraJson":"{},"}`: ``,
	} {
		got, err := typed.AppendImplementation([]byte("x"), message(t, &v1.Implementation{}, in))
		wrote(t, got, err, want)
	}
	got, err := typed.AppendRoots([]byte("x"), []*v1.Root{{Uri: "file:///a", Name: "a"}, {Uri: "file:///b", ExtraJson: `{"_meta":{}}`}})
	wrote(t, got, err, `{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","_meta":{}}]}`)
	got, err = typed.AppendRoots([]byte("x"), nil)
	wrote(t, got, err, `{"roots":[]}`)
	got, err = typed.AppendRoots([]byte("x"), []*v1.Root{{ExtraJson: "nope"}})
	wrote(t, got, err, ``)
}

func TestValues(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "-0", 5: "5", -12: "-12", 1<<53 - 1: "9007199254740991", 100000: "100000", 1e20: "100000000000000000000",
		1e21: "1e+21", 0.1: "0.1", 1.5e-7: "1.5e-07", 5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308",
		math.NaN(): "", math.Inf(-1): "",
	} {
		got, err := typed.AppendValue([]byte("x"), structpb.NewNumberValue(f))
		wrote(t, got, err, want)
	}
	s, _ := structpb.NewStruct(map[string]any{"b": nil, "a": []any{true, "q\"", 1.5, map[string]any{}}, "": 1})
	got, err := typed.AppendStruct([]byte("x"), s)
	wrote(t, got, err, `{"":1,"a":[true,"q\"",1.5,{}],"b":null}`)
	got, err = typed.AppendStruct([]byte("x"), nil)
	wrote(t, got, err, `{}`)
	got, err = typed.AppendValue([]byte("x"), &structpb.Value{})
	wrote(t, got, err, ``)
	deep := structpb.NewNullValue()
	for range 1001 {
		deep = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{deep}})
	}
	got, err = typed.AppendValue([]byte("x"), deep)
	wrote(t, got, err, ``)
	for in, want := range map[string]string{
		`{"text":" [1,\r\n2] "}`: ` [1,2] `, `{"value":{"a":1}}`: `{"a":1}`, `{"value":null}`: `null`, `{}`: ``, `{"text":"1","value":1}`: ``, `{"text":"[1"}`: ``, `{"text":"1 2"}`: ``,
	} {
		got, err := typed.AppendJSON([]byte("x"), message(t, &v1.Json{}, in))
		wrote(t, got, err, want)
	}
	for in, want := range map[string]string{`{"a":1}`: `{"a":1}`, "{\n}": `{}`, `[]`: ``, ``: ``, `{},"method":"x"`: ``, `{}}`: ``} {
		got, err := typed.AppendObjectText([]byte("x"), in)
		wrote(t, got, err, want)
	}
}

func TestLogLevels(t *testing.T) {
	for n := range v1.LogLevel_name {
		level := v1.LogLevel(n)
		name, ok := typed.LogLevelName(level)
		if want := strings.ToLower(strings.TrimPrefix(level.String(), "LOG_LEVEL_")); ok != (n != 0) || ok && name != want {
			t.Errorf("%v: %q %t", level, name, ok)
		}
		if back, known := typed.ParseLogLevel(name); known != ok || back != level {
			t.Errorf("%q: %v %t", name, back, known)
		}
	}
	if name, ok := typed.LogLevelName(99); ok || name != "" {
		t.Error(name)
	}
}

func TestAnswers(t *testing.T) {
	const sample, elicit = "sampling/createMessage", "elicitation/create"
	text := `{"text":{"text":"hi"}}`
	for _, tt := range []struct{ in, method, revision, want string }{
		{`{"sampling":{"content":[` + text + `],"model":"m"}}`, sample, "2024-11-05", `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`},
		{`{"sampling":{"role":"user","content":[` + text + `,` + text + `],"stopReason":"endTurn"}}`, sample, "2025-11-25", `{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"hi"}],"model":"","stopReason":"endTurn"}`},
		{`{"sampling":{"content":[` + text + `,` + text + `]}}`, sample, "2025-06-18", ``},
		{`{"sampling":{}}`, sample, "2025-11-25", ``}, {`{"sampling":{"content":[{}]}}`, sample, "2025-11-25", ``},
		{`{"sampling":{"content":[` + text + `]}}`, elicit, "2025-11-25", ``},
		{`{"elicitation":{"action":"ELICITATION_ACTION_ACCEPT","content":{"n":3,"s":"x"}}}`, elicit, "2025-11-25", `{"action":"accept","content":{"n":3,"s":"x"}}`},
		{`{"elicitation":{"action":"ELICITATION_ACTION_ACCEPT","contentJson":"{\"n\":9007199254740993}"}}`, elicit, "2025-11-25", `{"action":"accept","content":{"n":9007199254740993}}`},
		{`{"elicitation":{"action":"ELICITATION_ACTION_ACCEPT"}}`, elicit, "2025-11-25", `{"action":"accept"}`},
		{`{"elicitation":{"action":"ELICITATION_ACTION_DECLINE","content":{"n":3}}}`, elicit, "2025-11-25", `{"action":"decline"}`},
		{`{"elicitation":{"action":"ELICITATION_ACTION_CANCEL"}}`, elicit, "2025-11-25", `{"action":"cancel"}`},
		{`{"elicitation":{"action":"ELICITATION_ACTION_ACCEPT","content":{},"contentJson":"{}"}}`, elicit, "2025-11-25", ``},
		{`{"elicitation":{"action":"ELICITATION_ACTION_ACCEPT","contentJson":"[]"}}`, elicit, "2025-11-25", ``},
		{`{"elicitation":{}}`, elicit, "2025-11-25", ``}, {`{"elicitation":{"action":"ELICITATION_ACTION_CANCEL"}}`, sample, "2025-11-25", ``},
		{`{"resultJson":"{\"a\":1}"}`, "x/y", "2025-11-25", `{"a":1}`}, {`{"resultJson":"1"}`, "x/y", "2025-11-25", ``}, {`{}`, sample, "2025-11-25", ``},
	} {
		got, err := typed.AppendAnswer([]byte("x"), message(t, &v1.Answer{}, tt.in), tt.method, tt.revision)
		wrote(t, got, err, tt.want)
	}
	if _, err := typed.AppendAnswer(nil, message(t, &v1.Answer{}, `{"error":{"code":-1}}`), sample, ""); !errors.Is(err, typed.ErrRefusal) {
		t.Error(err)
	}
}

// What is written reads as what it was written from.
func TestContentBothWays(t *testing.T) {
	for _, text := range []string{
		`{"text":{"text":"a\"b"},"annotations":{"audience":["user"],"priority":0.25,"lastModified":"l","extraJson":"{\"x\":1}"},"meta":{"text":"{}"},"extraJson":"{\"y\":2}"}`,
		`{"image":{"data":"AQI=","mimeType":"m"}}`, `{"audio":{"data":"AQI=","mimeType":"m"},"extraJson":"{\"data\":\"AQI\"}"}`,
		`{"resourceLink":{"uri":"u","name":"n","title":"t","description":"d","mimeType":"m","sizeBytes":"0","icons":[{"src":"i"}]}}`,
		`{"resource":{"uri":"u","mimeType":"m","text":"t","meta":{"text":"{}"},"extraJson":"{\"z\":[1]}"}}`, `{"resource":{"uri":"u","blob":"AQI="}}`,
		`{"toolUse":{"id":"i","name":"n","input":{"text":"{\"a\":1}"}}}`,
		`{"toolResult":{"toolUseId":"i","content":[{"text":{"text":"x"}}],"structuredContent":{"text":"[1]"},"isError":true}}`,
		`{"other":{"type":"new","raw":{"text":"{\"type\":\"new\",\"a\":1}"}}}`,
	} {
		b, err := typed.AppendContent(nil, message(t, &v1.Content{}, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := modern.ToolResult([]byte(`{"content":[` + string(b) + `]}`))
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		sameMessage(t, got, `{"content":[`+text+`]}`)
	}
	for _, text := range []string{`{}`, `{"other":{}}`, `{"other":{"raw":{"text":"5"}}}`, `{"toolUse":{"input":{"text":"[]"}}}`, `{"text":{},"meta":{"text":"1"}}`} {
		if b, err := typed.AppendContent(nil, message(t, &v1.Content{}, text)); err == nil {
			t.Errorf("%s became %s", text, b)
		}
	}
}
