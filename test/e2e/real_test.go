//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// TestRealServers: servers that were made by others, and clients of three kinds.
func TestRealServers(t *testing.T) {
	dir := peersDir(t)
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			entry := p.start(t, dir, t.TempDir())
			if p.protocol != "" {
				entry += "    protocol: " + p.protocol + "\n"
			}
			b := serveConfig(t, "servers:\n  p:\n"+entry)
			for _, name := range []string{"grpc", "connect", "json"} {
				t.Run(name, func(t *testing.T) {
					c := &peerClient{api{b.callers(t)[name]}, p, name}
					watch := c.watch(t)
					c.everyTool(t)
					c.progress(t)
					c.slow(t)
					c.changes(t, watch)
				})
			}
			servers, err := b.rpc().servers(within(t, patience))
			if err != nil || len(servers) != 1 || servers[0].State != mcpbridgev1.ServerState_SERVER_STATE_READY || servers[0].Restarts != 0 {
				t.Errorf("%v %v", servers, err)
			} else if v := servers[0].ProtocolVersion; p.version != "" && v != p.version {
				t.Errorf("protocol version %s, want %s", v, p.version)
			}
		})
	}
}

// A peerClient is one kind of client of one server.
type peerClient struct {
	api
	peer
	name string
}

// watch opens a watch and sees the server ready, or it was so before.
func (c *peerClient) watch(t *testing.T) stream {
	t.Helper()
	s, err := c.stream(within(t, 2*time.Minute), "WatchNotifications", &mcpbridgev1.WatchNotificationsRequest{Servers: []string{"p"}})
	if err != nil {
		t.Fatal(err)
	}
	m := &mcpbridgev1.WatchNotificationsResponse{}
	if err := s.next(m); err != nil || m.GetStarted() == nil {
		t.Fatalf("a watch begins with %v, %v", m, err)
	}
	return s
}

// everyTool calls every tool that the server offers.
func (c *peerClient) everyTool(t *testing.T) {
	t.Helper()
	list, err := c.tools(within(t, time.Minute), &mcpbridgev1.ListToolsRequest{Server: "p", AllPages: true})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, call := range c.calls {
		known[call.tool] = true
		if !slices.ContainsFunc(list.Tools, func(t *mcpbridgev1.Tool) bool { return t.Name == call.tool }) {
			t.Errorf("%s is not listed", call.tool)
			continue
		}
		args := strings.ReplaceAll(call.args, "CLIENT", c.name)
		res, err := c.call(within(t, time.Minute), &mcpbridgev1.CallToolRequest{Server: "p", Name: call.tool, ArgumentsJson: args})
		if err != nil || res.GetResult().GetIsError() {
			t.Errorf("%s %s: %v, %v", call.tool, args, err, res)
			continue
		}
		text := res.GetResult().GetStructuredContent().GetText()
		for _, block := range res.GetResult().GetContent() {
			text += " " + block.String()
		}
		if part := strings.ReplaceAll(call.says, "CLIENT", c.name); !strings.Contains(text, part) {
			t.Errorf("%s %s lacks %q: %.500s", call.tool, args, part, text)
		}
	}
	for _, tool := range list.Tools {
		if !known[tool.Name] && tool.TaskSupport != "required" {
			t.Errorf("the test does not know how to call %s", tool.Name)
		}
	}
}

// progress calls the slow tool as a stream.
func (c *peerClient) progress(t *testing.T) {
	t.Helper()
	if c.slowTool == "" {
		return
	}
	s, err := c.stream(within(t, time.Minute), "StreamTool", &mcpbridgev1.StreamToolRequest{
		Call: &mcpbridgev1.CallToolRequest{Server: "p", Name: c.slowTool, ArgumentsJson: c.short, Options: &mcpbridgev1.RequestOptions{CallId: "mine"}}})
	if err != nil {
		t.Error(err)
		return
	}
	steps, responses := 0, 0
	for {
		m := &mcpbridgev1.StreamToolResponse{}
		if err := s.next(m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Error(err)
			break
		}
		if p := m.GetProgress(); p != nil {
			steps++
			if p.CallId != "mine" || responses > 0 {
				t.Errorf("%v", p)
			}
		}
		if r := m.GetResponse(); r != nil {
			responses++
			if r.GetResult().GetIsError() || len(r.GetResult().GetContent()) == 0 {
				t.Errorf("%v", r)
			}
		}
	}
	if steps == 0 || responses != 1 {
		t.Errorf("%d steps of progress, %d responses", steps, responses)
	}
}

// slow gives up the slow tool, once by a deadline and once by leaving; the server
// learns of it where it can tell.
func (c *peerClient) slow(t *testing.T) {
	t.Helper()
	if c.slowTool == "" {
		return
	}
	before := c.cancellations(t)
	begun := time.Now()
	_, err := c.call(within(t, 500*time.Millisecond), &mcpbridgev1.CallToolRequest{Server: "p", Name: c.slowTool, ArgumentsJson: c.long})
	want{code: connect.CodeDeadlineExceeded}.check(t, err)
	if took := time.Since(begun); took > 700*time.Millisecond {
		t.Errorf("500 ms took %v", took)
	}
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	s, err := c.stream(ctx, "StreamTool", &mcpbridgev1.StreamToolRequest{Call: &mcpbridgev1.CallToolRequest{Server: "p", Name: c.slowTool, ArgumentsJson: c.long}})
	if err != nil {
		t.Fatal(err)
	}
	for { // it runs once there is progress
		m := &mcpbridgev1.StreamToolResponse{}
		if err := s.next(m); err != nil {
			t.Error(err)
			break
		}
		if m.GetProgress() != nil {
			break
		}
	}
	cancel()
	if err := s.next(&mcpbridgev1.StreamToolResponse{}); err == nil {
		for err == nil {
			err = s.next(&mcpbridgev1.StreamToolResponse{})
		}
		want{code: connect.CodeCanceled}.check(t, err)
	}
	if c.counts {
		eventually(t, 10*time.Second, "the server counts two cancellations", func() bool { return c.cancellations(t) == before+2 })
	}
	if call := c.calls[0]; call.tool != "" {
		if _, err := c.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "p", Name: call.tool, ArgumentsJson: call.args}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	}
}

// cancellations is how often the server says that a call of slow was cancelled.
func (c *peerClient) cancellations(t *testing.T) int {
	t.Helper()
	if !c.counts {
		return 0
	}
	res, err := c.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "p", Name: "cancellations", ArgumentsJson: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, digit := range firstText(res.GetResult()) {
		n = 10*n + int(digit-'0')
	}
	return n
}

// changes waits for what the server tells of its own accord. The subscription
// may open after the watch, so the server is asked until an event has come.
func (c *peerClient) changes(t *testing.T, watch stream) {
	t.Helper()
	if !c.notifies {
		return
	}
	seen := make(chan error, 1)
	go func() {
		for {
			m := &mcpbridgev1.WatchNotificationsResponse{}
			err := watch.next(m)
			if err != nil || m.GetListChanged().GetList() == mcpbridgev1.ListKind_LIST_KIND_TOOLS {
				seen <- err
				return
			}
		}
	}()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 40 {
		if _, err := c.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "p", Name: "notify", ArgumentsJson: "{}"}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-seen:
			if err != nil {
				t.Error(err)
			}
			return
		case <-tick.C:
		}
	}
	t.Error("no change was told")
}
