package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/cli"
)

func TestCallSaysWhatIsMeant(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "args.json")
	if err := os.WriteFile(file, []byte("{\"z\": 1.50,\n \"a\": 9007199254740993}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		stdin string
		want  *mcpbridgev1.CallToolRequest
	}{
		{[]string{"files/read"}, "", &mcpbridgev1.CallToolRequest{Server: "files", Name: "read"}},
		{[]string{"read"}, "", &mcpbridgev1.CallToolRequest{Name: "read"}},
		{[]string{"a/b/c"}, "", &mcpbridgev1.CallToolRequest{Server: "a", Name: "b/c"}},
		{[]string{"a/b", "--server", "s"}, "", &mcpbridgev1.CallToolRequest{Server: "s", Name: "a/b"}},
		{[]string{"a/b", "--session", "id"}, "", &mcpbridgev1.CallToolRequest{SessionId: "id", Name: "a/b"}},
		{[]string{"x", "t=a=b", "u=http://x/?q:=1", "e=", "q=a\"<é", "n:=1e400", "o:={\"b\": [1, 2]}", "s:=\"x\""}, "",
			&mcpbridgev1.CallToolRequest{Name: "x", ArgumentsJson: `{"t":"a=b","u":"http://x/?q:=1","e":"","q":"a\"<é","n":1e400,"o":{"b": [1, 2]},"s":"x"}`}},
		{[]string{"x", "--args", `{"z": 1.50, "a": 9007199254740993}`}, "", &mcpbridgev1.CallToolRequest{Name: "x", ArgumentsJson: `{"z": 1.50, "a": 9007199254740993}`}},
		{[]string{"x", "--args", "@" + file}, "", &mcpbridgev1.CallToolRequest{Name: "x", ArgumentsJson: "{\"z\": 1.50,\n \"a\": 9007199254740993}"}},
		{[]string{"x", "--args", "-", "z=new", "b:=true"}, `{"z": 1.50, "a": 9007199254740993}`, &mcpbridgev1.CallToolRequest{Name: "x", ArgumentsJson: `{"z":"new","a":9007199254740993,"b":true}`}},
		{[]string{"x", "--raw"}, "", &mcpbridgev1.CallToolRequest{Name: "x", Options: &mcpbridgev1.RequestOptions{ResultFormat: mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW}}},
	} {
		b := &bridge{call: result(&mcpbridgev1.ToolResult{})}
		if got := (world{bridge: b, stdin: c.stdin}).run(t, append([]string{"call"}, c.args...)...); got != (outcome{}) {
			t.Errorf("%q: %+v", c.args, got)
		}
		if len(b.called) != 1 || !proto.Equal(b.called[0], c.want) {
			t.Errorf("%q called %v, want %v", c.args, b.called, c.want)
		}
	}
}

// everything is a result with content of all kinds.
func everything() *mcpbridgev1.ToolResult {
	return &mcpbridgev1.ToolResult{
		Content: []*mcpbridgev1.Content{
			text("one\x1b]0;title\x07 \x1b[2Jline"), text("two\nlines\n"),
			{Block: &mcpbridgev1.Content_Image{Image: &mcpbridgev1.ImageContent{Data: make([]byte, 12345), MimeType: "image/png"}}},
			{Block: &mcpbridgev1.Content_Audio{Audio: &mcpbridgev1.AudioContent{Data: []byte("abc"), MimeType: "audio/x-new"}}},
			{Block: &mcpbridgev1.Content_ResourceLink{ResourceLink: &mcpbridgev1.ResourceLink{Uri: "file:///x", Name: "x", MimeType: "text/plain"}}},
			{Block: &mcpbridgev1.Content_Resource{Resource: &mcpbridgev1.ResourceContents{Uri: "file:///y", MimeType: "text/plain", Body: &mcpbridgev1.ResourceContents_Text{Text: "inside"}}}},
			{Block: &mcpbridgev1.Content_Resource{Resource: &mcpbridgev1.ResourceContents{Uri: "file:///z", MimeType: "application/pdf", Body: &mcpbridgev1.ResourceContents_Blob{Blob: []byte("%PDF")}}}},
			{Block: &mcpbridgev1.Content_Other{Other: &mcpbridgev1.OtherContent{Type: "hologram", Raw: &mcpbridgev1.Json{Text: `{"type":"hologram"}`}}}},
			{},
		},
		StructuredContent: &mcpbridgev1.Json{Text: `{"not":"shown"}`},
	}
}

func TestCallPrints(t *testing.T) {
	t.Parallel()
	n, err := structpb.NewValue(map[string]any{"n": 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		result *mcpbridgev1.ToolResult
		args   string
		status int
	}{
		{"call-content", everything(), "", 0},
		{"call-structured", &mcpbridgev1.ToolResult{StructuredContent: &mcpbridgev1.Json{Text: `{"b":1.50,"a":[9007199254740993]}`}}, "", 0},
		{"call-structured-value", &mcpbridgev1.ToolResult{StructuredContent: &mcpbridgev1.Json{Value: n}}, "", 0},
		{"call-json", &mcpbridgev1.ToolResult{Content: []*mcpbridgev1.Content{text("x")}, IsError: true}, " --json", 1},
		{"call-error", &mcpbridgev1.ToolResult{Content: []*mcpbridgev1.Content{text("disk is full")}, IsError: true}, "", 1},
		{"call-unknown-tool", &mcpbridgev1.ToolResult{Content: []*mcpbridgev1.Content{text("MCP error -32602: Tool raed_file not found")}, IsError: true}, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := world{bridge: &bridge{call: result(c.result), tools: someTools}}.run(t, strings.Fields("call files/raed_file"+c.args)...)
			if got.status != c.status {
				t.Errorf("status %d, want %d", got.status, c.status)
			}
			golden(t, c.name, got)
		})
	}
}

func TestCallRawIsExact(t *testing.T) {
	t.Parallel()
	for raw, status := range map[string]int{`{"content":[], "x": 1.50}`: 0, `{"isError":true}`: 1} {
		b := &bridge{call: func(context.Context, *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
			return &mcpbridgev1.CallToolResponse{RawJson: raw}, nil
		}}
		if got := (world{bridge: b}).run(t, "call", "x", "--raw"); got != (outcome{raw + "\n", "", status}) {
			t.Errorf("%+v", got)
		}
	}
}

func TestCallSavesBytes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	w := world{bridge: &bridge{call: result(everything())}}
	w.run(t, "call", "x/../../y", "-o", dir)
	got := w.run(t, "call", "x/../../y", "-o", dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	// The second run found files of the first and overwrote none.
	if diff := cmp.Diff([]string{"______y-1.png", "______y-2.bin", "______y-2.png", "______y-3.bin", "______y-3.pdf", "______y-4.pdf"}, names); diff != "" {
		t.Error(diff)
	}
	pdf, err := os.ReadFile(filepath.Join(dir, "______y-3.pdf"))
	if err != nil || string(pdf) != "%PDF" || !strings.Contains(got.out, "[image image/png, 12.3 kB: "+dir) {
		t.Errorf("%q, %v, %+v", pdf, err, got)
	}
}

func TestCallFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args string
		err  *connect.Error
	}{
		{"call-refused", "call files/raed_file", said(t, connect.CodeInvalidArgument, "MCP error -32602: Unknown tool: raed_file",
			&errdetails.ErrorInfo{Reason: "INVALID_PARAMS"},
			&mcpbridgev1.UpstreamError{Server: "files", Method: "tools/call", Delivery: mcpbridgev1.Delivery_DELIVERY_ANSWERED, JsonrpcError: &mcpbridgev1.JsonRpcError{Code: -32602, Message: "Unknown tool: raed_file", DataJson: `{"a":1}`}})},
		{"call-overloaded", "call files/read_file", said(t, connect.CodeResourceExhausted, "too many requests in flight",
			&errdetails.ErrorInfo{Reason: "OVERLOADED"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
			&mcpbridgev1.UpstreamError{Server: "files", Delivery: mcpbridgev1.Delivery_DELIVERY_NOT_SENT})},
		{"call-which-server", "call read_file", said(t, connect.CodeInvalidArgument, "several servers: name one", &errdetails.ErrorInfo{Reason: "INVALID_REQUEST"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &bridge{servers: someServers(), tools: someTools, call: func(context.Context, *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
				return nil, c.err
			}}
			got := world{bridge: b}.run(t, strings.Fields(c.args)...)
			if got.status != 1 {
				t.Errorf("status %d", got.status)
			}
			golden(t, c.name, got)
		})
	}
}

func TestCallGivesUpWhatItCannotAnswer(t *testing.T) {
	t.Parallel()
	b := &bridge{}
	b.call = func(_ context.Context, r *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
		if r.GetGiveUp() {
			return nil, connect.NewError(connect.CodeCanceled, "given up")
		}
		return &mcpbridgev1.CallToolResponse{Outcome: &mcpbridgev1.CallToolResponse_InputRequired{InputRequired: &mcpbridgev1.InputRequired{InputState: "state", Questions: []*mcpbridgev1.Question{
			{Server: "files", Kind: &mcpbridgev1.Question_Elicitation{Elicitation: &mcpbridgev1.ElicitationRequest{Message: "Really?"}}},
			{Server: "files", Kind: &mcpbridgev1.Question_Sampling{Sampling: &mcpbridgev1.SamplingRequest{}}},
		}}}}, nil
	}
	got := world{bridge: b}.run(t, "call", "files/x", "a=1")
	want := "files asks: Really?\nfiles asks for an answer of a model\nerror: the server asks something before it can go on, and this command cannot answer; the call was given up\n"
	if got != (outcome{"", want, 1}) {
		t.Errorf("%+v", got)
	}
	last := &mcpbridgev1.CallToolRequest{Server: "files", Name: "x", ArgumentsJson: `{"a":"1"}`, InputState: "state", GiveUp: true}
	if len(b.called) != 2 || !proto.Equal(b.called[1], last) {
		t.Errorf("called %v", b.called)
	}
}

func TestCallOnATerminalStreams(t *testing.T) {
	t.Parallel()
	total, json := 8.0, func(s string) *mcpbridgev1.Json { return &mcpbridgev1.Json{Text: s} }
	b := &bridge{stream: []*mcpbridgev1.StreamToolResponse{
		{Event: &mcpbridgev1.StreamToolResponse_Progress{Progress: &mcpbridgev1.Progress{Current: 2, Total: &total, Message: "reading \x1b[31mred"}}},
		{Event: &mcpbridgev1.StreamToolResponse_Log{Log: &mcpbridgev1.LogMessage{Level: mcpbridgev1.LogLevel_LOG_LEVEL_WARNING, Logger: "fs", Data: json(`"slow \u001b[31mdisk"`)}}},
		{Event: &mcpbridgev1.StreamToolResponse_Log{Log: &mcpbridgev1.LogMessage{Level: mcpbridgev1.LogLevel_LOG_LEVEL_INFO, Data: json(`{"a":1}`)}}},
		{Event: &mcpbridgev1.StreamToolResponse_Progress{Progress: &mcpbridgev1.Progress{Current: 7.9, Total: &total, Message: strings.Repeat("a long message ", 10)}}},
		{Event: &mcpbridgev1.StreamToolResponse_Gap{Gap: &mcpbridgev1.Gap{Lost: 3}}},
		{Event: &mcpbridgev1.StreamToolResponse_Other{Other: &mcpbridgev1.OtherNotification{Method: "notifications/x", Params: json(`{}`)}}},
		{Event: &mcpbridgev1.StreamToolResponse_Question{Question: &mcpbridgev1.Question{Id: "q1", Kind: &mcpbridgev1.Question_Elicitation{Elicitation: &mcpbridgev1.ElicitationRequest{Message: "Really?"}}}}},
		{Event: &mcpbridgev1.StreamToolResponse_Question{Question: &mcpbridgev1.Question{Id: "q2", Method: "sampling/createMessage"}}},
		{Event: &mcpbridgev1.StreamToolResponse_Heartbeat{Heartbeat: &mcpbridgev1.Heartbeat{}}},
		{},
		{Event: &mcpbridgev1.StreamToolResponse_Progress{Progress: &mcpbridgev1.Progress{Current: 9}}},
		{Event: &mcpbridgev1.StreamToolResponse_Chunk{Chunk: &mcpbridgev1.ContentChunk{Part: mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT, Index: 1, Data: []byte("hello, ")}}},
		{Event: &mcpbridgev1.StreamToolResponse_Chunk{Chunk: &mcpbridgev1.ContentChunk{Part: mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT, Index: 0, Data: []byte("first")}}},
		{Event: &mcpbridgev1.StreamToolResponse_Chunk{Chunk: &mcpbridgev1.ContentChunk{Part: mcpbridgev1.ChunkPart_CHUNK_PART_CONTENT, Index: 1, Data: []byte("world")}}},
		{Event: &mcpbridgev1.StreamToolResponse_Response{Response: &mcpbridgev1.CallToolResponse{Outcome: &mcpbridgev1.CallToolResponse_Result{Result: &mcpbridgev1.ToolResult{
			IsError: true,
			Content: []*mcpbridgev1.Content{text(""), text(""), {Block: &mcpbridgev1.Content_Image{Image: &mcpbridgev1.ImageContent{MimeType: "image/png"}}}},
		}}}}},
	}}
	got := world{bridge: b, terminal: true, width: 60}.run(t, "call", "files/read", "--session", "s")
	if got.status != 1 {
		t.Errorf("status %d", got.status)
	}
	golden(t, "call-terminal", got)
	if len(b.answers) != 2 || b.answers[0].GetAnswer().GetElicitation().GetAction() != mcpbridgev1.ElicitationAction_ELICITATION_ACTION_CANCEL ||
		b.answers[1].GetAnswer().GetError().GetCode() != -1 || b.answers[1].GetAnswer().GetQuestionId() != "q2" || b.answers[0].GetSessionId() != "s" {
		t.Errorf("answered %v", b.answers)
	}
}

func TestCallOnATerminalWithoutResponse(t *testing.T) {
	t.Parallel()
	got := world{bridge: &bridge{}, terminal: true, env: map[string]string{"NO_COLOR": "1"}}.run(t, "call", "x")
	if got.status != 1 || !strings.HasPrefix(got.err, "error: the stream ended without a response") {
		t.Errorf("%+v", got)
	}
}

// asked is what a lone URL was asked.
type asked struct {
	URL     string
	Headers map[string]string
	Method  string
	Params  string
}

func lone(answers ...string) (cli.OneShot, *[]asked) {
	var log []asked
	return cli.OneShot{CallOnce: func(_ context.Context, url string, headers map[string]string, method string, params json.RawMessage) ([]byte, error) {
		log = append(log, asked{url, headers, method, string(params)})
		if len(log) > len(answers) {
			return nil, errors.New("HTTP 503: Service Unavailable")
		}
		return []byte(answers[len(log)-1]), nil
	}}, &log
}

func TestLoneURL(t *testing.T) {
	t.Parallel()
	const page1 = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"First","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"nextCursor":"2<"}}`
	const page2 = `{"jsonrpc":"2.0", "id":2, "result":{"tools":[{"name":"b","title":"Second","inputSchema":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}}]}}`
	const answer = `{"jsonrpc":"2.0","id":1, "result":{"content":[{"type":"text","text":"hi"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"u","blob":"AAA="}},{"type":"new"},{"type":"image","data":"?"}],"structuredContent":{"a":1.50}}}`
	const isError = `{"id":1,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`
	const refused = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool","data":{"x":1}}}`
	for _, c := range []struct {
		name    string
		args    string
		answers []string
		status  int
	}{
		{"once-tools", "tools --url http://h/mcp", []string{page1, page2}, 0},
		{"once-tools-json", "tools --url http://h/mcp --json", []string{page1, page2}, 0},
		{"once-tools-raw", "tools --url http://h/mcp --raw", []string{page1, page2}, 0},
		{"once-tool", "tools b --url http://h/mcp", []string{page1, page2}, 0},
		{"once-tool-unknown", "tools c --url http://h/mcp", []string{page2}, 1},
		{"once-tools-refused", "tools --url http://h/mcp", []string{refused}, 1},
		{"once-call", "call x/y --url http://h/mcp a:=1", []string{answer}, 0},
		{"once-call-json", "call x --url http://h/mcp --json", []string{answer}, 0},
		{"once-call-raw", "call x --url http://h/mcp --raw", []string{answer + "\n"}, 0},
		{"once-call-error", "call x --url http://h/mcp", []string{isError}, 1},
		{"once-call-refused", "call x --url http://h/mcp", []string{refused}, 1},
		{"once-call-refused-raw", "call x --url http://h/mcp --raw", []string{refused}, 1},
		{"once-call-input", "call x --url http://h/mcp", []string{`{"id":1,"result":{"resultType":"input_required"}}`}, 1},
		{"once-call-down", "call x --url http://h/mcp", nil, 1},
		{"once-call-garbage", "call x --url http://h/mcp", []string{"<html>"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			once, _ := lone(c.answers...)
			got := world{once: once}.run(t, strings.Fields(c.args)...)
			if got.status != c.status {
				t.Errorf("status %d, want %d", got.status, c.status)
			}
			golden(t, c.name, got)
		})
	}
	once, log := lone(page1, page2)
	world{once: once}.run(t, "tools", "--url", "http://h/mcp", "-H", "Authorization: Bearer a:b")
	headers := map[string]string{"Authorization": "Bearer a:b"}
	if diff := cmp.Diff([]asked{{"http://h/mcp", headers, "tools/list", `{}`}, {"http://h/mcp", headers, "tools/list", `{"cursor":"2<"}`}}, *log); diff != "" {
		t.Error(diff)
	}
	once, log = lone(answer)
	world{once: once}.run(t, "call", "x/y", "--url", "http://h/mcp", "a:=1.50")
	if diff := cmp.Diff([]asked{{"http://h/mcp", map[string]string{}, "tools/call", `{"name":"x/y","arguments":{"a":1.50}}`}}, *log); diff != "" {
		t.Error(diff)
	}
}

func TestReportSaysNothingTwice(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := &cli.Context{Stderr: &b}
	cli.Report(c, nil)
	cli.Report(c, &cli.FailedError{})
	if b.Len() > 0 || cli.ExitStatus(&cli.FailedError{}) != 1 || cli.ExitStatus(&cli.UsageError{}) != 2 || cli.ExitStatus(nil) != 0 {
		t.Errorf("wrote %q", b.String())
	}
}
