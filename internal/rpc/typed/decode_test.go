package typed_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
)

var (
	legacy = typed.Decoder{Server: "s"}
	modern = typed.Decoder{Server: "s", Modern: true}
	asVal  = typed.Decoder{Server: "s", Modern: true, Format: v1.ResultFormat_RESULT_FORMAT_STRUCT}
	asRaw  = typed.Decoder{Server: "s", Modern: true, Format: v1.ResultFormat_RESULT_FORMAT_RAW}
)

// sameMessage checks got against want, a message as protojson writes it.
func sameMessage(t *testing.T, got proto.Message, want string) {
	t.Helper()
	expected := got.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal([]byte(want), expected); err != nil {
		t.Fatalf("the test itself: %v in %s", err, want)
	}
	if !proto.Equal(got, expected) {
		g, _ := protojson.Marshal(got)
		t.Errorf("got  %s\nwant %s", g, want)
	}
}

func TestToolResult(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    typed.Decoder
		in   string
		want string
	}{
		{"text", legacy, `{"content":[{"type":"text","text":"a\u00e9\n"}]}`, `{"content":[{"text":{"text":"aé\n"}}]}`},
		{"empty", legacy, ` { } `, `{}`},
		{"all", legacy, `{"content":[],"structuredContent":{"b":1.0,"a":[ ]},"isError":true,"_meta":{"x":1},"resultType":"complete","more":[1, 2]}`,
			`{"structuredContent":{"text":"{\"b\":1.0,\"a\":[ ]}"},"isError":true,"meta":{"text":"{\"x\":1}"},"extraJson":"{\"more\":[1, 2]}"}`},
		{"odd types keep order and bytes", legacy, `{"z" : 1,"content":"x","isError":"no","structuredContent":[1],"_meta":7,"a":null}`,
			`{"structuredContent":{"text":"[1]"},"extraJson":"{\"z\" : 1,\"content\":\"x\",\"isError\":\"no\",\"_meta\":7,\"a\":null}"}`},
		{"null is absent for older servers", legacy, `{"content":null,"structuredContent":null,"isError":null,"_meta":null}`, `{}`},
		{"null is a value for newer ones", modern, `{"structuredContent":null}`, `{"structuredContent":{"text":"null"}}`},
		{"null as a Value", asVal, `{"structuredContent":null}`, `{"structuredContent":{"value":null}}`},
		{"a later member wins", legacy, `{"isError":true,"isError":false,"content":[{"type":"text","text":"1","text":"2"}],"isError":5}`,
			`{"content":[{"text":{"text":"2"},"extraJson":"{\"text\":\"1\"}"}],"extraJson":"{\"isError\":true,\"isError\":5}"}`},
		{"an escaped name", legacy, `{"is\u0045rror":true}`, `{"isError":true}`},
		{"lone surrogates", legacy, `{"content":[{"type":"text","text":"\ud800"},{"type":"resource_link","uri":"u","name":"\udc00"}]}`,
			`{"content":[{"text":{"text":"�"}},{"resourceLink":{"uri":"u","name":"�"},"extraJson":"{\"name\":\"\\udc00\"}"}]}`},
		{"an older server's resultType", legacy, `{"resultType":"table"}`, `{"extraJson":"{\"resultType\":\"table\"}"}`},
		{"other results' members", legacy, `{"nextCursor":"c","ttlMs":5}`, `{"extraJson":"{\"nextCursor\":\"c\",\"ttlMs\":5}"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := tt.d.CallTool([]byte(tt.in))
			if err != nil || out.Type != typed.Complete || out.Tool == nil || out.Inputs != nil || out.Task != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			sameMessage(t, out.Tool, tt.want)
		})
	}
}

func TestContent(t *testing.T) {
	nested := strings.Repeat(`{"type":"tool_result","toolUseId":"i","content":[`, 9) + strings.Repeat(`]}`, 9)
	for _, tt := range []struct{ in, want string }{
		{`{"text":"x","type":"text","annotations":{"audience":["user"],"priority":0.50,"lastModified":"2026","x":1},"_meta":{}}`,
			`{"text":{"text":"x"},"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026","extraJson":"{\"x\":1}"},"meta":{"text":"{}"}}`},
		{`{"type":"text","text":"x","annotations":[1],"data":"AA==","_meta":"m"}`,
			`{"text":{"text":"x"},"extraJson":"{\"annotations\":[1],\"data\":\"AA==\",\"_meta\":\"m\"}"}`},
		{`{"type":"text"}`, `{"other":{"type":"text","raw":{"text":"{\"type\":\"text\"}"}}}`},
		{`{"type":"text","text":5}`, `{"other":{"type":"text","raw":{"text":"{\"type\":\"text\",\"text\":5}"}}}`},
		{`{"type":"text","text":null}`, `{"other":{"type":"text","raw":{"text":"{\"type\":\"text\",\"text\":null}"}}}`},
		{`{"type":"text","text":"x","type":"image"}`, `{"text":{"text":"x"},"extraJson":"{\"type\":\"image\"}"}`},
		{`{"type":"image","data":"AQI\u003d","mimeType":"image/png"}`, `{"image":{"data":"AQI=","mimeType":"image/png"}}`},
		{`{"type":"image","data":"","mimeType":""}`, `{"image":{}}`},
		{`{"type":"audio","data":"AQI","mimeType":"m"}`, `{"audio":{"data":"AQI=","mimeType":"m"},"extraJson":"{\"data\":\"AQI\"}"}`},
		{`{"type":"audio","data":"AQ\nI="}`, `{"audio":{"data":"AQI="},"extraJson":"{\"data\":\"AQ\\nI=\"}"}`},
		{`{"type":"audio","data":"AQJ="}`, `{"audio":{"data":"AQI="},"extraJson":"{\"data\":\"AQJ=\"}"}`},
		{`{"type":"audio","data":"*"}`, `{"other":{"type":"audio","raw":{"text":"{\"type\":\"audio\",\"data\":\"*\"}"}}}`},
		{`{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":1e3,"icons":[{"src":"s","mimeType":"m","sizes":["any"],"theme":"dark","x":0}],"annotations":{},"y":1}`,
			`{"resourceLink":{"uri":"u","name":"n","title":"t","description":"d","mimeType":"m","sizeBytes":"1000","icons":[{"src":"s","mimeType":"m","sizes":["any"],"theme":"dark","extraJson":"{\"x\":0}"}]},"annotations":{},"extraJson":"{\"y\":1}"}`},
		{`{"type":"resource_link","uri":"u","size":1.5,"icons":[{"src":"a","sizes":"any"},7]}`,
			`{"resourceLink":{"uri":"u","icons":[{"src":"a","extraJson":"{\"sizes\":\"any\"}"}]},"extraJson":"{\"size\":1.5,\"icons\":[{\"src\":\"a\",\"sizes\":\"any\"},7]}"}`},
		{`{"type":"resource_link","name":"n"}`, `{"other":{"type":"resource_link","raw":{"text":"{\"type\":\"resource_link\",\"name\":\"n\"}"}}}`},
		{`{"type":"resource","resource":{"uri":"u","mimeType":"m","text":"","annotations":{}},"_meta":{"a":1}}`,
			`{"resource":{"uri":"u","mimeType":"m","text":"","extraJson":"{\"annotations\":{}}"},"meta":{"text":"{\"a\":1}"}}`},
		{`{"type":"resource","resource":{"uri":"u","blob":"AQI=","text":"x","_meta":{}}}`,
			`{"resource":{"uri":"u","blob":"AQI=","meta":{"text":"{}"},"extraJson":"{\"text\":\"x\"}"}}`},
		{`{"type":"resource","resource":{"uri":"u","blob":"!"}}`, `{"other":{"type":"resource","raw":{"text":"{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"blob\":\"!\"}}"}}}`},
		{`{"type":"tool_use","id":"i","name":"n","input":{"a":1}}`, `{"toolUse":{"id":"i","name":"n","input":{"text":"{\"a\":1}"}}}`},
		{`{"type":"tool_use","id":"i","name":"n","input":1}`, `{"other":{"type":"tool_use","raw":{"text":"{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\",\"input\":1}"}}}`},
		{`{"type":"tool_result","toolUseId":"i","content":[{"type":"text","text":"t"},{"type":"new"}],"structuredContent":3,"isError":true}`,
			`{"toolResult":{"toolUseId":"i","content":[{"text":{"text":"t"}},{"other":{"type":"new","raw":{"text":"{\"type\":\"new\"}"}}}],"structuredContent":{"text":"3"},"isError":true}}`},
		{`{"type":"widget" , "x":1}`, `{"other":{"type":"widget","raw":{"text":"{\"type\":\"widget\" , \"x\":1}"}}}`},
		{`{"type":7}`, `{"other":{"raw":{"text":"{\"type\":7}"}}}`},
		{`"bare"`, `{"other":{"raw":{"text":"\"bare\""}}}`},
		{`null`, `{"other":{"raw":{"text":"null"}}}`},
	} {
		got, err := legacy.ToolResult([]byte(`{"content":[` + tt.in + `]}`))
		if err != nil || len(got.Content) != 1 || got.ExtraJson != "" {
			t.Errorf("%s: %v, %v", tt.in, got, err)
			continue
		}
		sameMessage(t, got.Content[0], tt.want)
	}
	got, err := legacy.ToolResult([]byte(`{"content":[` + nested + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, depth := got.Content[0], 0
	for c.GetToolResult() != nil {
		c, depth = c.GetToolResult().Content[0], depth+1
	}
	if depth != 8 || c.GetOther().GetType() != "tool_result" {
		t.Errorf("blocks nest %d deep, then %v", depth, c)
	}
}

func TestBadResults(t *testing.T) {
	for _, in := range []string{``, `{`, `{"content":[{"type":"text","text":"x"}]`, `{} x`, `{"content":[{"type":"text","text":tru}]}`, "{\"a\":\"\xff\"}", `{"isError":nul}`, `{"content":[{"type":"image","data":"AA`} {
		_, err := legacy.CallTool([]byte(in))
		var se *jsonscan.SyntaxError
		if !errors.Is(err, typed.ErrInvalid) || !errors.As(err, &se) {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, in := range []string{`null`, `[]`, `"x"`, ` 5 `} {
		for name, read := range readers(legacy) {
			if err := read([]byte(in)); !errors.Is(err, typed.ErrNotObject) {
				t.Errorf("%s of %s: %v", name, in, err)
			}
		}
	}
	for name, read := range readers(legacy) {
		if err := read([]byte(`{"tools":[{}`)); !errors.Is(err, typed.ErrInvalid) {
			t.Errorf("%s of a cut object: %v", name, err)
		}
	}
	deep := typed.Decoder{MaxDepth: 5}
	if _, err := deep.CallTool([]byte(`{"a":[[[[[]]]]]}`)); err == nil || !strings.Contains(err.Error(), "deeper than 5 levels at offset 9") {
		t.Errorf("depth: %v", err)
	}
}

// readers are all ways to read a result, without what they read.
func readers(d typed.Decoder) map[string]func([]byte) error {
	return map[string]func([]byte) error{
		"CallTool":     func(b []byte) error { _, err := d.CallTool(b); return err },
		"ToolResult":   func(b []byte) error { _, err := d.ToolResult(b); return err },
		"ListTools":    func(b []byte) error { _, err := d.ListTools(b); return err },
		"Resources":    func(b []byte) error { _, err := d.ListResources(b); return err },
		"Templates":    func(b []byte) error { _, err := d.ListResourceTemplates(b); return err },
		"ReadResource": func(b []byte) error { _, err := d.ReadResource(b); return err },
		"Prompts":      func(b []byte) error { _, err := d.ListPrompts(b); return err },
		"GetPrompt":    func(b []byte) error { _, err := d.GetPrompt(b); return err },
		"Complete":     func(b []byte) error { _, err := d.Complete(b); return err },
		"Initialize":   func(b []byte) error { _, err := d.Initialize(b); return err },
		"Discover":     func(b []byte) error { _, err := d.Discover(b); return err },
		"Inputs":       func(b []byte) error { _, err := d.Inputs(b); return err },
		"CreatedTask":  func(b []byte) error { _, err := d.CreatedTask(b); return err },
		"Task":         func(b []byte) error { _, err := d.Task(b); return err },
		"ListTasks":    func(b []byte) error { _, err := d.ListTasks(b); return err },
		"Steer":        func(b []byte) error { _, err := d.Steer(b); return err },
		"Impl":         func(b []byte) error { _, err := d.Implementation(b); return err },
		"Capabilities": func(b []byte) error { _, err := d.ServerCapabilities(b); return err },
	}
}

func TestResultTypes(t *testing.T) {
	in := []byte(`{"content":[],"resultType":"input_required","requestState":"a\u00e9","inputRequests":{
		"b":{"method":"roots/list"},"a":{"params":{"message":"m","requestedSchema":{"type":"object"}},"method":"elicitation/create"},"x":5},"_meta":{"k":1}}`)
	for name, read := range map[string]func() (string, *typed.Inputs, error){
		"tool":     func() (string, *typed.Inputs, error) { o, err := modern.CallTool(in); return o.Type, o.Inputs, err },
		"prompt":   func() (string, *typed.Inputs, error) { o, err := modern.GetPrompt(in); return o.Type, o.Inputs, err },
		"resource": func() (string, *typed.Inputs, error) { o, err := modern.ReadResource(in); return o.Type, o.Inputs, err },
	} {
		typ, inputs, err := read()
		if err != nil || typ != typed.InputRequired || inputs == nil {
			t.Fatalf("%s: %s %v %v", name, typ, inputs, err)
		}
		if string(inputs.State) != `"a\u00e9"` || inputs.Meta.GetText() != `{"k":1}` || len(inputs.Questions) != 3 {
			t.Fatalf("%s: %+v", name, inputs)
		}
		sameMessage(t, inputs.Questions[0], `{"id":"b","server":"s","method":"roots/list"}`)
		sameMessage(t, inputs.Questions[1], `{"id":"a","server":"s","method":"elicitation/create","params":{"text":"{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\"}}"},
			"elicitation":{"message":"m","formSchema":{"text":"{\"type\":\"object\"}"}}}`)
		sameMessage(t, inputs.Questions[2], `{"id":"x","server":"s"}`)
	}
	for _, in := range []string{`{"resultType":"strange"}`, `{"resultType":7}`} {
		out, err := modern.CallTool([]byte(in))
		if err != nil || out.Type == typed.Complete || out.Tool != nil {
			t.Errorf("%s: %+v %v", in, out, err)
		}
		var rt *typed.ResultTypeError
		if _, err := modern.ListTools([]byte(in)); !errors.As(err, &rt) || rt.Type != out.Type {
			t.Errorf("%s: %v", in, err)
		}
		if _, err := legacy.ListTools([]byte(in)); err != nil {
			t.Errorf("%s of an older server: %v", in, err)
		}
	}
	out, err := modern.CallTool([]byte(`{"resultType":"task","taskId":"t","status":"working","ttlMs":null}`))
	if err != nil || out.Type != typed.TaskCreated {
		t.Fatal(out, err)
	}
	sameMessage(t, out.Task, `{"server":"s","taskId":"t","state":"TASK_STATE_WORKING","ttlUnlimited":true}`)
}

func TestSteer(t *testing.T) {
	s, err := modern.Steer([]byte(`{"nextCursor":"","x":{"nextCursor":"no"},"resultType":"task"}`))
	if err != nil || s.Type != "task" || s.NextCursor == nil || *s.NextCursor != "" {
		t.Errorf("%+v %v", s, err)
	}
	s, err = legacy.Steer([]byte(`{"nextCursor":null,"resultType":"task"}`))
	if err != nil || s.Type != typed.Complete || s.NextCursor != nil {
		t.Errorf("%+v %v", s, err)
	}
}

func TestStructForm(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct {
		in          string
		value, text bool
	}{
		{`{"a":[1,2.5,"x",true,null,{}],"b":-0}`, true, false}, {`9007199254740992`, true, false}, {`9007199254740993`, true, true},
		{`[0.1,1e3,1.50]`, true, false}, {`0.1000000000000000055`, true, true}, {`18446744073709551616`, true, true}, {`1e-400`, true, true},
		{`[1e400]`, false, true}, {`{"a":1,"a":1}`, false, true}, {`{"x":{"a":1,"\u0061":1}}`, false, true}, {`"\ud800"`, true, true},
		{deep(32), true, false}, {deep(33), false, true},
	} {
		got, err := asVal.ToolResult([]byte(`{"structuredContent":` + tt.in + `}`))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		j := got.StructuredContent
		if (j.Value != nil) != tt.value || (j.Text != "") != tt.text || tt.text && j.Text != tt.in {
			t.Errorf("%s: %v", tt.in, j)
		}
	}
	got, _ := asVal.ToolResult([]byte(`{"structuredContent":{"a":[1,2.5,"x\n",true,null,{}]}}`))
	sameMessage(t, got, `{"structuredContent":{"value":{"a":[1,2.5,"x\n",true,null,{}]}}}`)
}

func TestListTools(t *testing.T) {
	got, err := modern.ListTools([]byte(`{"tools":[
		{"name":"n","title":"t","description":"d","inputSchema":{"type":"object", "z":1,"a":2},"outputSchema":true,
		 "annotations":{"title":"x","readOnlyHint":true,"destructiveHint":false,"idempotentHint":"?","openWorldHint":null,"y":[]},
		 "icons":[],"execution":{"taskSupport":"optional","more":{"a":1}},"_meta":{"m":1},"extra":1.0},
		{"name":"b","execution" : {"taskSupport":"required"},"inputSchema":null},{"execution":{"x":1}}],
		"nextCursor":"","ttlMs":1500,"cacheScope":"public","_meta":{"a":1},"resultType":"complete","other":1}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, got, `{"tools":[
		{"server":"s","name":"n","title":"t","description":"d","inputSchema":{"text":"{\"type\":\"object\", \"z\":1,\"a\":2}"},"outputSchema":{"text":"true"},
		 "annotations":{"title":"x","readOnlyHint":true,"destructiveHint":false,"extraJson":"{\"idempotentHint\":\"?\",\"y\":[]}"},
		 "taskSupport":"optional","meta":{"text":"{\"m\":1}"},"extraJson":"{\"execution\":{\"more\":{\"a\":1}},\"extra\":1.0}"},
		{"server":"s","name":"b","taskSupport":"required"},{"server":"s","extraJson":"{\"execution\":{\"x\":1}}"}],
		"nextCursor":"","cache":{"ttl":"1.5s","scope":"public"},"meta":{"text":"{\"a\":1}"},"extraJson":"{\"other\":1}"}`)

	got, err = legacy.ListTools([]byte(`{"tools":[{"name":"a"},5,null],"nextCursor":7,"ttlMs":"x","cacheScope":null}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, got, `{"tools":[{"server":"s","name":"a"}],"extraJson":"{\"tools\":[{\"name\":\"a\"},5,null],\"nextCursor\":7,\"ttlMs\":\"x\"}"}`)
}

func TestMilliseconds(t *testing.T) {
	for in, want := range map[string]string{
		`0`: `"0s"`, `1500`: `"1.5s"`, `6e4`: `"60s"`, `-5`: `"0s"`, `1.5`: `"0.0015s"`, `1e300`: `"315576000000s"`, `1e400`: `"315576000000s"`, `99999999999999999999`: `"315576000000s"`,
	} {
		got, err := modern.ListTools([]byte(`{"ttlMs":` + in + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got.ExtraJson = ""
		sameMessage(t, got, `{"cache":{"ttl":`+want+`}}`)
	}
}

func TestLists(t *testing.T) {
	res, err := modern.ListResources([]byte(`{"resources":[{"uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":9007199254740993,"annotations":{"priority":1},"icons":[{"src":"i"}],"_meta":{},"x":1}],"nextCursor":"c"}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, res, `{"resources":[{"server":"s","uri":"u","name":"n","title":"t","description":"d","mimeType":"m","sizeBytes":"9007199254740993","annotations":{"priority":1},"icons":[{"src":"i"}],"meta":{"text":"{}"},"extraJson":"{\"x\":1}"}],"nextCursor":"c"}`)
	tpl, err := modern.ListResourceTemplates([]byte(`{"resourceTemplates":[{"uriTemplate":"u{x}","name":"n","title":"t","description":"d","mimeType":"m","annotations":{},"icons":[],"_meta":{},"size":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, tpl, `{"resourceTemplates":[{"server":"s","uriTemplate":"u{x}","name":"n","title":"t","description":"d","mimeType":"m","annotations":{},"meta":{"text":"{}"},"extraJson":"{\"size\":1}"}]}`)
	pr, err := modern.ListPrompts([]byte(`{"prompts":[{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"b","description":"c","required":true,"x":1}],"icons":[],"_meta":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, pr, `{"prompts":[{"server":"s","name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"b","description":"c","required":true,"extraJson":"{\"x\":1}"}],"meta":{"text":"{}"}}]}`)
}

func TestReadResourceAndPrompts(t *testing.T) {
	rr, err := modern.ReadResource([]byte(`{"contents":[{"uri":"u","text":"t"},{"uri":"v","blob":"AQI="},{"uri":"w","blob":"?"}],"ttlMs":0,"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, rr.Response, `{"contents":[{"uri":"u","text":"t"},{"uri":"v","blob":"AQI="},{"uri":"w","extraJson":"{\"blob\":\"?\"}"}],"cache":{"ttl":"0s"},"extraJson":"{\"x\":1}"}`)
	gp, err := modern.GetPrompt([]byte(`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}}],"_meta":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, gp.Response, `{"description":"d","messages":[{"role":"user","content":{"text":{"text":"x"}}}],"meta":{"text":"{}"}}`)
	gp, err = modern.GetPrompt([]byte(`{"messages":[{"role":"user","content":"x","_meta":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, gp.Response, `{"messages":[{"role":"user","content":{"other":{"raw":{"text":"\"x\""}}}}],"extraJson":"{\"messages\":[{\"role\":\"user\",\"content\":\"x\",\"_meta\":{}}]}"}`)
	c, err := modern.Complete([]byte(`{"completion":{"values":["a","b"],"total":10,"hasMore":true,"x":[1]},"_meta":{},"y":2}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, c, `{"values":["a","b"],"total":"10","hasMore":true,"meta":{"text":"{}"},"extraJson":"{\"completion\":{\"x\":[1]},\"y\":2}"}`)
}

func TestSessions(t *testing.T) {
	caps := `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":null},"prompts":{},"completions":{},"logging":true,"experimental":{"x":{}},"extensions":{"io.modelcontextprotocol/tasks":{},"b/c":{"k":[1]}}}`
	wantCaps := `{"tools":true,"toolsListChanged":true,"resources":true,"resourcesSubscribe":true,"prompts":true,"completions":true,"logging":true,"tasks":true,
		"extensions":{"io.modelcontextprotocol/tasks":{"text":"{}"},"b/c":{"text":"{\"k\":[1]}"}},"raw":{"text":` + jsonscan.Quote(caps) + `}}`
	init, err := legacy.Initialize([]byte(`{"protocolVersion":"2025-11-25","capabilities": ` + caps + `,"serverInfo":{"name":"n","version":"v","title":"t","description":"d","websiteUrl":"w","icons":[{"src":"i"}],"x":1},"instructions":"do","_meta":{},"y":2}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, init, `{"server":"s","protocolVersion":"2025-11-25","capabilities":`+wantCaps+`,"serverInfo":{"name":"n","version":"v","title":"t","description":"d","websiteUrl":"w","icons":[{"src":"i"}],"extraJson":"{\"x\":1}"},"instructions":"do","meta":{"text":"{}"},"extraJson":"{\"y\":2}"}`)
	init, err = legacy.Initialize([]byte(`{"capabilities":null,"serverInfo":"odd"}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, init, `{"server":"s","extraJson":"{\"serverInfo\":\"odd\"}"}`)

	d, err := modern.Discover([]byte(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tasks":{}},"instructions":"i","serverInfo":{"name":"old"},"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new"}},"z":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.SupportedVersions) != 1 || d.SupportedVersions[0] != "2026-07-28" || !d.Capabilities.GetTasks() || d.Instructions != "i" || d.ExtraJSON != `{"z":1}` || d.ServerInfo.GetName() != "new" {
		t.Errorf("%+v", d)
	}
	sameMessage(t, d.Cache, `{"ttl":"60s","scope":"private"}`)
	if d, err = modern.Discover([]byte(`{"serverInfo":{"name":"old"},"_meta":{}}`)); err != nil || d.ServerInfo.GetName() != "old" || d.Capabilities != nil {
		t.Errorf("%+v %v", d, err)
	}
}

func TestNotifications(t *testing.T) {
	for _, tt := range []struct{ method, params, want, token string }{
		{"notifications/progress", `{"progressToken":7,"progress":0.50,"total":10,"message":"m","_meta":{"a":1}}`, `{"server":"s","progress":{"current":0.5,"total":10,"message":"m"},"meta":{"text":"{\"a\":1}"}}`, `7`},
		{"notifications/progress", `{"progressToken":"x","progress":12345678901234567890}`, `{"server":"s","progress":{"current":12345678901234567000}}`, `"x"`},
		{"notifications/progress", `{"progressToken":7}`, `{"server":"s","other":{"method":"notifications/progress","params":{"text":"{\"progressToken\":7}"}}}`, ``},
		{"notifications/message", `{"level":"warning","logger":"l","data":{"a":1}}`, `{"server":"s","log":{"level":"LOG_LEVEL_WARNING","logger":"l","data":{"text":"{\"a\":1}"}}}`, ``},
		{"notifications/message", `{"level":"loud","data":null}`, `{"server":"s","log":{"data":{"text":"null"}}}`, ``},
		{"notifications/tools/list_changed", ``, `{"server":"s","listChanged":{"list":"LIST_KIND_TOOLS"}}`, ``},
		{"notifications/prompts/list_changed", `{}`, `{"server":"s","listChanged":{"list":"LIST_KIND_PROMPTS"}}`, ``},
		{"notifications/resources/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":21}}`, `{"server":"s","listChanged":{"list":"LIST_KIND_RESOURCES"},"meta":{"text":"{\"io.modelcontextprotocol/subscriptionId\":21}"}}`, ``},
		{"notifications/resources/updated", `{"uri":"u"}`, `{"server":"s","resourceUpdated":{"uri":"u"}}`, ``},
		{"notifications/elicitation/complete", `{"elicitationId":"e"}`, `{"server":"s","elicitationComplete":{"elicitationId":"e"}}`, ``},
		{"notifications/tasks/status", `{"taskId":"t","status":"cancelled","ttl":1000}`, `{"server":"s","task":{"server":"s","taskId":"t","state":"TASK_STATE_CANCELLED","ttl":"1s"}}`, ``},
		{"notifications/tasks", `{"taskId":"t"}`, `{"server":"s","task":{"server":"s","taskId":"t"}}`, ``},
		{"notifications/tasks", `{}`, `{"server":"s","other":{"method":"notifications/tasks","params":{"text":"{}"}}}`, ``},
		{"x/y", `{ "a" : 1 }`, `{"server":"s","other":{"method":"x/y","params":{"text":"{ \"a\" : 1 }"}}}`, ``},
		{"x/y", `[1]`, `{"server":"s","other":{"method":"x/y","params":{"text":"[1]"}}}`, ``},
		{"x/y", ``, `{"server":"s","other":{"method":"x/y"}}`, ``},
	} {
		var params []byte
		if tt.params != "" {
			params = []byte(tt.params)
		}
		n, err := modern.Notification(tt.method, params)
		if err != nil || string(n.Token) != tt.token {
			t.Errorf("%s: %q %v", tt.params, n.Token, err)
			continue
		}
		sameMessage(t, n.Event, tt.want)
		if params != nil {
			n, err = asRaw.Notification(tt.method, params)
			if err != nil || n.Event.GetOther().GetParams().GetText() != tt.params {
				t.Errorf("raw: %v %v", n, err)
			}
		}
	}
	if _, err := modern.Notification("x", []byte(`{"a":}`)); !errors.Is(err, typed.ErrInvalid) {
		t.Error(err)
	}
}

func TestQuestions(t *testing.T) {
	sampling := `{"messages":[{"role":"user","content":{"type":"text","text":"hi"},"_meta":{}},{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"n","input":{}},{"type":"text","text":"b"}]}],
		"maxTokens":100,"systemPrompt":"p","temperature":0.7,"stopSequences":["."],"modelPreferences":{"hints":[{"name":"big"},{},{"name":"small"}],"costPriority":0,"speedPriority":0.5,"intelligencePriority":1},
		"includeContext":"none","tools":[{"name":"t"}],"toolChoice":{"mode":"auto","x":1},"metadata":{"m":1},"task":{}}`
	wantSampling := `"sampling":{"messages":[{"role":"user","content":[{"text":{"text":"hi"}}]},{"role":"assistant","content":[{"toolUse":{"id":"i","name":"n","input":{"text":"{}"}}},{"text":{"text":"b"}}]}],
		"maxTokens":100,"systemPrompt":"p","temperature":0.7,"stopSequences":["."],"modelPreferences":{"hints":["big","small"],"costPriority":0,"speedPriority":0.5,"intelligencePriority":1},
		"includeContext":"none","tools":[{"text":"{\"name\":\"t\"}"}],"toolChoiceMode":"auto","metadata":{"text":"{\"m\":1}"}}`
	for _, tt := range []struct{ method, params, kind string }{
		{"sampling/createMessage", sampling, wantSampling},
		{"sampling/createMessage", `{"messages":[],"maxTokens":1e12}`, `"sampling":{"maxTokens":2147483647}`},
		{"sampling/createMessage", `{"maxTokens":1}`, ``},
		{"elicitation/create", `{"message":"m","requestedSchema":{"a":1}}`, `"elicitation":{"message":"m","formSchema":{"text":"{\"a\":1}"}}`},
		{"elicitation/create", `{"message":"m","mode":"form","requestedSchema":{}}`, `"elicitation":{"message":"m","formSchema":{"text":"{}"}}`},
		{"elicitation/create", `{"message":"m","mode":"url","url":"https://x","elicitationId":"e"}`, `"elicitation":{"message":"m","url":{"url":"https://x","elicitationId":"e"}}`},
		{"elicitation/create", `{"message":"m","mode":"hologram","requestedSchema":{}}`, ``},
		{"elicitation/create", `{"message":"m","mode":5,"requestedSchema":{}}`, ``},
		{"new/thing", `{"a":1}`, ``},
	} {
		q, err := modern.Question(tt.method, []byte(tt.params))
		if err != nil {
			t.Errorf("%s: %v", tt.params, err)
			continue
		}
		base := `{"server":"s","method":"` + tt.method + `","params":{"text":` + jsonscan.Quote(tt.params) + `}`
		kind := tt.kind
		if kind != "" {
			kind = "," + kind
		}
		sameMessage(t, q, base+kind+"}")
		q, err = asRaw.Question(tt.method, []byte(tt.params))
		if err != nil {
			t.Fatal(err)
		}
		sameMessage(t, q, base+"}")
	}
	qs, err := modern.URLQuestions([]byte(`{"elicitations":[{"mode":"url","message":"m","url":"https://x","elicitationId":"e"},7]}`))
	if err != nil || len(qs) != 1 || qs[0].Id != "e" || qs[0].GetElicitation().GetUrl().GetUrl() != "https://x" {
		t.Errorf("%v %v", qs, err)
	}
	in, err := modern.Inputs([]byte(`{"resultType":"input_required","inputRequests":{"a":{"method":"x"},"b":{"method":"y"},"a":{"method":"z"}}}`))
	if err != nil || len(in.Questions) != 2 || in.Questions[0].Method != "z" || in.State != nil {
		t.Errorf("%v %v", in, err)
	}
}

func TestTasks(t *testing.T) {
	for _, tt := range []struct {
		d        typed.Decoder
		in, want string
	}{
		{modern, `{"resultType":"complete","taskId":"t","status":"completed","statusMessage":"m","createdAt":"c","lastUpdatedAt":"l","ttlMs":60000,"pollIntervalMs":500,"result":{"content":[{"type":"text","text":"x"}],"isError":true},"_meta":{},"x":1}`,
			`{"server":"s","taskId":"t","state":"TASK_STATE_COMPLETED","stateMessage":"m","createdAt":"c","lastUpdatedAt":"l","ttl":"60s","pollInterval":"0.500s","result":{"content":[{"text":{"text":"x"}}],"isError":true},"meta":{"text":"{}"},"extraJson":"{\"x\":1}"}`},
		{legacy, `{"taskId":"t","status":"input_required","ttl":null,"pollInterval":1000}`, `{"server":"s","taskId":"t","state":"TASK_STATE_INPUT_REQUIRED","ttlUnlimited":true,"pollInterval":"1s"}`},
		{modern, `{"taskId":"t","status":"failed","error":{"code":-32603,"message":"m","data":{"a":1}}}`, `{"server":"s","taskId":"t","state":"TASK_STATE_FAILED","error":{"code":-32603,"message":"m","dataJson":"{\"a\":1}"}}`},
		{modern, `{"error":{"code":-99999999999,"message":"m","why":1},"result":{}}`, `{"server":"s","error":{"code":-2147483648,"message":"m"},"extraJson":"{\"error\":{\"code\":-99999999999,\"message\":\"m\",\"why\":1},\"result\":{}}"}`},
		{modern, `{"taskId":"t","status":"paused","inputRequests":{"k":{"method":"roots/list","params":{}}}}`, `{"server":"s","taskId":"t","questions":[{"id":"k","server":"s","method":"roots/list","params":{"text":"{}"}}],"extraJson":"{\"status\":\"paused\"}"}`},
		{modern, `{"status":"failed","result":{"isError":true}}`, `{"server":"s","state":"TASK_STATE_COMPLETED","result":{"isError":true}}`},
		{asRaw, `{"status":"completed","result":{"content":[] }}`, `{"server":"s","state":"TASK_STATE_COMPLETED","otherResult":{"text":"{\"content\":[] }"}}`},
	} {
		got, err := tt.d.Task([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		sameMessage(t, got, tt.want)
	}
	got, err := legacy.CreatedTask([]byte(`{"task":{"taskId":"t","status":"working","ttl":5,"a":1},"_meta":{"m":1},"b":2}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, got, `{"server":"s","taskId":"t","state":"TASK_STATE_WORKING","ttl":"0.005s","meta":{"text":"{\"m\":1}"},"extraJson":"{\"a\":1,\"b\":2}"}`)
	if _, err := legacy.CreatedTask([]byte(`{"content":[]}`)); !errors.Is(err, typed.ErrNoTask) {
		t.Error(err)
	}
	l, err := legacy.ListTasks([]byte(`{"tasks":[{"taskId":"a"},{"taskId":"b"}],"nextCursor":"n"}`))
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, l, `{"tasks":[{"server":"s","taskId":"a"},{"server":"s","taskId":"b"}],"nextCursor":"n"}`)
	failed := &v1.Task{State: v1.TaskState_TASK_STATE_FAILED}
	typed.SetToolResult(failed, &v1.ToolResult{IsError: true})
	sameMessage(t, failed, `{"state":"TASK_STATE_COMPLETED","result":{"isError":true}}`)
}

func TestTextAliasesTheFrame(t *testing.T) {
	frame := []byte(`{"content":[{"type":"text","text":"abc"}],"structuredContent":{"a":1}}`)
	got, err := legacy.ToolResult(frame)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"abc", `{"a"`} { // never done outside this test
		frame[bytes.Index(frame, []byte(part))] = '#'
	}
	if got.Content[0].GetText().Text == "abc" || got.StructuredContent.Text == `{"a":1}` {
		t.Errorf("text was copied: %v", got)
	}
	data := base64.StdEncoding.EncodeToString([]byte{1, 2, 3})
	got, err = legacy.ToolResult([]byte(`{"content":[{"type":"image","data":"` + data + `","mimeType":"x"}]}`))
	if err != nil || string(got.Content[0].GetImage().Data) != "\x01\x02\x03" {
		t.Error(got, err)
	}
}
