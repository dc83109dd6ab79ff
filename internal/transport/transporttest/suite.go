package transporttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// MaxMessageBytes is the limit that Run wants its links to be opened with.
const MaxMessageBytes = 1 << 20

// A Peer is a fresh link whose far side hands every frame to Obey.
type Peer struct {
	Conn transport.Conn
	// Frame makes a frame of a word; nil: the frame is the word.
	Frame func(word string) []byte
	// NeverWaits is set for a shared binding whose Send waits for nothing.
	NeverWaits bool
	// Say makes the far side send a frame outside every exchange; nil: there is no
	// such channel, or it can't be had without protocol. Shared bindings need none.
	Say func(frame []byte)
	// Lost tells how many inbound frames the binding has dropped; nil: it never
	// drops one.
	Lost func() int
}

// Run checks the contract of transport.Conn on links from open, which registers
// with t what it needs to clean up. The tests are serial, and each of them checks
// that nothing of its link is left.
func Run(t *testing.T, open func(t *testing.T) Peer) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *link)
	}{
		{"Echo", testEcho},
		{"LargeFrame", testLargeFrame},
		{"ManyAtOnce", testManyAtOnce},
		{"NoAnswerExpected", testNoAnswerExpected},
		{"Flood", testFlood},
		{"Unsolicited", testUnsolicited},
		{"CancelEndsSend", testCancelEndsSend},
		{"EndedContext", testEndedContext},
		{"CancelEndsListen", testCancelEndsListen},
		{"SinkError", testSinkError},
		{"PeerHangsUp", func(t *testing.T, l *link) { testLost(t, l, "end") }},
		{"PeerBreaks", func(t *testing.T, l *link) { testLost(t, l, "break") }},
		{"CloseReleases", testCloseReleases},
		{"CloseByForce", testCloseByForce},
		{"ClosedForGood", testClosedForGood},
		{"OversizeOutbound", testOversizeOutbound},
		{"OversizeInbound", testOversizeInbound},
	} {
		t.Run(c.name, func(t *testing.T) {
			Leak(t)
			l := &link{Peer: open(t)}
			t.Cleanup(func() { l.close(t) })
			c.run(t, l)
		})
	}
}

// A link is a Peer with its Listen running, and one way to ask on both kinds of
// binding.
type link struct {
	Peer
	in     *queue[transport.Inbound] // what Listen brought
	ended  chan struct{}             // closed when Listen has returned
	reason error                     // what it returned
}

// listen starts Listen and, when the test is over, closes the link and waits.
func (l *link) listen(t *testing.T) {
	l.in, l.ended = newQueue[transport.Inbound](0), make(chan struct{})
	go func() {
		defer close(l.ended)
		l.reason = l.Conn.Listen(context.Background(), func(in transport.Inbound) error {
			return l.in.push(context.Background(), in)
		})
		l.in.end(fmt.Errorf("Listen has returned: %w", l.reason), false)
	}()
	t.Cleanup(func() {
		l.close(t)
		await(t, "Listen", func() []string {
			select {
			case <-l.ended:
				return nil
			default:
				return []string{"still running after Close"}
			}
		})
	})
}

func (l *link) close(t *testing.T) {
	t.Helper()
	if err := l.Conn.Close(within(t)); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func (l *link) frame(word string) []byte {
	if l.Frame == nil {
		return []byte(word)
	}
	return l.Frame(word)
}

func (l *link) shared() bool { return l.Conn.Binding().Shared }

// send sends a word that expects an answer. Each reply of a private exchange
// goes to sink.
func (l *link) send(ctx context.Context, word string, sink transport.Sink) error {
	return l.Conn.Send(ctx, transport.Frame{Body: l.frame(word), Expects: true}, sink)
}

// ask returns the first answer to a word.
func (l *link) ask(ctx context.Context, word string) (answer transport.Inbound, err error) {
	err = l.send(ctx, word, func(in transport.Inbound) error {
		answer = in
		return transport.ErrEnough
	})
	if err != nil || !l.shared() {
		return answer, err
	}
	return l.in.pop(ctx)
}

func (l *link) wantEcho(t *testing.T, text string) {
	t.Helper()
	in, err := l.ask(within(t), "echo "+text)
	if err != nil || in.Size != 0 || string(in.Body) != string(l.frame("echo "+text)) {
		t.Fatalf("echo gave %.60q (%d bytes, size %d), %v", in.Body, len(in.Body), in.Size, err)
	}
}

// within bounds what must not hang.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Second,
		errors.New("the suite has waited 20 s"))
	t.Cleanup(cancel)
	return ctx
}

func isLost(err error) bool {
	var lost *transport.LostError
	return errors.As(err, &lost)
}

func isNoReply(err error) bool {
	var none *transport.NoReplyError
	return errors.As(err, &none)
}

func testEcho(t *testing.T, l *link) {
	if b := l.Conn.Binding(); b.Name == "" || b.Peer == "" {
		t.Errorf("the binding does not say what it is: %+v", b)
	}
	l.listen(t)
	for _, text := range []string{"one", "two", "žluťoučký kůň 馬"} {
		l.wantEcho(t, text)
	}
}

func testLargeFrame(t *testing.T, l *link) {
	l.listen(t)
	for _, n := range []int{300 << 10, 10, 65_536, 4096, MaxMessageBytes - 100} {
		l.wantEcho(t, strings.Repeat("x", n))
	}
	frame := string(l.frame(""))
	l.wantEcho(t, strings.Repeat("y", MaxMessageBytes-len("echo ")-len(frame)))
}

func testManyAtOnce(t *testing.T, l *link) {
	const n = 64
	l.listen(t)
	ctx := within(t)
	got := newQueue[string](0)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			word := fmt.Sprintf("echo %d %s", i, strings.Repeat("z", i*100))
			in, err := l.ask(ctx, word)
			if err != nil {
				t.Errorf("%d: %v", i, err)
			} else if !l.shared() && string(in.Body) != string(l.frame(word)) {
				t.Errorf("%d was given another's answer", i)
			}
			_ = got.push(ctx, string(in.Body))
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for range n {
		s, _ := got.pop(ctx)
		seen[s] = true
	}
	if len(seen) != n {
		t.Errorf("%d different answers to %d frames", len(seen), n)
	}
}

func testNoAnswerExpected(t *testing.T, l *link) {
	l.listen(t)
	err := l.Conn.Send(within(t), transport.Frame{Body: l.frame("note well")}, func(transport.Inbound) error {
		t.Error("a reply to a frame that expects none")
		return transport.ErrEnough
	})
	if err != nil {
		t.Fatal(err)
	}
	l.wantEcho(t, "next")
}

func testOversizeOutbound(t *testing.T, l *link) {
	l.listen(t)
	var big *transport.TooLargeError
	_, err := l.ask(within(t), "echo "+strings.Repeat("x", MaxMessageBytes))
	if !errors.As(err, &big) || !errors.Is(err, transport.ErrNotSent) || big.Inbound || big.Limit != MaxMessageBytes {
		t.Fatalf("got %v, want *TooLargeError and ErrNotSent", err)
	}
	l.wantEcho(t, "after it")
}

func testOversizeInbound(t *testing.T, l *link) {
	l.listen(t)
	in, err := l.ask(within(t), fmt.Sprintf("big %d", MaxMessageBytes))
	if err != nil || len(in.Body) != MaxMessageBytes || in.Size != 0 {
		t.Fatalf("a frame of exactly the limit: %d bytes, size %d, %v", len(in.Body), in.Size, err)
	}
	for _, size := range []int64{MaxMessageBytes + 1, 3 * MaxMessageBytes} {
		in, err := l.ask(within(t), fmt.Sprintf("big %d", size))
		var big *transport.TooLargeError
		switch {
		case !l.shared():
			if !errors.As(err, &big) || !big.Inbound || big.Limit != MaxMessageBytes || errors.Is(err, transport.ErrNotSent) {
				t.Fatalf("got %v, want an inbound *TooLargeError", err)
			}
		case err != nil || in.Size != size:
			t.Fatalf("got size %d, %v, want %d", in.Size, err, size)
		case len(in.Body) == 0 || len(in.Body) > 64<<10 || len(in.Tail) == 0 || len(in.Tail) > 64<<10:
			t.Fatalf("%d bytes of the beginning and %d of the end are kept", len(in.Body), len(in.Tail))
		}
		l.wantEcho(t, "after it")
	}
}
