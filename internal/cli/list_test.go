package cli_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/cli"
)

func someServers() *mcpbridgev1.ListServersResponse {
	return &mcpbridgev1.ListServersResponse{Servers: []*mcpbridgev1.Server{
		{Name: "demo", Transport: "stdio", State: mcpbridgev1.ServerState_SERVER_STATE_IDLE},
		{Name: "files", Transport: "stdio", State: mcpbridgev1.ServerState_SERVER_STATE_READY, ProtocolVersion: "2025-11-25",
			ServerInfo: &mcpbridgev1.Implementation{Name: "secure-filesystem", Version: "1.0"}, Sessions: 2},
		{Name: "search", Transport: "http", State: mcpbridgev1.ServerState_SERVER_STATE_BACKOFF, StateReason: "HTTP 503: upstream connect error or disconnect/reset before headers", Restarts: 3},
	}}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		world  world
		args   string
		status int
	}{
		{"servers", world{}, "servers", 0},
		{"servers-terminal", world{terminal: true, width: 80}, "servers", 0},
		{"servers-terminal-wide", world{terminal: true, width: 80, env: map[string]string{"NO_COLOR": "1"}}, "servers --wide", 0},
		{"servers-json", world{}, "servers --json", 0},
		{"tools", world{}, "tools", 0},
		{"tools-terminal", world{terminal: true, width: 60}, "tools", 0},
		{"tools-json", world{}, "tools --json", 0},
		{"tool", world{}, "tools files/read_file", 0},
		{"tool-terminal", world{terminal: true, width: 60}, "tools read_file", 0},
		{"tool-without-arguments", world{}, "tools demo/echo", 0},
		{"tool-json", world{}, "tools demo/echo --json", 0},
		{"tool-unknown", world{}, "tools files/readfile", 1},
		{"tool-unlike-any", world{}, "tools zzzzzz", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.world.bridge = &bridge{servers: someServers(), tools: someTools}
			got := c.world.run(t, strings.Fields(c.args)...)
			if got.status != c.status {
				t.Errorf("status %d, want %d", got.status, c.status)
			}
			golden(t, c.name, got)
		})
	}
}

func TestEmptyLists(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"servers": "no servers\n", "tools": "no tools\n"} {
		if got := (world{bridge: &bridge{}}).run(t, args); got != (outcome{"", want, 0}) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestToolsAsksTheServerThatIsNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"tools":                         "//true",
		"tools -s files":                "/files/true",
		"tools files/x":                 "/files/true",
		"tools --session abc x/y":       "abc//true",
		"tools --server files x/y":      "/files/true",
		"tools --server=files --json":   "/files/true",
		"tools -H X-A:1 --timeout 5s x": "//true",
	} {
		got := ""
		b := &bridge{tools: func(r *mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) {
			got = r.GetSessionId() + "/" + r.GetServer() + "/"
			if r.GetAllPages() {
				got += "true"
			}
			return &mcpbridgev1.ListToolsResponse{}, nil
		}}
		world{bridge: b}.run(t, strings.Fields(args)...)
		if got != want {
			t.Errorf("%s asked for %s, want %s", args, got, want)
		}
		if strings.Contains(args, "X-A") && (b.headers.Get("X-A") != "1" || b.headers.Get("Connect-Timeout-Ms") == "") {
			t.Errorf("%s sent %v", args, b.headers)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	upstream := &mcpbridgev1.UpstreamError{Server: "files", Method: "tools/list", Reason: "REQUEST_LOST", Delivery: mcpbridgev1.Delivery_DELIVERY_SENT,
		ProcessExit: "exit status 3", StderrTail: []string{"Error: boom", "    at x.js:1"}, HttpStatus: 502}
	info := func(reason string) *errdetails.ErrorInfo {
		return &errdetails.ErrorInfo{Reason: reason, Domain: "mcpbridge", Metadata: map[string]string{"phase": "wait"}}
	}
	for _, c := range []struct {
		name string
		args string
		err  *connect.Error
	}{
		{"failed-lost", "tools -s files", said(t, connect.CodeAborted, "connection lost: process ended", info("REQUEST_LOST"), upstream)},
		{"failed-unknown-server", "tools -s file", said(t, connect.CodeNotFound, `no server "file"`, info("SERVER_NOT_FOUND"))},
		{"failed-unknown-server-unlike-any", "tools -s zzzzz", said(t, connect.CodeNotFound, `no server "zzzzz"`, info("SERVER_NOT_FOUND"))},
		{"failed-no-details", "tools", said(t, connect.CodePermissionDenied, "")},
		{"failed-older-bridge", "tools", said(t, connect.CodeUnimplemented, "404 Not Found")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &bridge{servers: someServers(), tools: func(*mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) { return nil, c.err }}
			got := world{bridge: b, env: map[string]string{}}.run(t, strings.Fields(c.args)...)
			if got.status != 1 {
				t.Errorf("status %d", got.status)
			}
			if _, base, ok := strings.Cut(got.err, "http://"); ok {
				base, _, _ = strings.Cut(base, "?")
				got.err = strings.ReplaceAll(got.err, base, "HOST")
			}
			golden(t, c.name, got)
		})
	}
}

func TestNoBridge(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"servers"}, {"tools"}, {"call", "a/b"}, {"watch"}} {
		for _, terminal := range []bool{false, true} {
			got := world{terminal: terminal, env: map[string]string{"NO_COLOR": "1"}}.run(t, append(args, "--addr", addr)...)
			want := "error: no bridge at http://" + addr + ": start one with `mcp-bridge serve`, or say with --addr where it is\n"
			if got != (outcome{"", want, 1}) {
				t.Errorf("%s: %+v", args, got)
			}
		}
	}
}

func TestSomethingElseAnswers(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	got := world{}.run(t, "servers", "--addr", s.URL+"/")
	if got.status != 1 || !strings.Contains(got.err, "is that a mcp-bridge of this version at "+s.URL+"?") {
		t.Errorf("%+v", got)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(gone)
	}))
	defer s.Close()
	got := world{}.run(t, "servers", "--addr", s.URL, "--timeout", "50ms")
	if want := "error: no answer from " + s.URL + " within --timeout\n"; got != (outcome{"", want, 1}) {
		t.Errorf("%+v", got)
	}
	<-gone
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"servers extra":                 "unexpected argument extra",
		"nonsense":                      `unexpected argument nonsense`,
		"servers --addr ftp://x":        `--addr: want a URL such as http://127.0.0.1:8080, not "ftp://x"`,
		"servers -H nonsense":           `--header: want NAME:VALUE, not "nonsense"`,
		"tools --raw":                   "--raw goes with --url; with a bridge use --json",
		"tools --raw --json --url x":    "--json and --raw can't be used together",
		"tools --url nonsense":          `--url: want an MCP URL such as https://mcp.example.com/mcp, not "nonsense"`,
		"tools --url http://x -s y":     "--url goes with neither --server nor --session",
		"tools --url http://x --addr y": "--url speaks to a server without a bridge: it does not go with --addr",
		"call":                          `expected "<tool>`,
		"call files/":                   `"files/" names no tool: want SERVER/TOOL`,
		"call a/b c":                    `argument "c": want key=text or key:=json`,
		"call a/b =c":                   `argument "=c": want key=text or key:=json`,
		"call a/b c:=yes":               `argument "c:=yes": not valid JSON: for a text write c=yes`,
		"call a/b --args [1]":           `--args: want a JSON object, not "[1]"`,
		"call a/b --args @/none":        "--args: open /none: no such file or directory",
		"call a --url http://x -s y":    "--url goes with neither --server nor --session",
		"watch --kind lists":            `--kind: unknown kind "lists": want one of progress, log, list_changed, resource_updated, task, elicitation_complete, server_state, other`,
		"watch --kind list-change":      `--kind: unknown kind "list-change": did you mean list_changed?`,
		"watch --level loud":            `--level: unknown level "loud"`,
		"watch -s a --session b":        "--server and --session can't be used together",
	} {
		got := world{bridge: &bridge{}}.run(t, strings.Fields(args)...)
		if got.status != cli.StatusUsage || !strings.Contains(got.err, want) || got.out != "" {
			t.Errorf("%s: status %d, %q; want %q", args, got.status, got.err, want)
		}
	}
}
