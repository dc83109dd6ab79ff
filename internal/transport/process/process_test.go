//go:build linux

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/transport/process"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

const quick = "GORACE=atexit_sleep_ms=0"

// TestMain makes this binary the child that PROCESS_TEST names.
func TestMain(m *testing.M) {
	switch word := os.Getenv("PROCESS_TEST"); word {
	case "":
		os.Exit(m.Run())
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "exit":
		os.Exit(3)
	case "deaf": // to everything; says when it is
		all := make(chan os.Signal, 1)
		signal.Notify(all)
		fmt.Println("deaf")
		for range all {
		}
	case "sigterm": // deaf to the end of input
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("up")
		<-c
		fmt.Fprintln(os.Stderr, "got SIGTERM")
		os.Exit(6)
	case "fork", "fork-setsid": // ends when its child is deaf
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{"PROCESS_TEST=deaf", quick}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: word == "fork-setsid"}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if word == "fork-setsid" {
			fmt.Println("pid", cmd.Process.Pid)
		}
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "stderr":
		for i := range 100 {
			fmt.Fprintf(os.Stderr, "line %d\r\n", i)
		}
		fmt.Fprintf(os.Stderr, "%s\n\xff\nunended", strings.Repeat("x", 5000))
	case "env":
		wd, _ := os.Getwd()
		fmt.Println(strings.Join(os.Args, "|"), strings.Join(os.Environ(), "|"), wd)
		for fd := range 3 {
			flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
			fmt.Println("waits", flags&syscall.O_NONBLOCK == 0)
		}
	}
}

func options(word string) process.Options {
	return process.Options{
		Path: "/proc/self/exe", Env: []string{"PROCESS_TEST=" + word, quick},
		StopGrace: 100 * time.Millisecond, KillGrace: 200 * time.Millisecond,
	}
}

func start(t *testing.T, o process.Options) (*process.Process, *bufio.Reader) {
	t.Helper()
	transporttest.Leak(t)
	p, err := process.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Stop(context.Background())
		_ = p.Stdout.Close()
	})
	return p, bufio.NewReader(p.Stdout)
}

func wantLine(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if line, err := r.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
}

// stop stops and returns how long it took.
func stop(t *testing.T, p *process.Process, ctx context.Context) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
	return time.Since(began)
}

func TestWellBehaved(t *testing.T) {
	p, out := start(t, options("cat"))
	if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	wantLine(t, out, "hello")
	if e := p.Exit(); e != "" {
		t.Fatalf("it lives and has ended with %q", e)
	}
	stop(t, p, t.Context())
	if e := p.Exit(); e != "exit status 0" {
		t.Error(e)
	}
	stop(t, p, t.Context())
}

func TestExitStatus(t *testing.T) {
	p, _ := start(t, options("exit"))
	<-p.Exited()
	if e := p.Exit(); e != "exit status 3" {
		t.Error(e)
	}
}

func TestKilledByOthers(t *testing.T) {
	p, out := start(t, options("deaf"))
	wantLine(t, out, "deaf")
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if e := p.Exit(); e != "signal: killed" {
		t.Error(e)
	}
}

func TestStopEscalates(t *testing.T) {
	for _, c := range []struct {
		word, up, exit string
		ctx            time.Duration // 0: none
		min, max       time.Duration
	}{
		{"sigterm", "up", "exit status 6", 0, 100 * time.Millisecond, 2 * time.Second},
		{"deaf", "deaf", "signal: killed", 0, 300 * time.Millisecond, 3 * time.Second},
		{"deaf", "deaf", "signal: killed", time.Nanosecond, 0, 250 * time.Millisecond},
	} {
		t.Run(c.word, func(t *testing.T) {
			p, out := start(t, options(c.word))
			wantLine(t, out, c.up)
			ctx := context.Background()
			if c.ctx > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.ctx)
				defer cancel()
			}
			if d := stop(t, p, ctx); d < c.min || d > c.max {
				t.Errorf("Stop took %v", d)
			}
			if e := p.Exit(); e != c.exit {
				t.Error(e)
			}
		})
	}
}

// The leader has gone; the rest of its group hears nothing and keeps all pipes.
func TestRestOfTheGroup(t *testing.T) {
	for _, ended := range []bool{true, false} {
		p, out := start(t, options("fork"))
		wantLine(t, out, "deaf")
		if ended {
			_ = p.Stdin.Close()
			<-p.Exited()
		}
		if d := stop(t, p, context.Background()); d > 3*time.Second {
			t.Errorf("Stop took %v", d)
		}
		if _, err := out.ReadByte(); err != io.EOF {
			t.Errorf("somebody still holds the output: %v", err)
		}
	}
}

// Who has left the group is beyond us, but must not hold us up.
func TestEscaped(t *testing.T) {
	p, out := start(t, options("fork-setsid"))
	pid := 0
	for range 2 { // "deaf" and the process id, in any order
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Sscanf(line, "pid %d", &pid)
	}
	if pid == 0 {
		t.Fatal("the child did not tell who has escaped")
	}
	if d := stop(t, p, context.Background()); d > 3*time.Second {
		t.Errorf("Stop took %v", d)
	}
	// It is still there, and is ours to end.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := out.ReadByte(); err != io.EOF {
		t.Error(err)
	}
}

func TestStopTogether(t *testing.T) {
	p, out := start(t, options("deaf"))
	wantLine(t, out, "deaf")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { stop(t, p, context.Background()) })
	}
	wg.Wait()
}

func TestStderr(t *testing.T) {
	var mu sync.Mutex
	var told []string
	o := options("stderr")
	o.Stderr = func(line string) { mu.Lock(); defer mu.Unlock(); told = append(told, line) }
	p, _ := start(t, o)
	<-p.Exited()
	p.AwaitStderr(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 103 || told[0] != "line 0" || told[100] != strings.Repeat("x", process.MaxLine) ||
		told[101] != "\uFFFD" || told[102] != "unended" {
		t.Errorf("%d lines: %.200q", len(told), told)
	}
	if d := cmp.Diff(told[103-process.TailLines:], p.StderrTail()); d != "" {
		t.Error(d)
	}
}

func TestEnvironment(t *testing.T) {
	o := options("env")
	o.Args, o.Dir = []string{"a b", ""}, t.TempDir()
	p, out := start(t, o)
	wantLine(t, out, fmt.Sprintf("/proc/self/exe|a b| %s %s", strings.Join(append(o.Env, "PWD="+o.Dir)[:2], "|"), o.Dir))
	for range 3 {
		wantLine(t, out, "waits true")
	}
	stop(t, p, t.Context())
}

// A recorder is a Guard that writes down what it is told.
type recorder struct {
	mu   sync.Mutex
	said []string
	err  error
}

func (r *recorder) say(s string) { r.mu.Lock(); defer r.mu.Unlock(); r.said = append(r.said, s) }

func (r *recorder) Expect(streams [3]*os.File) (uint64, error) {
	r.say(fmt.Sprint("expect ", streams[0] != nil && streams[1] != nil && streams[2] != nil))
	return 7, r.err
}
func (r *recorder) Started(key uint64, pid int) { r.say(fmt.Sprint("started ", key, pid > 0)) }
func (r *recorder) Done(key uint64)             { r.say(fmt.Sprint("done ", key)) }

func TestGuardIsTold(t *testing.T) {
	r := new(recorder)
	o := options("cat")
	o.Guard = r
	p, _ := start(t, o)
	stop(t, p, t.Context())
	o.Path = "/no/such"
	if _, err := process.Start(o); err == nil {
		t.Fatal("started")
	}
	r.err = errors.New("no guard")
	if _, err := process.Start(o); !errors.Is(err, r.err) {
		t.Fatal(err)
	}
	want := []string{"expect true", "started 7 true", "done 7", "expect true", "done 7", "expect true"}
	if d := cmp.Diff(want, r.said); d != "" {
		t.Error(d)
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, err := process.Start(options("exit"))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = p.Stop(context.Background())
		_ = p.Stdout.Close()
		b.StartTimer()
	}
}
