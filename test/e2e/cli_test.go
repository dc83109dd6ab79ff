//go:build unix

package e2e_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// TestCommandLine: each subcommand, what it prints and how it ends.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry()+"  other:\n"+demoEntry()+"  broken:\n"+roleEnv("scripted", "START=exit"))
	url := startDemoHTTP(t)
	good := writeFile(t, "good.yaml", "servers:\n  demo:\n"+demoEntry())
	bad := writeFile(t, "bad.yaml", "servers:\n  demo:\n"+demoEntry()+"  broken:\n"+roleEnv("scripted", "START=exit"))
	addr := "--addr=" + b.base
	title := strings.NewReplacer(" "+addr, "", url, "URL", good, "good.yaml", bad, "bad.yaml")
	for _, tt := range []struct {
		args   string
		status int
		says   string // in what it writes to either output
	}{
		{"version", 0, "mcp-bridge "},
		{"--help", 0, "Serve MCP servers"},
		{"servers " + addr, 0, "demo"},
		{"tools --server demo " + addr, 0, "echo"},
		{"tools demo/add " + addr, 0, "Adds two numbers"},
		{"tools --server nobody " + addr, 1, "nobody"},
		{"call demo/echo message=hello " + addr, 0, "hello"},
		{"call add --server other a:=1 b:=9007199254740993 " + addr, 0, "9007199254740994"},
		{"call demo/echo --args {\"message\":\"from_JSON\"} " + addr, 0, "from_JSON"},
		{"call demo/fail message=no_luck " + addr, 1, "no_luck"},
		{"call demo/error code:=-32602 message=wrong " + addr, 1, "-32602"},
		{"call demo/nonesuch " + addr, 1, "nonesuch"},
		{"call broken/ok " + addr, 1, "cannot open the database"},
		{"call demo/sleep seconds:=30 --timeout 300ms " + addr, 1, "timeout"},
		{"call demo/echo message " + addr, 2, "key=text"},
		{"call demo/echo message:=oops " + addr, 2, "not valid JSON"},
		{"call", 2, "tool"},
		{"nonesuch", 2, "nonesuch"},
		{"servers --addr=http://127.0.0.1:1", 1, "127.0.0.1:1"},
		{"tools --url " + url, 0, "echo"},
		{"call echo message=alone --url " + url, 0, "alone"},
		{"call echo message=alone --raw --url " + url, 0, `"jsonrpc":"2.0"`},
		{"call fail message=no_luck --url " + url, 1, "no_luck"},
		{"call error code:=-32000 message=wrong --raw --url " + url, 1, `"code":-32000`},
		{"check --config " + good, 0, "demo"},
		{"check --config " + bad, 1, "cannot open the database"},
		{"check --config /no/such/file", 2, "/no/such/file"},
	} {
		t.Run(title.Replace(tt.args), func(t *testing.T) {
			out, status := run(t, strings.Split(tt.args, " ")...)
			if status != tt.status || !strings.Contains(out, tt.says) {
				t.Errorf("status %d, want %d and %q:\n%s", status, tt.status, tt.says, out)
			}
		})
	}
}

// TestCommandLineJSON: with --json standard output holds JSON and nothing else.
func TestCommandLineJSON(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	for args, has := range map[string]string{
		"servers --json":                 `"demo"`,
		"tools --json --server demo":     `"echo"`,
		"call demo/structured --json":    `9007199254740993`,
		"call demo/echo message=x --raw": `"content"`,
	} {
		out, errOut, status := runApart(t, append(strings.Split(args, " "), "--addr", b.base)...)
		if status != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, has) {
			t.Errorf("%s: status %d\n%s\n%s", args, status, out, errOut)
		}
	}
}

// TestWatchCommand: watch prints an event a line, and ends with an interrupt.
func TestWatchCommand(t *testing.T) {
	t.Parallel()
	b := serveConfig(t, "servers:\n  demo:\n"+demoEntry())
	cmd := exec.Command(program, "watch", "--addr", b.base, "--server", "demo", "--json")
	cmd.Env = environment(t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	await := func(part string) {
		t.Helper()
		for lines.Scan() {
			if !json.Valid(lines.Bytes()) {
				t.Errorf("no JSON: %s", lines.Text())
			}
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("watch ends before %s", part)
	}
	await("SERVER_STATE_READY") // the watch has started the server
	for _, r := range []*mcpbridgev1.CallToolRequest{
		{Server: "demo", Name: "notify", ArgumentsJson: `{"kind":"list_changed","list":"prompts"}`},
		{Server: "demo", Name: "notify", ArgumentsJson: `{"kind":"list_changed"}`},
	} {
		if _, err := b.rpc().call(within(t, patience), r); err != nil {
			t.Fatal(err)
		}
	}
	await("LIST_KIND_PROMPTS")
	await("LIST_KIND_TOOLS")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("watch ends with %v", err)
	}
}

// TestServeWithoutServers: the demo server is there to try things with.
func TestServeWithoutServers(t *testing.T) {
	t.Parallel()
	b := serve(t)
	res, err := b.rpc().call(within(t, patience), &mcpbridgev1.CallToolRequest{Name: "echo", ArgumentsJson: `{"message":"hi"}`})
	if err != nil || firstText(res.GetResult()) != "hi" {
		t.Errorf("%v %v", res, err)
	}
	if !strings.Contains(b.log.String(), "demo server") || !strings.Contains(b.log.String(), b.base) {
		t.Error("the log does not say so")
	}
}

// TestServerFlags: targets are URLs and command lines, split as a shell would.
func TestServerFlags(t *testing.T) {
	t.Parallel()
	b := serve(t, "--server", "web="+startDemoHTTP(t), "--server", `cmd='`+program+`' "demo-server"`, "--", program, "demo-server")
	for _, server := range []string{"web", "cmd", "default"} {
		res, err := b.rpc().call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: server, Name: "echo", ArgumentsJson: `{"message":"hi"}`})
		if err != nil || firstText(res.GetResult()) != "hi" {
			t.Errorf("%s: %v %v", server, res, err)
		}
	}
	servers, err := b.rpc().servers(within(t, patience))
	if err != nil || len(servers) != 3 {
		t.Errorf("%v %v", servers, err)
	}
	for _, s := range servers {
		if s.State != mcpbridgev1.ServerState_SERVER_STATE_READY || s.ServerInfo.GetName() != "mcp-bridge-demo" {
			t.Errorf("%v", s)
		}
	}
}
