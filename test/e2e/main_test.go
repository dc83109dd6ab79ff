//go:build unix

package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// roleVariable makes the test binary something else than a test: one of the
// servers that the tests put behind the bridge.
const roleVariable = "E2E_ROLE"

var roles = map[string]func() int{
	"scripted": scriptedStdio,
	"deaf":     deafServer,
	"gusher":   gusher,
}

// program is the path of the built mcp-bridge.
var program string

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		run, ok := roles[role]
		if !ok {
			fmt.Fprintf(os.Stderr, "no role %q\n", role)
			os.Exit(2)
		}
		os.Exit(run())
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	flag.Parse()
	// Most tests wait for other processes: more of them fit than there are cores.
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", fmt.Sprint(max(4, runtime.GOMAXPROCS(0))))
	}
	if program = os.Getenv("E2E_BINARY"); program != "" {
		return m.Run() // one that was built elsewhere, such as a release
	}
	dir, err := os.MkdirTemp("", "mcp-bridge-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	program = filepath.Join(dir, "mcp-bridge")
	args := []string{"build", "-o", program}
	if os.Getenv("E2E_RACE") != "" {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/mcp-bridge")...)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
