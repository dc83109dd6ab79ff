//go:build linux

package transporttest_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// TestLeakFinds runs this binary again, in which tests leak on purpose.
func TestLeakFinds(t *testing.T) {
	for _, c := range []struct{ what, want string }{
		{"goroutine", "1 goroutines left behind"},
		{"descriptor", "2 descriptors left behind"},
		{"child", "1 child processes left behind"},
		{"nothing", ""},
		{"parallel", "using t.Setenv"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestLeaking$")
			cmd.Env = append(os.Environ(), "LEAK="+c.what, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if (err != nil) != (c.want != "") || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, want %q:\n%s", err, c.want, out)
			}
		})
	}
}

func TestLeaking(t *testing.T) {
	what := os.Getenv("LEAK")
	if what == "" {
		t.Skip("only when started by TestLeakFinds")
	}
	if what == "parallel" {
		t.Parallel()
	}
	transporttest.Leak(t)
	switch what {
	case "goroutine":
		go func() { <-make(chan int) }()
	case "descriptor":
		if err := syscall.Pipe(make([]int, 2)); err != nil { // no finalizer closes these
			t.Fatal(err)
		}
	case "child":
		cmd := exec.Command("/proc/self/exe", "-test.run=^$")
		if err := cmd.Start(); err != nil { // nobody waits: a zombie
			t.Fatal(err)
		}
	}
}
