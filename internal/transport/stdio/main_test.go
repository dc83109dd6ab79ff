//go:build unix

package stdio_test

import (
	"bufio"
	"bytes"
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

	"github.com/mcpbridge/mcp-bridge/internal/transport/stdio"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// TestMain makes this binary the server that STDIO_TEST names.
func TestMain(m *testing.M) {
	word := os.Getenv("STDIO_TEST")
	if word == "" {
		os.Exit(m.Run())
	}
	if behave := servers[word]; behave != nil {
		behave()
		return
	}
	fmt.Fprintln(os.Stderr, "unknown server", word)
	os.Exit(2)
}

// servers are the ways a child behaves.
var servers = map[string]func(){
	"obey": func() { obeyAll(os.Stdin, os.Stdout, childFar{}) },
	"crash": func() {
		fmt.Fprintln(os.Stderr, "panic: cannot open database")
		fmt.Fprintln(os.Stderr, "at line 7")
		os.Exit(3)
	},
	"deaf": func() { // to end of input and to signals
		c := make(chan os.Signal, 1)
		signal.Notify(c)
		fmt.Printf("[%d]\n", os.Getpid())
		for range c {
		}
	},
	"stderr-flood": func() {
		chunk := bytes.Repeat([]byte("e"), 100<<10)
		for range 11 {
			_, _ = os.Stderr.Write(chunk)
		}
		fmt.Fprintln(os.Stderr, "\nlast line")
		fmt.Println(`["flooded"]`)
		obeyAll(os.Stdin, os.Stdout, childFar{})
	},
	"garbage": func() {
		fmt.Print("\xEF\xBB\xBF[\"first\"]\r\n\n  \r\nnpm notice new version\n\x00\xff\xfe\n  {\"second\":2}\n42\n\"text\"\n[\"unended\"]")
	},
	"silent": func() { <-signals() },
	"stdout-eof": func() { // and alive
		_ = os.Stdout.Close()
		<-signals()
	},
	"stdin-eof": func() { // and alive, with something to say yet
		_ = os.Stdin.Close()
		fmt.Println(`["deaf"]`)
		<-signals()
	},
	"not-reading": func() {
		fmt.Println(`["up"]`)
		<-signals()
	},
	"forking":  func() { fork(false) }, // a descendant keeps all pipes
	"escaping": func() { fork(true) },  // and has left the group
	"last-words": func() { // says much at the end of input before it ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		line := append(bytes.Repeat([]byte("w"), 2<<20), '\n')
		if _, err := os.Stdout.Write(line); err != nil {
			os.Exit(4)
		}
		fmt.Fprintln(os.Stderr, "end of input came first")
	},
	"sigterm": func() { // tells in which order things came
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println(`["up"]`)
		eof := make(chan struct{})
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(eof) }()
		select {
		case <-eof:
			fmt.Fprintln(os.Stderr, "end of input")
		case <-c:
			fmt.Fprintln(os.Stderr, "signal before end of input")
			os.Exit(5)
		}
		<-c
		fmt.Fprintln(os.Stderr, "SIGTERM")
		os.Exit(6)
	},
}

func fork(escape bool) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"STDIO_TEST=deaf"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: escape}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	obeyAll(os.Stdin, os.Stdout, childFar{})
}

func signals() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c
}

// obeyAll hands each line to transporttest.Obey.
func obeyAll(in io.Reader, out io.Writer, far transporttest.Far) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		if err := transporttest.Obey(bytes.TrimSuffix(line, []byte("\n")), far); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
}

type childFar struct{}

func (childFar) Reply(frame []byte) error {
	_, err := os.Stdout.Write(append(frame, '\n'))
	return err
}
func (childFar) End()   { os.Exit(0) }
func (childFar) Break() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); <-signals() }
func (childFar) Hold()  { <-signals() }

// dialer starts this binary as the server of that name.
func dialer(server string) *stdio.Dialer {
	return &stdio.Dialer{
		Command:         "/proc/self/exe",
		Env:             []string{"STDIO_TEST=" + server, "GORACE=atexit_sleep_ms=0"},
		MaxMessageBytes: transporttest.MaxMessageBytes,
		StopGrace:       200 * time.Millisecond,
		KillGrace:       200 * time.Millisecond,
	}
}

// TestContract runs the suite on a child.
func TestContract(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Peer {
		conn, err := dialer("obey").Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return transporttest.Peer{Conn: conn, Frame: transporttest.JSON}
	})
}

// TestContractOnPipes runs it on two pipes without a process.
func TestContractOnPipes(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Peer {
		conn, in, out := pipes(t, stdio.Options{MaxMessageBytes: transporttest.MaxMessageBytes})
		far := &pipeFar{in: in, out: out, held: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			obeyAll(in, out, far)
			far.End()
		}()
		t.Cleanup(func() { // the link is closed by now
			close(far.held)
			<-done
		})
		return transporttest.Peer{Conn: conn, Frame: transporttest.JSON}
	})
}

type pipeFar struct {
	in, out *os.File
	held    chan struct{}
}

func (f *pipeFar) Reply(frame []byte) error {
	_, err := f.out.Write(append(bytes.Clone(frame), '\n'))
	return err
}
func (f *pipeFar) End()   { _ = f.in.Close(); _ = f.out.Close() }
func (f *pipeFar) Break() { f.End() }
func (f *pipeFar) Hold()  { <-f.held }

// pipes makes a Conn on two pipes and gives the server's ends of them.
func pipes(t testing.TB, o stdio.Options) (conn *stdio.Conn, in, out *os.File) {
	t.Helper()
	in, ours, err := os.Pipe()
	theirs, out, err2 := os.Pipe()
	outlet, err3 := stdio.NewOutlet(ours)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	o.Peer = "pipe"
	o.Grow = func() { stdio.GrowPipe(ours); stdio.GrowPipe(theirs) }
	return stdio.New(theirs, outlet, o), in, out
}

func lastLine(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
