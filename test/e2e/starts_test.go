//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// TestStartsThatFail: a server that does not get ready says why, on time, and
// does not disturb others.
func TestStartsThatFail(t *testing.T) {
	for how, tt := range map[string]struct {
		deadline time.Duration
		want     want
		exit     string
	}{
		"exit":     {patience, want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", notSent, []string{"exit status 9", "cannot open the database"}}, "exit status 9"},
		"silent":   {time.Second, want{connect.CodeDeadlineExceeded, "TIMEOUT", notSent, nil}, ""},
		"nonsense": {time.Second, want{connect.CodeDeadlineExceeded, "TIMEOUT", notSent, nil}, ""},
		"flood":    {time.Second, want{code: 0, delivery: notSent}, ""},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := serveConfig(t, "servers:\n  demo:\n"+demoEntry()+"  bad:\n    stop_grace: 300ms\n    max_message_bytes: 1048576\n"+roleEnv("scripted", "START="+how))
			begun := time.Now()
			_, err := b.rpc().call(within(t, tt.deadline), &mcpbridgev1.CallToolRequest{Server: "bad", Name: "ok"})
			took := time.Since(begun)
			if how == "flood" {
				// Either it is noise, or a message over the limit: both are an end.
				if code := err.(*fault).code; code != connect.CodeDeadlineExceeded && code != connect.CodeUnavailable && code != connect.CodeResourceExhausted {
					t.Error(err)
				}
			} else if f := tt.want.check(t, err); f.upstream.GetProcessExit() != tt.exit {
				t.Errorf("process_exit is %q", f.upstream.GetProcessExit())
			}
			if tt.deadline < patience && took > tt.deadline+100*time.Millisecond || took > atOnce {
				t.Errorf("took %v", took)
			}
			res, err := b.rpc().call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: "demo", Name: "echo", ArgumentsJson: `{"message":"here"}`})
			if err != nil || firstText(res.GetResult()) != "here" {
				t.Errorf("the other server: %v %v", res, err)
			}
			b.staysBelow(256 << 20)
		})
	}
}

// TestCommandThatIsNotThere: so does a command that does not exist.
func TestCommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := serve(t, "--", filepath.Join(t.TempDir(), "no-such-command"), "--flag")
	quickly(t, atOnce, "the call", func() {
		_, err := b.rpc().call(within(t, patience), &mcpbridgev1.CallToolRequest{Name: "ok"})
		want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", notSent, []string{"no-such-command"}}.check(t, err)
	})
	servers, err := b.rpc().servers(within(t, patience))
	if err != nil || len(servers) != 1 || servers[0].Name != "default" || servers[0].StateReason == "" {
		t.Errorf("%v %v", servers, err)
	}
}

// TestConfigurationErrors: the place of an error is told, and serve ends with 2.
func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, says string }{
		{"unknown.yaml", "listen: 127.0.0.1:0\nservers:\n  a:\n    comand: x\n", "unknown.yaml:4:5"},
		{"type.yaml", "servers:\n  a:\n    command: x\n    timeout: soon\n", "type.yaml:4:14"},
		{"twice.yaml", "servers:\n  a: {command: x}\n  a: {command: y}\n", "twice.yaml:3:3"},
		{"broken.json", "{\"servers\": {\n  \"a\": {\"command\": }\n}}", "broken.json:2:"},
		{"unset.yaml", "servers:\n  a:\n    url: https://${E2E_NOT_SET}/mcp\n", "unset.yaml:3:10"},
	} {
		out, status := run(t, "serve", "--config", writeFile(t, tt.name, tt.text))
		if status != 2 || !strings.Contains(out, tt.says) {
			t.Errorf("%s: status %d, want 2 and %s:\n%s", tt.name, status, tt.says, out)
		}
	}
	if out, status := run(t, "serve", "--config", "/no/such/file.yaml"); status != 2 || !strings.Contains(out, "/no/such/file.yaml") {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := run(t, "serve", "--listen", "nowhere"); status != 2 {
		t.Errorf("status %d: %s", status, out)
	}
}

// run runs a subcommand to its end and returns all that it writes.
func run(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	stdout, stderr, status := runApart(t, args...)
	return stdout + stderr, status
}

func runApart(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment(t.TempDir())
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if ctx.Err() != nil || err != nil && cmd.ProcessState == nil {
		t.Errorf("%v: %v", args, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// TestStaleList: a server that is slow to start is listed at once from the cache
// of an earlier run; when the real list differs, watchers are told.
func TestStaleList(t *testing.T) {
	t.Parallel()
	slow := writeFile(t, "slow.sh", fmt.Sprintf("#!/bin/sh\nif [ -e \"$HOME/slow\" ]; then sleep 5; exec env %s=scripted %q; fi\nexec %q demo-server\n", roleVariable, os.Args[0], program))
	if err := os.Chmod(slow, 0o700); err != nil {
		t.Fatal(err)
	}
	config := writeFile(t, "bridge.yaml", fmt.Sprintf("servers:\n  slow:\n    command: %q\n", slow))
	home := t.TempDir()
	start := func() *bridge {
		b := launchIn(t, home, "--config", config)
		eventually(t, patience, "the bridge is ready", b.readURL)
		return b
	}
	list := &mcpbridgev1.ListToolsRequest{Server: "slow", AllPages: true}
	first := start()
	fresh, err := first.rpc().tools(within(t, patience), list)
	if err != nil || fresh.Stale || len(fresh.Tools) < 5 {
		t.Fatalf("%v %v", fresh, err)
	}
	first.stop()

	if err := os.WriteFile(filepath.Join(home, "slow"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := start().rpc()
	watch, err := a.stream(within(t, patience), "WatchNotifications", &mcpbridgev1.WatchNotificationsRequest{Kinds: []mcpbridgev1.NotificationKind{mcpbridgev1.NotificationKind_NOTIFICATION_KIND_LIST_CHANGED}})
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.next(&mcpbridgev1.WatchNotificationsResponse{}); err != nil {
		t.Fatal(err)
	}
	quickly(t, 500*time.Millisecond, "the stale list", func() {
		stale, err := a.tools(within(t, patience), list)
		if err != nil || !stale.Stale || len(stale.Tools) != len(fresh.Tools) {
			t.Errorf("%v %v", stale, err)
		}
	})
	changed := &mcpbridgev1.WatchNotificationsResponse{}
	if err := watch.next(changed); err != nil || changed.GetListChanged().GetList() != mcpbridgev1.ListKind_LIST_KIND_TOOLS {
		t.Fatalf("%v %v", changed, err)
	}
	real, err := a.tools(within(t, patience), list)
	if err != nil || real.Stale || len(real.Tools) != 1 {
		t.Errorf("%v %v", real, err)
	}
}
