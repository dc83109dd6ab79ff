//go:build unix

package e2e_test

import (
	"fmt"
	"slices"
	"strings"

	connect "connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// toolError: a tool's failure is a result.
func toolError(r *rig) {
	r.t.Helper()
	id := r.open()
	res := r.must(id, "echo", "{}")
	if !res.IsError || firstText(res) != "the flux capacitor is empty" || res.GetStructuredContent().GetText() != `{"code":17}` {
		r.t.Error(res)
	}
	r.close(id)
}

// rpcErrors: code, message and data of a server's error reach the caller.
func rpcErrors(r *rig) {
	r.t.Helper()
	id := r.open()
	f := r.fails(id, "echo", "{}", want{connect.CodeInvalidArgument, "INVALID_PARAMS", answered, []string{"MCP error -32602: bad argument: q"}})
	if e := f.upstream.GetJsonrpcError(); e.GetCode() != -32602 || e.GetMessage() != "bad argument: q" || e.GetDataJson() != `{"field":"q","hint":["a",1,null]}` {
		r.t.Error(e)
	}
	f = r.fails(id, "sleep", "{}", want{connect.CodeUnknown, "SERVER_ERROR", answered, []string{"MCP error 4242: quota"}})
	if f.upstream.GetJsonrpcError().GetCode() != 4242 {
		r.t.Error(f.upstream)
	}
	f = r.fails(id, "blob", "{}", want{connect.CodeInternal, "SERVER_ERROR", answered, []string{"MCP error -32603: ééé"}})
	if f.upstream.GetJsonrpcError().GetCode() != -32603 {
		r.t.Error(f.upstream)
	}
	r.close(id)
}

// oddSchemas: a tool with a schema that is none does not spoil the list.
func oddSchemas(r *rig) {
	r.t.Helper()
	id := r.open()
	names := r.names(id)
	for _, name := range []string{"schema-empty", "schema-anyof", "echo", "sleep", "blob"} {
		if !slices.Contains(names, name) {
			r.t.Errorf("%s is missing: %v", name, names)
		}
	}
	r.echoes(id)
	r.close(id)
}

// oddNames: names are the server's business.
func oddNames(r *rig) {
	r.t.Helper()
	id := r.open()
	odd := []string{"a.b", "a/b", "ns:tool", "two words", "größe π 🙂", strings.Repeat("n", 300), "CASE", "case", "echo"}
	if diff := cmp.Diff(append([]string{"echo", "sleep", "blob"}, odd...), r.names(id)); diff != "" {
		r.t.Error(diff)
	}
	for _, name := range odd {
		r.says(id, name, "{}", "called "+name)
	}
	r.close(id)
}

// hugeList: 5,000 tools in one page are all there, in order.
func hugeList(r *rig) {
	r.t.Helper()
	id := r.open()
	names := r.names(id)
	if len(names) != 5003 {
		r.t.Fatalf("%d tools", len(names))
	}
	for i, name := range names[3:] {
		if name != fmt.Sprintf("tool-%04d", i) {
			r.t.Fatalf("at %d stands %s", i, name)
		}
	}
	r.close(id)
}

// cursorLoop: a list without an end is ended.
func cursorLoop(r *rig) {
	r.t.Helper()
	id := r.open()
	res, err := r.tools(r.ctx(), &mcpbridgev1.ListToolsRequest{SessionId: id, AllPages: true})
	if err == nil {
		if diff := cmp.Diff([]string{"echo", "sleep", "blob"}, toolNames(res.Tools)); diff != "" {
			r.t.Error(diff)
		}
	} else {
		want{code: connect.CodeInternal, reason: "INVALID_RESPONSE"}.check(r.t, err)
	}
	if n := len(r.received("tools/list")); n > 3 {
		r.t.Errorf("%d pages were asked for", n)
	}
	r.close(id)
}

// cursorEmpty: an empty cursor is one, and it does not loop either.
func cursorEmpty(r *rig) {
	r.t.Helper()
	id := r.open()
	if diff := cmp.Diff([]string{"echo", "sleep", "blob"}, r.names(id)); diff != "" {
		r.t.Error(diff)
	}
	if n := len(r.received("tools/list")); n > 2 {
		r.t.Errorf("%d pages were asked for", n)
	}
	r.close(id)
}

func contentMissing(r *rig) {
	r.t.Helper()
	id := r.open()
	for tool, structured := range map[string]string{"echo": `{"lines":5}`, "sleep": "", "blob": ""} {
		res := r.must(id, tool, "{}")
		if res == nil || len(res.Content) != 0 || res.IsError || res.GetStructuredContent().GetText() != structured {
			r.t.Errorf("%s: %v", tool, res)
		}
	}
	r.close(id)
}

// contentNull: null counts as absent.
func contentNull(r *rig) {
	r.t.Helper()
	id := r.open()
	if diff := cmp.Diff([]string{"echo", "sleep", "blob"}, r.names(id)); diff != "" {
		r.t.Error(diff)
	}
	if res := r.must(id, "echo", "{}"); res == nil || len(res.Content) != 0 || res.IsError || res.StructuredContent != nil || res.Meta != nil {
		r.t.Errorf("%v", res)
	}
	r.says(id, "blob", "{}", "ok")
	r.close(id)
}

func structuredValues(r *rig) {
	r.t.Helper()
	id := r.open()
	for tool, value := range map[string]string{"echo": `[{"id":"1"},2,null]`, "sleep": `0`, "blob": `"plain"`} {
		if res := r.must(id, tool, "{}"); res.GetStructuredContent().GetText() != value || res.IsError {
			r.t.Errorf("%s: %v", tool, res)
		}
	}
	r.close(id)
}

// unknownContent: a block of a type that nobody knows is passed on as it is.
func unknownContent(r *rig) {
	r.t.Helper()
	id := r.open()
	c := r.must(id, "echo", "{}").GetContent()
	if len(c) != 7 {
		r.t.Fatalf("%d blocks: %v", len(c), c)
	}
	if c[0].GetText().GetText() != "first" || c[6].GetText().GetText() != "last" {
		r.t.Error(c[0], c[6])
	}
	if i, a := c[1].GetImage(), c[2].GetAudio(); string(i.GetData()) != "hi" || i.GetMimeType() != "image/png" || string(a.GetData()) != "hi" || a.GetMimeType() != "audio/ogg" {
		r.t.Error(i, a)
	}
	if l := c[3].GetResourceLink(); l.GetUri() != "file:///a%20b" || l.GetName() != "a b" || l.GetSizeBytes() != 9007199254740993 {
		r.t.Error(l)
	}
	if e := c[4].GetResource(); e.GetUri() != "mem://1" || string(e.GetBlob()) != "\x00\x01" {
		r.t.Error(e)
	}
	if o := c[5].GetOther(); o.GetType() != "hologram" || o.GetRaw().GetText() != `{"type":"hologram","beams":[1,2],"nested":{"ok":true}}` {
		r.t.Error(o)
	}
	r.close(id)
}

// schemaMismatch: what does not fit its schema is the caller's all the same.
func schemaMismatch(r *rig) {
	r.t.Helper()
	id := r.open()
	if res := r.must(id, "echo", "{}"); firstText(res) != "n is seven" || res.GetStructuredContent().GetText() != `{"n":"seven"}` {
		r.t.Error(res)
	}
	r.says(id, "blob", "{}", "no structure")
	r.close(id)
}

// bigIntegers: every digit survives, both ways.
func bigIntegers(r *rig) {
	r.t.Helper()
	id := r.open()
	args := `{"z":9007199254740993,"a":18446744073709551615,"n":-9223372036854775808}`
	res := r.must(id, "echo", args)
	ten40 := "1" + strings.Repeat("0", 40)
	if got := res.GetStructuredContent().GetText(); firstText(res) != args ||
		got != `{"a":9007199254740993,"b":-9223372036854775808,"c":18446744073709551615,"d":`+ten40+`,"args":`+args+`}` {
		r.t.Errorf("%s\n%s", firstText(res), got)
	}
	if meta := res.GetMeta().GetText(); !strings.Contains(meta, `"example/id":9223372036854775808`) {
		r.t.Error(meta)
	}
	if got := firstText(r.must(id, "echo", `{"e":1e2}`)); got != `{"e":100.0}` {
		r.t.Errorf("1e2 arrived as %s", got)
	}
	r.close(id)
}

func loneSurrogate(r *rig) {
	r.t.Helper()
	id := r.open()
	for range 2 {
		r.says(id, "echo", "{}", "before \uFFFD after \x00 end")
	}
	res, err := r.call(r.ctx(), &mcpbridgev1.CallToolRequest{SessionId: id, Name: "echo", Options: &mcpbridgev1.RequestOptions{ResultFormat: mcpbridgev1.ResultFormat_RESULT_FORMAT_STRUCT}})
	if err != nil || len(res.GetResult().GetStructuredContent().GetValue().GetStructValue().GetFields()) != 1 {
		r.t.Error(res, err)
	}
	r.close(id)
}

// metaPassthrough: what has no field is kept, both ways.
func metaPassthrough(r *rig) {
	r.t.Helper()
	id := r.open()
	list, err := r.tools(r.ctx(), &mcpbridgev1.ListToolsRequest{SessionId: id, AllPages: true})
	if err != nil || len(list.Tools) != 3 {
		r.t.Fatal(list, err)
	}
	const extra = `{"com.example/trace":{"id":7,"tags":["a",null]},"plain":"ž"}`
	tool := list.Tools[0]
	if tool.GetMeta().GetText() != extra || !tool.GetAnnotations().GetReadOnlyHint() || len(tool.Icons) != 1 || tool.TaskSupport != "optional" ||
		!strings.Contains(tool.ExtraJson, `"x-new":[1]`) || !strings.Contains(tool.Annotations.ExtraJson, `"x-risk":0.5`) {
		r.t.Error(tool)
	}
	res, err := r.call(r.ctx(), &mcpbridgev1.CallToolRequest{SessionId: id, Name: "echo", Options: &mcpbridgev1.RequestOptions{MetaJson: `{"com.example/mine":[1,2]}`}})
	if err != nil {
		r.t.Fatal(err)
	}
	got := res.GetResult()
	if meta := got.GetMeta().GetText(); !strings.Contains(meta, `"com.example/mine":[1,2]`) || !strings.Contains(meta, `"plain":"ž"`) {
		r.t.Error(meta)
	}
	block := got.Content[0]
	if block.GetMeta().GetText() != extra || block.GetAnnotations().GetPriority() != 0.3 || !strings.Contains(got.ExtraJson, `"x-new":{"a":1}`) {
		r.t.Error(got)
	}
	r.close(id)
}
