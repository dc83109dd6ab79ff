package cli_test

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

// commands are the subcommands as a program has them.
type commands struct {
	Servers cli.Servers `cmd:""`
	Tools   cli.Tools   `cmd:""`
	Call    cli.Call    `cmd:""`
	Watch   cli.Watch   `cmd:""`
}

// A world is what a run has around it.
type world struct {
	bridge   *bridge // nil: none
	ctx      context.Context
	stdin    string
	env      map[string]string
	terminal bool
	width    int
	once     cli.OneShot
}

type outcome struct {
	out, err string
	status   int
}

// run parses a command line and runs it as a program would.
func (w world) run(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	ctx := w.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	env := map[string]string{}
	if w.bridge != nil {
		env["MCP_BRIDGE_ADDR"] = w.bridge.serve(t)
	}
	for k, v := range w.env {
		env[k] = v
	}
	c := &cli.Context{
		Ctx: ctx, Stdin: strings.NewReader(w.stdin), Stdout: &out, Stderr: &errOut,
		Env: func(name string) string { return env[name] }, IsTerminal: w.terminal, ErrIsTerminal: w.terminal, Width: w.width,
		Location: time.UTC, OneShot: w.once,
	}
	var cmds commands
	parser, err := kong.New(&cmds, kong.Name("mcp-bridge"), kong.Writers(&out, &errOut), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return outcome{out.String(), err.Error(), cli.StatusUsage}
	}
	err = parsed.Run(c)
	cli.Report(c, err)
	return outcome{out.String(), errOut.String(), cli.ExitStatus(err)}
}

// golden compares what was printed with a file in testdata.
func golden(t *testing.T, name string, got outcome) {
	t.Helper()
	text := "== stdout\n" + got.out + "== stderr\n" + got.err
	text = strings.ReplaceAll(text, "\x1b", "␛")
	text = strings.ReplaceAll(text, "\r", "␍")
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (run with -update if this is right):\n%s", file, diff)
	}
}

// A bridge answers as it is told.
type bridge struct {
	mcpbridgev1connect.UnimplementedMcpServiceHandler
	servers *mcpbridgev1.ListServersResponse
	tools   func(*mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error)
	call    func(context.Context, *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error)
	stream  []*mcpbridgev1.StreamToolResponse
	watch   func(context.Context, *mcpbridgev1.WatchNotificationsRequest, mcpbridgev1connect.McpServiceWatchNotificationsServerStream) error

	called  []*mcpbridgev1.CallToolRequest
	answers []*mcpbridgev1.AnswerQuestionRequest
	headers http.Header
}

func (b *bridge) serve(t *testing.T) string {
	server := connect.NewServer()
	mcpbridgev1connect.RegisterMcpServiceHandler(server, b)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.headers = r.Header.Clone()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (b *bridge) ListServers(context.Context, *mcpbridgev1.ListServersRequest) (*mcpbridgev1.ListServersResponse, error) {
	if b.servers == nil {
		return &mcpbridgev1.ListServersResponse{}, nil
	}
	return b.servers, nil
}

func (b *bridge) ListTools(_ context.Context, r *mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) {
	if b.tools == nil {
		return &mcpbridgev1.ListToolsResponse{}, nil
	}
	return b.tools(r)
}

func (b *bridge) CallTool(ctx context.Context, r *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
	b.called = append(b.called, proto.CloneOf(r))
	return b.call(ctx, r)
}

func (b *bridge) StreamTool(_ context.Context, r *mcpbridgev1.StreamToolRequest, s mcpbridgev1connect.McpServiceStreamToolServerStream) error {
	b.called = append(b.called, proto.CloneOf(r.GetCall()))
	for _, e := range b.stream {
		if err := s.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (b *bridge) AnswerQuestion(_ context.Context, r *mcpbridgev1.AnswerQuestionRequest) (*mcpbridgev1.AnswerQuestionResponse, error) {
	b.answers = append(b.answers, proto.CloneOf(r))
	return &mcpbridgev1.AnswerQuestionResponse{}, nil
}

func (b *bridge) WatchNotifications(ctx context.Context, r *mcpbridgev1.WatchNotificationsRequest, s mcpbridgev1connect.McpServiceWatchNotificationsServerStream) error {
	return b.watch(ctx, r, s)
}

// said is a bridge's error with its details.
func said(t *testing.T, code connect.Code, message string, details ...proto.Message) *connect.Error {
	t.Helper()
	err := connect.NewError(code, message)
	for _, d := range details {
		detail, packErr := connectproto.NewErrorDetail(d)
		if packErr != nil {
			t.Fatal(packErr)
		}
		err = err.WithDetail(detail)
	}
	return err
}

func text(s string) *mcpbridgev1.Content {
	return &mcpbridgev1.Content{Block: &mcpbridgev1.Content_Text{Text: &mcpbridgev1.TextContent{Text: s}}}
}

func result(r *mcpbridgev1.ToolResult) func(context.Context, *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
	return func(context.Context, *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
		return &mcpbridgev1.CallToolResponse{Outcome: &mcpbridgev1.CallToolResponse_Result{Result: r}}, nil
	}
}

func someTools(*mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) {
	yes := true
	return &mcpbridgev1.ListToolsResponse{Tools: []*mcpbridgev1.Tool{
		{Server: "files", Name: "read_file", Title: "Read a file", Description: "Reads one file.\nOf any kind, as long as it is text and lies below one of the folders that the server was given.\n\nMore to read.",
			Annotations:  &mcpbridgev1.ToolAnnotations{ReadOnlyHint: &yes, IdempotentHint: &yes},
			InputSchema:  &mcpbridgev1.Json{Text: `{"type":"object","properties":{"path":{"type":"string","description":"Which file."},"head":{"type":["integer","null"],"description":"Lines","default":10},"mode":{"enum":["text","binary"]},"tags":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}},"since":{"type":"string","format":"date-time"},"x":true},"required":["path","tags"]}`},
			OutputSchema: &mcpbridgev1.Json{Text: `{"type":"object","properties":{"size":{"type":"integer"}}}`}},
		{Server: "files", Name: "delete_file", Description: "Löscht 檔案 \x1b[31mred\x1b[0m", Annotations: &mcpbridgev1.ToolAnnotations{DestructiveHint: &yes}},
		{Server: "demo", Name: "echo", Title: "Echo"},
	}, Errors: []*mcpbridgev1.ServerError{
		{Server: "slow", Code: 14, Message: "not started", UpstreamError: &mcpbridgev1.UpstreamError{Reason: "NOT_STARTED"}},
		{Server: "down", Code: 14, Message: "no such file"},
	}, Skipped: []*mcpbridgev1.SkippedTool{{Name: "bad", Reason: "two headers of a name"}}, Stale: true}, nil
}
