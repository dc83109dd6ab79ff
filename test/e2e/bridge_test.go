//go:build unix

package e2e_test

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A bridge is a running mcp-bridge serve.
type bridge struct {
	t     *testing.T
	home  string // also the mark by which its processes are known: servers inherit HOME
	ready string
	base  string
	cmd   *exec.Cmd
	log   *logFile
	ended chan struct{}
	err   error     // of Wait, once ended is closed
	kids  []process // children that it had when it was last told to end
}

// A logFile keeps what a process writes.
type logFile struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logFile) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// serve starts a bridge with the given flags, waits until it listens, and at the
// end of the test stops it by SIGTERM: it must end with status 0 and leave no
// process behind.
func serve(t *testing.T, args ...string) *bridge {
	t.Helper()
	b := launch(t, args...)
	if !until(patience, func() bool { return b.readURL() || b.hasEnded() }) || b.base == "" {
		t.Fatalf("the bridge does not get ready:\n%s", b.log)
	}
	return b
}

// serveConfig is serve with a configuration file.
func serveConfig(t *testing.T, yaml string, args ...string) *bridge {
	t.Helper()
	return serve(t, append([]string{"--config", writeFile(t, "bridge.yaml", yaml)}, args...)...)
}

// launch starts a bridge and does not wait.
func launch(t *testing.T, args ...string) *bridge {
	t.Helper()
	home := t.TempDir()
	return launchIn(t, home, args...)
}

// launchIn starts a bridge whose home, and so whose cache, is the given one.
func launchIn(t *testing.T, home string, args ...string) *bridge {
	t.Helper()
	b := &bridge{t: t, home: home, ready: filepath.Join(t.TempDir(), "ready"), log: &logFile{}, ended: make(chan struct{})}
	all := append([]string{"serve", "--listen", "127.0.0.1:0", "--ready-file", b.ready, "--log-level", "debug"}, args...)
	b.cmd = exec.Command(program, all...)
	b.cmd.Env = environment(home)
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		b.err = b.cmd.Wait()
		close(b.ended)
	}()
	t.Cleanup(b.cleanup)
	return b
}

// environment is that of a user with an empty home.
func environment(home string) []string {
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "E2E_SECRET=" + bridgeSecret}
	for _, name := range []string{"PATH", "LANG", "TMPDIR", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "GORACE="+raceOptions)
}

// raceOptions keep the race detector from waiting a second at each exit.
const raceOptions = "atexit_sleep_ms=0"

// bridgeSecret stands in the bridge's own environment and must not reach any server.
const bridgeSecret = "not-for-servers"

func (b *bridge) readURL() bool {
	text, err := os.ReadFile(b.ready)
	if err == nil {
		b.base = strings.TrimSuffix(string(text), "\n")
	}
	return err == nil
}

func (b *bridge) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// signal sends one to the bridge alone.
func (b *bridge) signal(s syscall.Signal) {
	b.t.Helper()
	if !b.hasEnded() {
		b.kids = children(b.cmd.Process.Pid)
	}
	if err := b.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		b.t.Error(err)
	}
}

// wait waits for the bridge's end and returns its exit status.
func (b *bridge) wait(d time.Duration) int {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(d):
		b.t.Errorf("the bridge still runs after %v", d)
		b.signal(syscall.SIGKILL)
		<-b.ended
	}
	return b.cmd.ProcessState.ExitCode()
}

// stop ends the bridge as an operator does and checks what is left.
func (b *bridge) stop() {
	b.t.Helper()
	b.signal(syscall.SIGTERM)
	if status := b.wait(30 * time.Second); status != 0 {
		b.t.Errorf("exit status %d", status)
	}
	b.nothingLeft(5 * time.Second)
}

// nothingLeft waits until no process of the bridge's tree is left.
func (b *bridge) nothingLeft(d time.Duration) {
	b.t.Helper()
	var left []process
	if !until(d, func() bool { left = b.left(); return len(left) == 0 }) {
		b.t.Errorf("after %v still there: %v", d, left)
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}

// left are the processes that still run: those with its home, and its children,
// whatever their environment.
func (b *bridge) left() []process {
	left := marked(b.home)
	for _, p := range b.kids {
		if alive(p.pid) && !slices.ContainsFunc(left, func(q process) bool { return q.pid == p.pid }) {
			left = append(left, p)
		}
	}
	return left
}

func (b *bridge) cleanup() {
	if !b.hasEnded() {
		b.stop()
	}
	<-b.ended
	log := b.log.String()
	if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") || strings.Contains(log, "goroutine 1 [") {
		b.t.Errorf("the bridge raced or panicked:\n%s", log)
	} else if b.t.Failed() {
		b.t.Logf("log of the bridge:\n%s", tail(log, 8<<10))
	}
}

// staysBelow checks how much memory the bridge has taken at most. The race
// detector takes several times as much, so with it there is nothing to check.
func (b *bridge) staysBelow(limit int64) {
	b.t.Helper()
	peak := residentBytes(b.cmd.Process.Pid)
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		b.t.Error(err)
		return
	}
	raced := slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
	b.t.Logf("the bridge took %d MiB (race detector: %v)", peak>>20, raced)
	if peak > limit && !raced {
		b.t.Errorf("the bridge took %d MiB, want less than %d", peak>>20, limit>>20)
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
