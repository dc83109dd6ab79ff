package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Call calls a tool.
type Call struct {
	Remote    `embed:""`
	Tool      string   `arg:"" help:"The tool: SERVER/TOOL, or TOOL where the bridge has one server or --server or --url is given."`
	Arguments []string `arg:"" optional:"" help:"Its arguments: key=text, or key:=json."`
	Args      string   `placeholder:"JSON" help:"Its arguments as a JSON object; @FILE reads a file, - standard input. Arguments after the tool's name are put over it."`
	Server    string   `short:"s" placeholder:"NAME" help:"The server, if it does not stand before the tool's name."`
	Session   string   `placeholder:"ID" help:"Call within this session."`
	URL       string   `name:"url" placeholder:"URL" help:"Call at this MCP URL, without a bridge."`
	Output    string   `short:"o" placeholder:"DIR" help:"Save pictures, sound and other bytes in this folder."`
	JSON      bool     `name:"json" xor:"form" help:"Print the response as JSON."`
	Raw       bool     `xor:"form" help:"Print the server's own result, byte for byte; with --url the JSON-RPC envelope."`
}

// Help is shown by --help.
func (*Call) Help() string {
	return `Calls a tool and prints what it returns. On a terminal progress and log messages are shown meanwhile.

The exit status is 1 where the tool reports a failure or the call fails, and 2 where the command line is wrong.

Examples:
  mcp-bridge call files/read_file path=/srv/data/notes.txt
  mcp-bridge call add --server demo a:=1 b:=2
  mcp-bridge call search/query --args '{"q": "bridges", "limit": 5}' --timeout 90s
  jq -n '{q: "bridges"}' | mcp-bridge call search/query --args - --json
  mcp-bridge call query --url https://mcp.example.com/mcp q=bridges --raw`
}

// target says which tool at which server is meant.
func (t *Call) target() (server, tool string) {
	if t.Server != "" || t.Session != "" || t.URL != "" {
		return t.Server, t.Tool
	}
	return splitName(t.Tool)
}

// Run calls it.
func (t *Call) Run(c *Context) error {
	server, tool := t.target()
	if tool == "" {
		return usage("%q names no tool: want SERVER/TOOL", t.Tool)
	}
	args, err := arguments(c, t.Args, t.Arguments)
	if err != nil {
		return err
	}
	if t.URL != "" {
		return t.once(c, args)
	}
	l, err := t.open(c)
	if err != nil {
		return err
	}
	defer l.end()
	req := &mcpbridgev1.CallToolRequest{SessionId: t.Session, Server: server, Name: tool, ArgumentsJson: args}
	if t.Raw {
		req.Options = &mcpbridgev1.RequestOptions{ResultFormat: mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW}
	}
	var res *mcpbridgev1.CallToolResponse
	if c.ErrIsTerminal {
		res, err = l.stream(c, req)
	} else {
		res, err = l.CallTool(l.ctx, req)
	}
	if err != nil {
		hint := l.hintCall(err, req)
		if hint == "" {
			hint = l.hintServer(err, server)
		}
		return l.failed(err, hint)
	}
	return t.show(c, l, req, res)
}

// hintCall looks for the tool's name where the error may mean that it is unknown.
func (l *link) hintCall(err error, req *mcpbridgev1.CallToolRequest) string {
	switch e := takeApart(err); e.reason {
	case "INVALID_PARAMS", "INVALID_REQUEST", "METHOD_NOT_FOUND", "SERVER_ERROR":
		return l.hintTool(req.GetSessionId(), req.GetServer(), req.GetName())
	}
	return ""
}

// show prints what came of the call, and makes an error of a failure.
func (t *Call) show(c *Context, l *link, req *mcpbridgev1.CallToolRequest, res *mcpbridgev1.CallToolResponse) error {
	var err error
	switch {
	case t.JSON:
		err = c.printJSON(res, true)
	case t.Raw:
		if res.GetRawJson() != "" {
			_, err = io.WriteString(c.Stdout, res.GetRawJson()+"\n")
		}
	case res.GetResult() != nil:
		err = (&printer{c: c, dir: t.Output, name: req.GetName()}).result(res.GetResult())
	case res.GetTask() != nil:
		c.note("goes on as task %s", res.GetTask().GetTaskId())
	}
	if err != nil {
		return err
	}
	if q := res.GetInputRequired(); q != nil {
		return l.giveUp(c, req, q)
	}
	if !isError(res) {
		return nil
	}
	hint := ""
	if unknownTool(res.GetResult()) {
		hint = l.hintTool(req.GetSessionId(), req.GetServer(), req.GetName())
	}
	return toolFailed(c, hint)
}

// isError looks into a raw result too.
func isError(res *mcpbridgev1.CallToolResponse) bool {
	if res.GetRawJson() != "" {
		m, err := objectMembers([]byte(res.GetRawJson()))
		return err == nil && string(m.get("isError")) == "true"
	}
	return res.GetResult().GetIsError()
}

// toolFailed says so, unless what was printed says it to programs.
func toolFailed(c *Context, hint string) error {
	if hint != "" {
		c.note("hint: %s", hint)
	}
	if c.ErrIsTerminal {
		c.note("the tool reports a failure")
	}
	return &FailedError{}
}

// unknownTool recognizes how common servers report a tool that they don't have.
func unknownTool(r *mcpbridgev1.ToolResult) bool {
	for _, content := range r.GetContent() {
		text := strings.ToLower(content.GetText().GetText())
		if len(text) < 500 && strings.Contains(text, "tool") && (strings.Contains(text, "not found") || strings.Contains(text, "unknown")) {
			return true
		}
	}
	return false
}

// giveUp ends a call that the server interrupted with questions: this subcommand
// does not answer any.
func (l *link) giveUp(c *Context, req *mcpbridgev1.CallToolRequest, in *mcpbridgev1.InputRequired) error {
	for _, q := range in.GetQuestions() {
		c.note("%s", questionText(q))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), hintTimeout)
	defer cancel()
	req.InputState, req.GiveUp = in.GetInputState(), true
	_, err := l.CallTool(ctx, req)
	if err != nil && connect.CodeOf(err) != connect.CodeCanceled {
		c.note("giving the call up: %s", takeApart(err).message)
	}
	return &FailedError{Text: "the server asks something before it can go on, and this command cannot answer; the call was given up"}
}

func questionText(q *mcpbridgev1.Question) string {
	from := oneLine(q.GetServer())
	if from == "" {
		from = "the server"
	}
	switch {
	case q.GetElicitation().GetUrl() != nil:
		return from + " wants you to visit " + q.GetElicitation().GetUrl().GetUrl() + ": " + oneLine(q.GetElicitation().GetMessage())
	case q.GetElicitation() != nil:
		return from + " asks: " + oneLine(q.GetElicitation().GetMessage())
	case q.GetSampling() != nil:
		return from + " asks for an answer of a model"
	}
	return from + " asks: " + q.GetMethod()
}

// refuse answers a question that came on a stream, so that nobody waits for it.
func (l *link) refuse(c *Context, session string, q *mcpbridgev1.Question) {
	answer := &mcpbridgev1.Answer{QuestionId: q.GetId()}
	if q.GetElicitation() != nil {
		answer.Kind = &mcpbridgev1.Answer_Elicitation{Elicitation: &mcpbridgev1.ElicitationResult{Action: mcpbridgev1.ElicitationAction_ELICITATION_ACTION_CANCEL}}
	} else {
		answer.Kind = &mcpbridgev1.Answer_Error{Error: &mcpbridgev1.JsonRpcError{Code: -1, Message: "this command answers no questions"}}
	}
	if _, err := l.AnswerQuestion(l.ctx, &mcpbridgev1.AnswerQuestionRequest{SessionId: session, Answer: answer}); err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		c.note("refusing a question: %s", takeApart(err).message)
	}
}

var errNoResponse = errors.New("the stream ended without a response")
