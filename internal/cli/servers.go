package cli

import (
	"io"
	"strconv"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Servers lists the servers behind a bridge.
type Servers struct {
	Remote `embed:""`
	Wide   bool `help:"Do not cut lines to the terminal's width."`
	JSON   bool `name:"json" help:"Print the response as JSON."`
}

// Help is shown by --help.
func (*Servers) Help() string {
	return `Lists the MCP servers behind a bridge and their state. It starts none.

Examples:
  mcp-bridge servers
  mcp-bridge servers --addr http://bridge.example.com:8080 --json`
}

// Run lists them.
func (s *Servers) Run(c *Context) error {
	l, err := s.open(c)
	if err != nil {
		return err
	}
	defer l.end()
	res, err := l.ListServers(l.ctx, &mcpbridgev1.ListServersRequest{})
	if err != nil {
		return l.failed(err)
	}
	if s.JSON {
		return c.printJSON(res, true)
	}
	if len(res.GetServers()) == 0 {
		c.note("no servers")
		return nil
	}
	st := c.out()
	t := &table{head: []string{"NAME", "TYPE", "STATE", "PROTOCOL", "SOFTWARE", "SESSIONS", "RESTARTS", "REASON"}}
	for _, srv := range res.GetServers() {
		t.add(srv.GetName(), srv.GetTransport(), stateName(srv.GetState()), srv.GetProtocolVersion(), software(srv.GetServerInfo()),
			nonZero(srv.GetSessions()), nonZero(srv.GetRestarts()), srv.GetStateReason())
	}
	t.look = func(row, column int, cell string) string {
		if column != 2 {
			return cell
		}
		return st.state(res.GetServers()[row].GetState(), cell)
	}
	_, err = io.WriteString(c.Stdout, t.text(c.limit(s.Wide), st))
	return err
}

// limit is the width that tables are cut to.
func (c *Context) limit(wide bool) int {
	if wide || !c.IsTerminal {
		return 0
	}
	return c.Width
}

func (s style) state(state mcpbridgev1.ServerState, text string) string {
	switch state {
	case mcpbridgev1.ServerState_SERVER_STATE_READY:
		return s.green(text)
	case mcpbridgev1.ServerState_SERVER_STATE_STARTING, mcpbridgev1.ServerState_SERVER_STATE_BACKOFF:
		return s.yellow(text)
	case mcpbridgev1.ServerState_SERVER_STATE_FAILED, mcpbridgev1.ServerState_SERVER_STATE_UNAUTHORIZED:
		return s.red(text)
	}
	return s.dim(text)
}

func stateName(state mcpbridgev1.ServerState) string {
	return strings.ToLower(strings.TrimPrefix(state.String(), "SERVER_STATE_"))
}

func software(info *mcpbridgev1.Implementation) string {
	return strings.TrimSpace(info.GetName() + " " + info.GetVersion())
}

func nonZero(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}
