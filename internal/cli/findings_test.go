package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/cli"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	findings := []cli.Finding{
		{Server: "good", Transport: "stdio", Protocol: "2025-11-25", Software: "s", SoftwareVersion: "1", Tools: 3, Resources: -1, Prompts: 0},
		{Server: "bad", Transport: "http", Error: "connection refused"},
	}
	var out bytes.Buffer
	err := cli.PrintFindings(&cli.Context{Stdout: &out, Stderr: &out}, findings, false)
	if cli.ExitStatus(err) != cli.StatusFailed || err.Error() != "1 of 2 servers failed" {
		t.Errorf("error %v", err)
	}
	want := strings.Join([]string{
		"SERVER  TYPE   RESULT  PROTOCOL    SOFTWARE  TOOLS  RESOURCES  PROMPTS",
		"good    stdio  ok      2025-11-25  s 1       3      -          0",
		"bad     http   failed",
		"bad: connection refused", "",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := cli.PrintFindings(&cli.Context{Stdout: &out, Stderr: &out}, findings[:1], true); err != nil || !strings.Contains(out.String(), `"resources": -1`) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
