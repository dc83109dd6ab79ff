//go:build unix

package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/stdio"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

var errGone = errors.New("the caller has left")

// A narrow outlet takes some bytes and then no more until it is widened.
type narrow struct {
	mu     sync.Mutex
	room   int
	got    []byte
	wider  chan struct{} // capacity 1
	waits  chan struct{} // capacity 1: a Run waits
	closed chan struct{}
	once   sync.Once
}

func newNarrow(room int) *narrow {
	return &narrow{room: room, wider: make(chan struct{}, 1), waits: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (n *narrow) Run(step func(func([]byte) (int, error)) bool) error {
	for !step(n.write) {
		select {
		case n.waits <- struct{}{}:
		default:
		}
		select {
		case <-n.wider:
		case <-n.closed:
			return os.ErrClosed
		}
	}
	return nil
}

func (n *narrow) write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := min(len(p), n.room)
	n.room -= k
	n.got = append(n.got, p[:k]...)
	return k, nil
}

func (n *narrow) widen(room int) {
	n.mu.Lock()
	n.room += room
	n.mu.Unlock()
	n.wider <- struct{}{}
}

func (n *narrow) Close() error { n.once.Do(func() { close(n.closed) }); return nil }

func (n *narrow) bytes() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return string(n.got)
}

// sending starts a Send and returns how it ends.
func sending(ctx context.Context, conn transport.Conn, body string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- conn.Send(ctx, transport.Frame{Body: []byte(body)}, nil) }()
	return done
}

// For every k: what the pipe has taken nothing of was not sent, and what it has
// taken a byte of was, and is finished.
func TestByteExact(t *testing.T) {
	const first, second = `{"n":1}`, `{"n":2}`
	for k := range len(first) + 1 {
		for _, leave := range []bool{true, false} { // or the link is closed
			t.Run(fmt.Sprintf("%d bytes, leaves %v", k, leave), func(t *testing.T) {
				transporttest.Goroutines(t)
				out := newNarrow(k)
				in, theirs, _ := os.Pipe()
				defer theirs.Close()
				conn := stdio.New(in, out, stdio.Options{})
				defer conn.Close(context.Background())
				ctx, cancel := context.WithCancelCause(context.Background())
				one := sending(ctx, conn, first)
				<-out.waits
				want := errGone
				if leave {
					cancel(errGone)
				} else {
					cancel = func(error) {}
					want = transport.ErrClosed
					_ = conn.Close(context.Background())
				}
				err := <-one
				if notSent := errors.Is(err, transport.ErrNotSent); !errors.Is(err, want) || notSent != (k == 0) {
					t.Fatalf("%d bytes are out: %v, not sent %v", k, err, notSent)
				}
				if !leave {
					return
				}
				two := sending(context.Background(), conn, second)
				out.widen(100)
				if err := <-two; err != nil {
					t.Fatal(err)
				}
				if got, want := out.bytes(), first+"\n"+second+"\n"; got != want && k > 0 || k == 0 && got != second+"\n" {
					t.Fatalf("the pipe has got %q", got)
				}
			})
		}
	}
}

// A frame larger than a batch goes out without a copy, its newline with the next
// write; the pieces must fit.
func TestLargeFramesInOrder(t *testing.T) {
	transporttest.Goroutines(t)
	out := newNarrow(0)
	in, theirs, _ := os.Pipe()
	defer theirs.Close()
	conn := stdio.New(in, out, stdio.Options{})
	defer conn.Close(context.Background())
	frames := []string{"[1]", strings.Repeat("a", 70_000), "[2]", strings.Repeat("b", 65_535), strings.Repeat("c", 65_536), "[3]"}
	var done []<-chan error
	for i, f := range frames {
		done = append(done, sending(context.Background(), conn, f))
		if i == 0 {
			<-out.waits
		} else {
			stdio.AwaitQueue(conn, i+1)
		}
	}
	for range 300 {
		out.widen(1000)
		<-out.waits // every frame needs more than is given at a time
		if len(out.bytes()) >= 201_000 {
			break
		}
	}
	out.widen(1 << 20)
	for i, d := range done {
		if err := <-d; err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if got, want := out.bytes(), strings.Join(frames, "\n")+"\n"; got != want {
		t.Errorf("%d bytes arrived, want %d, and the same", len(got), len(want))
	}
}

func TestQueueIsBounded(t *testing.T) {
	transporttest.Goroutines(t)
	out := newNarrow(0)
	in, theirs, _ := os.Pipe()
	defer theirs.Close()
	conn := stdio.New(in, out, stdio.Options{MaxQueueBytes: 20})
	defer conn.Close(context.Background())
	one := sending(context.Background(), conn, "[23456789]") // and a newline
	<-out.waits
	err := conn.Send(context.Background(), transport.Frame{Body: []byte("[23456789]")}, nil)
	if !errors.Is(err, transport.ErrQueueFull) || !errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v", err)
	}
	out.widen(100)
	if err := <-one; err != nil {
		t.Fatal(err)
	}
	if err := conn.Send(context.Background(), transport.Frame{Body: []byte("[23456789]")}, nil); err != nil {
		t.Fatalf("with an empty queue: %v", err)
	}
}

// A child that stops reading wedges the pipe. Deadlines are kept, what is queued
// is taken back, and Close is bounded.
func TestWedgedPipe(t *testing.T) {
	transporttest.Leak(t)
	conn, err := dialer("not-reading").Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listening := listen(conn)
	big := `["` + strings.Repeat("x", 1<<20-4) + `"]`
	const callers = 20
	errs := make(chan error, callers)
	for range callers {
		go func() {
			ctx, cancel := context.WithTimeoutCause(context.Background(), 300*time.Millisecond, errGone)
			defer cancel()
			began := time.Now()
			err := conn.Send(ctx, transport.Frame{Body: []byte(big)}, nil)
			if d := time.Since(began); d > 2*time.Second {
				err = fmt.Errorf("came back after %v: %w", d, err)
			}
			errs <- err
		}()
	}
	sent, partly, back := 0, 0, 0
	for range callers {
		switch err := <-errs; {
		case err == nil:
			sent++
		case !errors.Is(err, errGone):
			t.Errorf("a caller got %v", err)
		case errors.Is(err, transport.ErrNotSent):
			back++
		default:
			partly++
		}
	}
	if partly > 1 || sent > 1 || back != callers-partly-sent {
		t.Errorf("%d sent, %d partly, %d taken back of %d", sent, partly, back, callers)
	}
	began := time.Now()
	if err := conn.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("Close took %v", d)
	}
	if err := <-listening.ended; !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
}

// Frames of callers that come together leave together.
func TestFewWrites(t *testing.T) {
	transporttest.Goroutines(t)
	const n = 1000
	stats := new(transport.Stats)
	conn, in, out := pipes(t, stdio.Options{Stats: stats})
	defer out.Close()
	defer conn.Close(context.Background())
	lines := make(chan int)
	go func() {
		defer in.Close()
		count := 0
		for s := bufio.NewScanner(in); count < n && s.Scan(); {
			if len(s.Bytes()) == 100 {
				count++
			}
		}
		lines <- count
	}()
	body := append(bytes.Repeat([]byte("["), 99), ']')
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			<-start
			if err := conn.Send(context.Background(), transport.Frame{Body: body}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	if got := <-lines; got != n {
		t.Errorf("%d frames arrived", got)
	}
	if w := stats.Writes.Load(); w >= n/2 {
		t.Errorf("%d writes for %d frames", w, n)
	} else {
		t.Logf("%d writes", w)
	}
	if f, b := stats.FramesOut.Load(), stats.BytesOut.Load(); f != n || b != n*101 {
		t.Errorf("counted %d frames and %d bytes", f, b)
	}
}

// A sole caller costs one system call a frame, and no allocation.
func TestSoleCaller(t *testing.T) {
	stats := new(transport.Stats)
	conn, in, out := pipes(t, stdio.Options{Stats: stats})
	defer out.Close()
	defer conn.Close(context.Background())
	body := append(bytes.Repeat([]byte("["), 99), ']')
	buf := make([]byte, 256)
	ctx := context.Background()
	allocs := testing.AllocsPerRun(200, func() {
		if err := conn.Send(ctx, transport.Frame{Body: body}, nil); err != nil {
			t.Error(err)
		}
		if n, err := in.Read(buf); n != 101 || err != nil {
			t.Error(n, err)
		}
	})
	if !raceEnabled && allocs != 0 {
		t.Errorf("%v allocations a frame", allocs)
	}
	if w, f := stats.Writes.Load(), stats.FramesOut.Load(); w != f {
		t.Errorf("%d writes for %d frames", w, f)
	}
	_ = in.Close()
}
