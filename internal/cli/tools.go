package cli

import (
	"fmt"
	"io"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Tools lists tools, or describes one.
type Tools struct {
	Remote  `embed:""`
	Name    string `arg:"" optional:"" help:"Describe this tool: TOOL or SERVER/TOOL."`
	Server  string `short:"s" placeholder:"NAME" help:"Only the tools of this server; starts it if need be."`
	Session string `placeholder:"ID" help:"Ask within this session."`
	URL     string `name:"url" placeholder:"URL" help:"Ask this MCP URL, without a bridge."`
	Wide    bool   `help:"Do not cut lines to the terminal's width."`
	JSON    bool   `name:"json" xor:"form" help:"Print the response as JSON."`
	Raw     bool   `xor:"form" help:"With --url: print the JSON-RPC envelopes, one a line."`
}

// Help is shown by --help.
func (*Tools) Help() string {
	return `Lists the tools of all servers, of one server, or of a lone MCP URL; with a name, describes one tool and its arguments.

Examples:
  mcp-bridge tools
  mcp-bridge tools --server files
  mcp-bridge tools files/read_file
  mcp-bridge tools --url https://mcp.example.com/mcp -H "Authorization: Bearer $TOKEN"`
}

// Run lists or describes them.
func (t *Tools) Run(c *Context) error {
	if t.Raw && t.URL == "" {
		return usage("--raw goes with --url; with a bridge use --json")
	}
	server, name := t.Server, t.Name
	if server == "" && t.Session == "" && t.URL == "" {
		server, name = splitName(name)
	}
	if t.URL != "" {
		return t.once(c)
	}
	l, err := t.open(c)
	if err != nil {
		return err
	}
	defer l.end()
	res, err := l.ListTools(l.ctx, &mcpbridgev1.ListToolsRequest{SessionId: t.Session, Server: server, AllPages: true})
	if err != nil {
		return l.failed(err, l.hintServer(err, server))
	}
	if name == "" && t.JSON {
		return c.printJSON(res, true)
	}
	if err := t.show(c, res, server, name); err != nil {
		return err
	}
	if name == "" {
		explain(c, res)
	}
	return nil
}

// show prints the list, or one tool of it.
func (t *Tools) show(c *Context, res *mcpbridgev1.ListToolsResponse, server, name string) error {
	if name == "" {
		if len(res.GetTools()) == 0 {
			c.note("no tools")
			return nil
		}
		_, err := io.WriteString(c.Stdout, toolTable(res.GetTools()).text(c.limit(t.Wide), c.out()))
		return err
	}
	for _, tool := range res.GetTools() {
		switch {
		case tool.GetName() != name:
		case t.JSON:
			return c.printJSON(tool, true)
		default:
			return c.write(describeTool(tool, c.limit(t.Wide), c.out()))
		}
	}
	return &FailedError{Text: fmt.Sprintf("no tool %q%s%s", name, of(server), nearTools(res.GetTools(), name))}
}

func of(server string) string {
	if server == "" {
		return ""
	}
	return fmt.Sprintf(" of server %q", server)
}

func toolTable(tools []*mcpbridgev1.Tool) *table {
	t := &table{head: []string{"SERVER", "TOOL", "HINTS", "DESCRIPTION"}}
	for _, tool := range tools {
		t.add(tool.GetServer(), tool.GetName(), strings.Join(hints(tool), ","), firstSentence(tool))
	}
	return t
}

// firstSentence is what a table has room for: the first paragraph.
func firstSentence(tool *mcpbridgev1.Tool) string {
	text := strings.TrimSpace(tool.GetDescription())
	if text == "" {
		text = title(tool)
	}
	first, _, _ := strings.Cut(text, "\n\n")
	return first
}

func title(tool *mcpbridgev1.Tool) string {
	if tool.GetTitle() != "" {
		return tool.GetTitle()
	}
	return tool.GetAnnotations().GetTitle()
}

// hints names those that a tool gives about itself.
func hints(tool *mcpbridgev1.Tool) []string {
	var out []string
	a := tool.GetAnnotations()
	switch {
	case a.GetReadOnlyHint():
		out = append(out, "read-only")
	case a != nil && a.DestructiveHint != nil && a.GetDestructiveHint():
		out = append(out, "destructive")
	}
	if a.GetIdempotentHint() {
		out = append(out, "idempotent")
	}
	if tool.GetTaskSupport() == "required" {
		out = append(out, "task")
	}
	return out
}

// explain says what is missing in a list, and why.
func explain(c *Context, res *mcpbridgev1.ListToolsResponse) {
	if res.GetStale() {
		c.note("from the cache: a server is not ready yet")
	}
	for _, s := range res.GetSkipped() {
		c.note("left out %s: %s", s.GetName(), s.GetReason())
	}
	for _, e := range res.GetErrors() {
		if e.GetUpstreamError().GetReason() == "NOT_STARTED" {
			c.note("%s is not started yet: `mcp-bridge tools --server %s` starts it", e.GetServer(), e.GetServer())
			continue
		}
		c.note("%s: %s", e.GetServer(), e.GetMessage())
	}
}
