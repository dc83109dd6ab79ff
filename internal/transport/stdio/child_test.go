//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/process"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func dial(t *testing.T, server string) (transport.Conn, *listener) {
	t.Helper()
	transporttest.Leak(t)
	conn, err := dialer(server).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn, listen(conn)
}

func wantLost(t *testing.T, err error, exit string) *transport.LostError {
	t.Helper()
	lost, ok := errors.AsType[*transport.LostError](err)
	if !ok || lost.Exit != exit {
		t.Fatalf("got %v, want a *LostError with %q", err, exit)
	}
	return lost
}

// closed closes and returns how long it took.
func closed(t *testing.T, ctx context.Context, conn transport.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	if err := conn.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	return time.Since(began)
}

func TestCrash(t *testing.T) {
	conn, l := dial(t, "crash")
	lost := wantLost(t, <-l.ended, "exit status 3")
	if d := cmp.Diff([]string{"panic: cannot open database", "at line 7"}, lost.Stderr); d != "" {
		t.Error(d)
	}
	if lost.Error() != "process ended: exit status 3" {
		t.Error(lost)
	}
	err := conn.Send(t.Context(), transport.Frame{Body: []byte("{}")}, nil)
	wantLost(t, err, "exit status 3")
	if !errors.Is(err, transport.ErrNotSent) {
		t.Error("not marked as not sent")
	}
}

func TestStderrFloodIsDrained(t *testing.T) {
	conn, l := dial(t, "stderr-flood")
	if in := l.next(t); string(in.Body) != `["flooded"]` {
		t.Fatalf("got %q", in.Body)
	}
	if err := conn.Send(t.Context(), transport.Frame{Body: []byte(`["break"]`)}, nil); err != nil {
		t.Fatal(err)
	}
	lost := wantLost(t, <-l.ended, "signal: killed")
	if n := len(lost.Stderr); n != 2 || lastLine(lost.Stderr) != "last line" || len(lost.Stderr[0]) != process.MaxLine {
		t.Errorf("%d lines kept, the last is %q", n, lastLine(lost.Stderr))
	}
}

func TestOutputEndsAndTheProcessLives(t *testing.T) {
	conn, l := dial(t, "stdout-eof")
	wantLost(t, <-l.ended, "")
	closed(t, t.Context(), conn)
}

// A server that takes no more input is lost, but what it has said is heard.
func TestInputEndsAndTheProcessLives(t *testing.T) {
	conn, l := dial(t, "stdin-eof")
	if in := l.next(t); string(in.Body) != `["deaf"]` {
		t.Fatalf("got %q", in.Body)
	}
	err := conn.Send(t.Context(), transport.Frame{Body: []byte("{}")}, nil)
	wantLost(t, err, "")
	if !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Send returned %v", err)
	}
	wantLost(t, <-l.ended, "")
	closed(t, t.Context(), conn)
}

func TestDeaf(t *testing.T) {
	for _, force := range []bool{false, true} {
		conn, l := dial(t, "deaf")
		_ = l.next(t)
		ctx, cancel := context.WithCancel(context.Background())
		if force {
			cancel()
		}
		d := closed(t, ctx, conn)
		cancel()
		if err := <-l.ended; !errors.Is(err, transport.ErrClosed) {
			t.Error(err)
		}
		if gentle := d >= 400*time.Millisecond; gentle == force || d > 5*time.Second {
			t.Errorf("Close took %v, force %v", d, force)
		}
	}
}

// The child ends, its child keeps the pipes and hears nothing: the link is lost
// soon, and Close leaves nobody.
func TestForking(t *testing.T) {
	conn, l := dial(t, "forking")
	_ = l.next(t)
	if err := conn.Send(t.Context(), transport.Frame{Body: []byte(`["end"]`)}, nil); err != nil {
		t.Fatal(err)
	}
	wantLost(t, <-l.ended, "exit status 0")
	if d := closed(t, t.Context(), conn); d > 5*time.Second {
		t.Errorf("Close took %v", d)
	}
}

// Who has left the group is not found, but holds up neither Listen nor Close. What
// was written before the end is still heard.
func TestEscaping(t *testing.T) {
	conn, l := dial(t, "escaping")
	var pid int
	if _, err := fmt.Sscanf(string(l.next(t).Body), "[%d]", &pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	for _, body := range []string{`["flood 100"]`, `["end"]`} {
		if err := conn.Send(t.Context(), transport.Frame{Body: []byte(body)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-l.ended:
		wantLost(t, err, "exit status 0")
	case <-time.After(5 * time.Second):
		t.Error("Listen waits for who has escaped")
	}
	if n := len(l.in); n != 101 {
		t.Errorf("%d frames were heard", n)
	}
	if d := closed(t, t.Context(), conn); d > 3*time.Second {
		t.Errorf("Close took %v", d)
	}
}

// A server that is in the middle of saying much must be able to end: its output
// is read on while it is being closed.
func TestOutputIsReadDuringClose(t *testing.T) {
	transporttest.Leak(t)
	var log strings.Builder
	d := dialer("last-words")
	d.StopGrace = 5 * time.Second
	d.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := listen(conn)
	if d := closed(t, t.Context(), conn); d > 4*time.Second {
		t.Errorf("Close took %v", d)
	}
	if err := <-l.ended; !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "end of input came first") {
		t.Errorf("the child did not come to its end:\n%s", log.String())
	}
}

// End of input comes before any signal (2026-07-28 §transports/stdio, Shutdown).
func TestEndOfInputComesFirst(t *testing.T) {
	transporttest.Leak(t)
	var log strings.Builder
	d := dialer("sigterm")
	d.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := listen(conn)
	_ = l.next(t)
	closed(t, t.Context(), conn)
	<-l.ended
	eof, term := strings.Index(log.String(), "end of input"), strings.Index(log.String(), "SIGTERM")
	if eof < 0 || term < eof {
		t.Errorf("the child tells:\n%s", log.String())
	}
}

func TestSilentServerIsClosed(t *testing.T) {
	conn, l := dial(t, "silent")
	closed(t, t.Context(), conn)
	if err := <-l.ended; !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	if b := conn.Binding(); b.Name != "stdio" || !strings.HasPrefix(b.Peer, "pid ") || !b.Shared {
		t.Errorf("%+v", b)
	}
}

func TestDialFails(t *testing.T) {
	transporttest.Leak(t)
	d := dialer("obey")
	d.Command = "no-such-program"
	_, err := d.Dial(t.Context())
	if _, ok := errors.AsType[*process.StartError](err); !ok || !errors.Is(err, transport.ErrNotSent) ||
		err.Error() != `cannot start "no-such-program": not found in PATH` {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	if _, err = dialer("obey").Dial(ctx); !errors.Is(err, errGone) || !errors.Is(err, transport.ErrNotSent) {
		t.Error(err)
	}
}

// Nobody but the child holds its pipes.
func TestSecondChildDoesNotHoldTheFirst(t *testing.T) {
	conn, l := dial(t, "obey")
	other, err := dialer("silent").Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lo := listen(other)
	closed(t, t.Context(), conn)
	if err := <-l.ended; !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	closed(t, t.Context(), other)
	<-lo.ended
}
