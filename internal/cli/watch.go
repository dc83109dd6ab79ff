package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Watch prints what servers send unasked.
type Watch struct {
	Remote   `embed:""`
	Server   []string `short:"s" xor:"whose" placeholder:"NAME" help:"Watch this server; may be repeated. Default: all."`
	Session  string   `xor:"whose" placeholder:"ID" help:"Watch this session."`
	Kind     []string `short:"k" placeholder:"KIND" help:"Only events of this kind: progress, log, list_changed, resource_updated, task, elicitation_complete, server_state or other. May be repeated."`
	Level    string   `placeholder:"LEVEL" help:"Only log messages at least as severe as this: debug, info, notice, warning, error, critical, alert or emergency."`
	Resource []string `placeholder:"URI" sep:"none" help:"Watch this resource too; may be repeated."`
	After    string   `placeholder:"POSITION" help:"Begin after this place: the position of an event of an earlier watch."`
	Wide     bool     `help:"Do not cut lines to the terminal's width."`
	JSON     bool     `name:"json" help:"Print every event as one line of JSON."`
}

// Help is shown by --help.
func (*Watch) Help() string {
	return `Prints what servers send unasked, one event a line, until it is interrupted: log messages, changes of lists and resources, progress, the state of servers. It starts no server.

Examples:
  mcp-bridge watch
  mcp-bridge watch --server files --kind list_changed --kind server_state
  mcp-bridge watch --level warning --json`
}

const kindPrefix = "NOTIFICATION_KIND_"

func kindNames() []string {
	var names []string
	for i := int32(1); ; i++ {
		name, ok := mcpbridgev1.NotificationKind_name[i]
		if !ok {
			return names
		}
		names = append(names, strings.ToLower(strings.TrimPrefix(name, kindPrefix)))
	}
}

func (w *Watch) request() (*mcpbridgev1.WatchNotificationsRequest, error) {
	req := &mcpbridgev1.WatchNotificationsRequest{SessionId: w.Session, Servers: w.Server, After: w.After, ResourceUris: w.Resource}
	for _, k := range w.Kind {
		name := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(k), "-", "_"))
		v, ok := mcpbridgev1.NotificationKind_value[kindPrefix+name]
		if !ok || v == 0 {
			hint := "want one of " + strings.Join(kindNames(), ", ")
			if near := nearest(k, kindNames()); len(near) > 0 {
				hint = "did you mean " + near[0] + "?"
			}
			return nil, usage("--kind: unknown kind %q: %s", k, hint)
		}
		req.Kinds = append(req.Kinds, mcpbridgev1.NotificationKind(v))
	}
	if w.Level != "" {
		v, ok := mcpbridgev1.LogLevel_value["LOG_LEVEL_"+strings.ToUpper(w.Level)]
		if !ok || v == 0 {
			return nil, usage("--level: unknown level %q", w.Level)
		}
		req.MinLogLevel = mcpbridgev1.LogLevel(v)
	}
	return req, nil
}

// Run watches until the context ends, which is no failure.
func (w *Watch) Run(c *Context) error {
	req, err := w.request()
	if err != nil {
		return err
	}
	l, err := w.open(c)
	if err != nil {
		return err
	}
	defer l.end()
	stream, err := l.WatchNotifications(l.ctx, req)
	if err != nil {
		return w.ended(c, l, err)
	}
	defer stream.Close() //nolint:errcheck // nothing follows
	for {
		event, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return &FailedError{Text: "the bridge ended the stream"}
		}
		if err != nil {
			return w.ended(c, l, err)
		}
		if err := w.show(c, event); err != nil {
			return err
		}
	}
}

// ended makes an error of the end of a stream, unless the person, or --timeout,
// wanted it.
func (w *Watch) ended(c *Context, l *link, err error) error {
	if l.ctx.Err() != nil && !takeApart(err).remote {
		return nil
	}
	server := ""
	if len(w.Server) == 1 {
		server = w.Server[0]
	}
	hint := ""
	if len(w.Server) > 0 {
		hint = l.hintServer(err, server)
	}
	return l.failed(err, hint)
}

func (w *Watch) show(c *Context, event *mcpbridgev1.WatchNotificationsResponse) error {
	if w.JSON {
		return c.printJSON(event, false)
	}
	if event.GetHeartbeat() != nil {
		return nil
	}
	if started := event.GetStarted(); started != nil {
		for _, uri := range started.GetRefusedUris() {
			c.note("cannot be watched: %s", uri)
		}
		if c.IsTerminal {
			c.note("watching; Ctrl-C ends it")
		}
		return nil
	}
	st := c.out()
	kind, summary := summarize(event)
	when := strings.Repeat(" ", 12)
	if at := event.GetReceivedAt(); at != nil {
		when = c.local(at.AsTime()).Format("15:04:05.000")
	}
	if n := event.GetMerged(); n > 0 {
		summary += fmt.Sprintf(" (and %d before it)", n)
	}
	server := oneLine(event.GetServer())
	if server == "" {
		server = "-"
	}
	const kindWidth, gaps = 16, 3
	used := len(when) + columns(server) + kindWidth + gaps
	summary = oneLine(summary)
	if limit := c.limit(w.Wide); limit > 0 {
		summary = cut(summary, max(limit-used, 20))
	}
	line := fmt.Sprintf("%s %s %s %s", st.dim(when), st.bold(server), fmt.Sprintf("%-*s", kindWidth, kind), w.paint(st, event, summary))
	_, err := io.WriteString(c.Stdout, strings.TrimRight(line, " ")+"\n")
	return err
}

func (w *Watch) paint(st style, event *mcpbridgev1.WatchNotificationsResponse, summary string) string {
	switch e := event.GetEvent().(type) {
	case *mcpbridgev1.WatchNotificationsResponse_Gap:
		return st.red(summary)
	case *mcpbridgev1.WatchNotificationsResponse_ServerState:
		return st.state(e.ServerState.GetState(), summary)
	case *mcpbridgev1.WatchNotificationsResponse_Log:
		switch {
		case e.Log.GetLevel() >= mcpbridgev1.LogLevel_LOG_LEVEL_ERROR:
			return st.red(summary)
		case e.Log.GetLevel() >= mcpbridgev1.LogLevel_LOG_LEVEL_WARNING:
			return st.yellow(summary)
		}
	}
	return summary
}

// summarize names the kind of an event and says what happened.
func summarize(event *mcpbridgev1.WatchNotificationsResponse) (kind, summary string) {
	switch e := event.GetEvent().(type) {
	case *mcpbridgev1.WatchNotificationsResponse_Progress:
		if id := e.Progress.GetCallId(); id != "" {
			summary = id + ": "
		}
		return "progress", summary + progressText(e.Progress)
	case *mcpbridgev1.WatchNotificationsResponse_Log:
		return "log", logText(e.Log)
	case *mcpbridgev1.WatchNotificationsResponse_ListChanged:
		return "list_changed", strings.ToLower(strings.TrimPrefix(e.ListChanged.GetList().String(), "LIST_KIND_"))
	case *mcpbridgev1.WatchNotificationsResponse_ResourceUpdated:
		return "resource_updated", e.ResourceUpdated.GetUri()
	case *mcpbridgev1.WatchNotificationsResponse_Task:
		state := strings.ToLower(strings.TrimPrefix(e.Task.GetState().String(), "TASK_STATE_"))
		return "task", strings.TrimSpace(e.Task.GetTaskId() + " " + state + " " + e.Task.GetStateMessage())
	case *mcpbridgev1.WatchNotificationsResponse_ElicitationComplete:
		return "elicitation_complete", e.ElicitationComplete.GetElicitationId()
	case *mcpbridgev1.WatchNotificationsResponse_ServerState:
		s := stateName(e.ServerState.GetState())
		if reason := e.ServerState.GetStateReason(); reason != "" {
			s += ": " + reason
		}
		return "server_state", s
	case *mcpbridgev1.WatchNotificationsResponse_Gap:
		return "gap", gapText(e.Gap)
	case *mcpbridgev1.WatchNotificationsResponse_Other:
		return "other", e.Other.GetMethod() + " " + string(jsonText(e.Other.GetParams()))
	}
	return "unknown", "an event that this version does not know"
}
