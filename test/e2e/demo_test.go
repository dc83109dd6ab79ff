//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// demoEntry is the entry of the demo server as a child of the bridge.
func demoEntry() string {
	return fmt.Sprintf("    command: %q\n    args: [demo-server]\n    env: {GORACE: %q}\n", program, raceOptions)
}

// startDemoHTTP starts the demo server on its own and returns its URL.
func startDemoHTTP(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	log := &logFile{}
	cmd := exec.Command(program, "demo-server", "--http", addr)
	cmd.Env, cmd.Stderr = environment(t.TempDir()), log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the demo server: %v\n%s", err, log)
		}
	})
	if !until(patience, func() bool { return strings.Contains(log.String(), "listening") }) {
		t.Fatalf("the demo server does not listen: %s", log)
	}
	return "http://" + addr + "/mcp"
}

// toolStats is what the demo server says of one of its tools.
type toolStats struct{ Calls, Finished, Cancelled, Running int }

func (a api) stats(t *testing.T, server, tool string) toolStats {
	t.Helper()
	res, err := a.call(within(t, patience), &mcpbridgev1.CallToolRequest{Server: server, Name: "stats"})
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Tools map[string]toolStats }
	if err := json.Unmarshal([]byte(res.GetResult().GetStructuredContent().GetText()), &all); err != nil {
		t.Fatal(err)
	}
	return all.Tools[tool]
}

// runs waits until so many calls of sleep run.
func (a api) runs(t *testing.T, server string, n int) {
	t.Helper()
	eventually(t, patience, fmt.Sprintf("%d calls run", n), func() bool { return a.stats(t, server, "sleep").Running == n })
}

// cancelled waits until a call of sleep was cancelled at the server.
func (a api) cancelled(t *testing.T, server string) {
	t.Helper()
	eventually(t, 3*time.Second, "the server is told of the cancellation", func() bool {
		s := a.stats(t, server, "sleep")
		return s.Cancelled == 1 && s.Running == 0
	})
}

// sleepCall is a call of the demo server's sleep.
func sleepCall(server string, seconds float64) *mcpbridgev1.CallToolRequest {
	return &mcpbridgev1.CallToolRequest{Server: server, Name: "sleep", ArgumentsJson: fmt.Sprintf(`{"seconds":%g}`, seconds)}
}

// noSuchFile reports whether a file is gone.
func noSuchFile(name string) bool {
	_, err := os.Stat(name)
	return os.IsNotExist(err)
}
