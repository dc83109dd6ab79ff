//go:build unix

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// quirkServer is a server that misbehaves in one of many ways, by name. It does
// not belong to this repository.
var quirkServer = filepath.Join("..", "..", "..", "shared", "quirks", "quirk_server.py")

const (
	overStdio = "stdio"
	overHTTP  = "http"
)

// A rig is one case behind a bridge of its own.
type rig struct {
	api
	t        *testing.T
	on       string
	b        *bridge
	log      string // file of the server's own log, JSON lines
	deadline time.Duration
}

// newRig starts the case and a bridge in front of it, as the server "q".
func newRig(t *testing.T, script, name, on, options string) *rig {
	t.Helper()
	r := &rig{t: t, on: on, log: filepath.Join(t.TempDir(), "server.log"), deadline: 15 * time.Second}
	entry := "servers:\n  q:\n"
	if on == overStdio {
		entry += fmt.Sprintf("    command: %q\n    args: [%q, stdio, %s, --log, %q]\n", python(t), script, name, r.log)
	} else {
		entry += "    url: " + startQuirkHTTP(t, script, name, r.log) + "\n"
	}
	for line := range strings.Lines(options) {
		entry += "    " + line
	}
	r.b = serveConfig(t, entry+"\n")
	r.api = r.b.rpc()
	return r
}

// startQuirkHTTP starts the case as an HTTP server and returns its URL, which is
// the second line that it writes.
func startQuirkHTTP(t *testing.T, script, name, log string) string {
	t.Helper()
	cmd := exec.Command(python(t), script, "http", name, "--log", log)
	lines, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(lines)
	_, err = in.ReadString('\n')
	url, err2 := in.ReadString('\n')
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, in)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait()
	})
	return strings.TrimSpace(url)
}

// ctx is that of one call, with the deadline of the rig.
func (r *rig) ctx() context.Context { return within(r.t, r.deadline) }

// open opens a private session, which must succeed.
func (r *rig) open() string {
	r.t.Helper()
	res, err := r.initialize(r.ctx(), &mcpbridgev1.InitializeRequest{Server: "q"})
	if err != nil {
		r.t.Fatalf("Initialize: %v", err)
	}
	return res.SessionId
}

// refused opens a private session, which must fail so.
func (r *rig) refused(w want) *fault {
	r.t.Helper()
	_, err := r.initialize(r.ctx(), &mcpbridgev1.InitializeRequest{Server: "q"})
	return w.check(r.t, err)
}

func (r *rig) close(id string) {
	r.t.Helper()
	if err := r.closeSession(r.ctx(), id); err != nil {
		r.t.Errorf("CloseSession: %v", err)
	}
}

// callJSON calls a tool within a session.
func (r *rig) callJSON(ctx context.Context, id, tool, arguments string) (*mcpbridgev1.ToolResult, error) {
	res, err := r.call(ctx, &mcpbridgev1.CallToolRequest{SessionId: id, Name: tool, ArgumentsJson: arguments})
	return res.GetResult(), err
}

// must calls a tool, which must succeed.
func (r *rig) must(id, tool, arguments string) *mcpbridgev1.ToolResult {
	r.t.Helper()
	res, err := r.callJSON(r.ctx(), id, tool, arguments)
	if err != nil {
		r.t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// fails calls a tool, which must fail so.
func (r *rig) fails(id, tool, arguments string, w want) *fault {
	r.t.Helper()
	_, err := r.callJSON(r.ctx(), id, tool, arguments)
	return w.check(r.t, err)
}

// says calls a tool and compares the text of the first block.
func (r *rig) says(id, tool, arguments, text string) {
	r.t.Helper()
	if got := firstText(r.must(id, tool, arguments)); got != text {
		r.t.Errorf("%s %s says %.200q, want %.200q", tool, arguments, got, text)
	}
}

// echoes calls echo twice: a session that lives answers each call with its own.
func (r *rig) echoes(id string) {
	r.t.Helper()
	for _, args := range []string{`{"n":1}`, `{"n":2,"s":"žluťoučký"}`} {
		res := r.must(id, "echo", args)
		if got := res.GetStructuredContent().GetText(); !sameJSON(got, args) || firstText(res) != args {
			r.t.Errorf("echo %s returns %q and %s", args, firstText(res), got)
		}
	}
}

// names lists all tools of a session by name.
func (r *rig) names(id string) []string {
	r.t.Helper()
	res, err := r.tools(r.ctx(), &mcpbridgev1.ListToolsRequest{SessionId: id, AllPages: true})
	if err != nil {
		r.t.Fatalf("ListTools: %v", err)
	}
	return toolNames(res.Tools)
}

func toolNames(tools []*mcpbridgev1.Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func firstText(r *mcpbridgev1.ToolResult) string {
	if len(r.GetContent()) == 0 {
		return ""
	}
	return r.Content[0].GetText().GetText()
}

// sameJSON compares values, not texts.
func sameJSON(a, b string) bool {
	var va, vb any
	return json.Unmarshal([]byte(a), &va) == nil && json.Unmarshal([]byte(b), &vb) == nil && reflect.DeepEqual(va, vb)
}

// An entry is a line of the server's log.
type entry struct {
	PID     int             `json:"pid"`
	Event   string          `json:"event"`
	Method  string          `json:"method"`
	ID      json.RawMessage `json:"id"`
	Params  json.RawMessage `json:"params"`
	Tool    string          `json:"tool"`
	Verb    string          `json:"verb"`
	Path    string          `json:"path"`
	Headers map[string]string
	Reply   json.RawMessage `json:"reply"`
	Child   int             `json:"child"`
}

// entries are those of the server's log that fit.
func (r *rig) entries(fit func(e *entry) bool) []entry {
	r.t.Helper()
	text, err := os.ReadFile(r.log)
	if err != nil && !os.IsNotExist(err) { // before its start it has seen nothing
		r.t.Fatal(err)
	}
	var all []entry
	for line := range strings.Lines(string(text)) {
		var e entry
		if !strings.HasSuffix(line, "\n") {
			break // still being written
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			r.t.Fatalf("%v: %s", err, line)
		}
		if fit(&e) {
			all = append(all, e)
		}
	}
	return all
}

// received are the messages of a method that the server got.
func (r *rig) received(method string) []entry {
	r.t.Helper()
	return r.entries(func(e *entry) bool { return e.Event == "recv" && e.Method == method })
}

// executed counts the calls of a tool that the server carried out.
func (r *rig) executed(tool string) int {
	r.t.Helper()
	return len(r.entries(func(e *entry) bool { return e.Event == "executed" && e.Tool == tool }))
}

// gone waits until a process of the server's is gone, not even a zombie.
func (r *rig) gone(pid int) {
	r.t.Helper()
	eventually(r.t, 10*time.Second, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
}

// pids are the processes of the server, in the order of their start.
func (r *rig) pids() []int {
	r.t.Helper()
	var all []int
	for _, e := range r.entries(func(e *entry) bool { return e.Event == "start" }) {
		if !slices.Contains(all, e.PID) {
			all = append(all, e.PID)
		}
	}
	return all
}
