//go:build linux

package guard_test

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
	"syscall"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/guard"
	"github.com/mcpbridge/mcp-bridge/internal/transport/process"
)

// quick keeps the race detector from waiting a second at the end of a process.
const quick = "GORACE=atexit_sleep_ms=0"

// TestMain makes this binary whatever a test needs: the guard, a bridge, its
// child, its grandchild.
func TestMain(m *testing.M) {
	switch word := os.Getenv("GUARD_TEST"); {
	case len(os.Args) > 1 && os.Args[1] == "guard":
		os.Exit(guard.Main(&ready{in: os.Stdin}))
	case word == "bridge":
		bridge()
	case strings.HasPrefix(word, "deaf"):
		deaf(word)
	default:
		os.Exit(m.Run())
	}
}

// ready says on the harness's pipe that the guard has begun to read.
type ready struct {
	in   io.Reader
	told bool
}

func (r *ready) Read(p []byte) (int, error) {
	if !r.told {
		r.told = true
		_, _ = syscall.Write(3, []byte("g"))
	}
	return r.in.Read(p)
}

// deaf hears no signal and no end of input. By its word it has a grandchild that
// is no better: in its group, or in a session of its own.
func deaf(word string) {
	all := make(chan os.Signal, 8)
	signal.Notify(all)
	if word != "deaf" {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{"GUARD_TEST=deaf", quick}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: word == "deaf-setsid"}
		if err := cmd.Start(); err != nil {
			fmt.Println("grandchild:", err)
			os.Exit(1)
		}
	} else {
		fmt.Println("deaf") // the last of the line
	}
	for range all {
	}
}

// bridge starts a guarded child for each word on its input and says "up PID" when
// the grandchild is deaf. "announce" leaves a child between Expect and Started.
// On "close" it ends in good order.
func bridge() {
	g := guard.New(guard.Options{Exe: "/proc/self/exe", Args: []string{"guard"}, Env: []string{quick}})
	var children []*process.Process
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		word := in.Text()
		var pid int
		if _, err := fmt.Sscanf(word, "other than %d", &pid); err == nil {
			fmt.Println("guard", g.AwaitOther(pid))
			continue
		}
		switch word {
		case "pid":
			fmt.Println("guard", g.Pid())
			continue
		case "close":
			for _, p := range children {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if err := p.Stop(ctx); err != nil {
					fmt.Println(err)
				}
			}
			_ = g.Close()
			os.Exit(0)
		}
		hook := process.Guard(g)
		if word == "announce" {
			hook, word = announced{g}, "deaf-child"
		}
		p, err := process.Start(process.Options{
			Path: "/proc/self/exe", Env: []string{"GUARD_TEST=" + word, quick}, Guard: hook,
		})
		if err != nil {
			fmt.Println("start:", err)
			continue
		}
		children = append(children, p)
		if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); line != "deaf\n" {
			fmt.Println("child said", line, err)
			continue
		}
		fmt.Println("up", p.Pid())
	}
}

// announced is a guard that has not heard yet that the child runs.
type announced struct{ *guard.Guard }

func (announced) Started(uint64, int) {}

// A harness is a bridge in a process of its own, and a pipe that ends when the
// bridge, its guard and all descendants are gone.
type harness struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Reader
	alive *os.File
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"GUARD_TEST=bridge", quick}
	cmd.ExtraFiles = []*os.File{w} // passed on by everyone, as nobody knows of it
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	h := &harness{t: t, cmd: cmd, in: in, out: bufio.NewReader(out), alive: r}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = r.Close()
	})
	return h
}

// say gives a word to the bridge and returns the number it answers with.
func (h *harness) say(word, want string) (n int) {
	h.t.Helper()
	_, _ = io.WriteString(h.in, word+"\n")
	line, err := h.out.ReadString('\n')
	if _, serr := fmt.Sscanf(line, want+" %d", &n); serr != nil {
		h.t.Fatalf("%s: the bridge said %q, %v", word, line, err)
	}
	return n
}

// wantAllGone waits until nobody holds the pipe and returns how long it took.
func (h *harness) wantAllGone(within time.Duration) time.Duration {
	h.t.Helper()
	began := time.Now()
	_ = h.alive.SetReadDeadline(began.Add(within))
	if _, err := io.Copy(io.Discard, h.alive); err != nil {
		h.t.Fatalf("after %v somebody is left: %v", within, err)
	}
	return time.Since(began)
}

func TestKillNineOfTheBridge(t *testing.T) {
	for _, word := range []string{"deaf-child", "deaf-setsid", "announce", "deaf"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.say(word, "up")
			h.say(word, "up")
			if err := h.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if d := h.wantAllGone(guard.Grace + 5*time.Second); d < guard.Grace-100*time.Millisecond {
				t.Errorf("all were gone after %v: no patience between SIGTERM and SIGKILL", d)
			}
		})
	}
}

// The bridge is killed at some moment between the order and the running child.
func TestKillNineAtAnyMoment(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.say("pid", "guard")
			_, _ = io.WriteString(h.in, "deaf-child\n")
			<-time.After(time.Duration(i) * 3 * time.Millisecond)
			if err := h.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			h.wantAllGone(guard.Grace + 8*time.Second)
		})
	}
}

// A guard that is killed is replaced by one that knows all that lives.
func TestKillNineOfTheGuard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.say("deaf-child", "up")
	first := h.say("pid", "guard")
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if second := h.say(fmt.Sprint("other than ", first), "guard"); second == first {
		t.Fatalf("guard %d was not replaced", first)
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.wantAllGone(guard.Grace + 5*time.Second)
}

// Signals to the bridge's group or by a careless operator do not end the guard.
func TestGuardHearsNoSignal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.say("deaf-child", "up")
	pid := h.say("pid", "guard")
	if sid, err := syscall.Getpgid(pid); err != nil || sid != pid {
		t.Fatalf("the guard is in group %d, %v", sid, err)
	}
	if _, err := h.alive.Read(make([]byte, 1)); err != nil { // the guard is ready
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.wantAllGone(guard.Grace + 5*time.Second)
}

func TestGoodOrderLeavesNoGuard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.say("deaf-child", "up")
	_, _ = io.WriteString(h.in, "close\n")
	if d := h.wantAllGone(10 * time.Second); d > guard.Grace {
		t.Errorf("took %v: the guard thought there was something to do", d)
	}
	if err := h.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestNoGuardNoChild(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Options{Exe: "/no/such/file"})
	defer g.Close()
	_, err := process.Start(process.Options{Path: "/proc/self/exe", Guard: g})
	if _, ok := errors.AsType[*process.StartError](err); !ok {
		t.Fatal(err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("+ 1 2 3 4\n- 1\n")
	f.Add("+ 1 2 3\n= 1\n- 9999999999999999999999\n\n= 1 -1 5\n- 1")
	f.Add(strings.Repeat("x", 10_000) + "\n")
	f.Fuzz(func(t *testing.T, in string) {

		guard.Read(strings.NewReader(in))
	})
}
