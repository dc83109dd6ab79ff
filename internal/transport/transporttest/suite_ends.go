package transporttest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// What the suite says about how things end.

var errWeary = errors.New("weary of waiting")

func testFlood(t *testing.T, l *link) {
	const sent = 5000
	l.listen(t)
	ctx := within(t)
	last := string(l.frame("flooded " + strconv.Itoa(sent)))
	seen, prev := 0, -1
	sink := func(in transport.Inbound) error {
		if string(in.Body) == last {
			return transport.ErrEnough
		}
		n, err := strconv.Atoi(Word(in.Body))
		if err != nil || n <= prev {
			t.Errorf("%q after %d", in.Body, prev)
		}
		seen, prev = seen+1, n
		return nil
	}
	err := l.send(ctx, "flood "+strconv.Itoa(sent), sink)
	if err == nil && l.shared() {
		err = drain(ctx, l.in, sink)
	}
	lost := 0
	if l.Lost != nil {
		lost = l.Lost()
	}
	if err != nil || seen+lost != sent {
		t.Fatalf("%d seen + %d lost of %d sent, %v", seen, lost, sent, err)
	}
	l.wantEcho(t, "after it")
}

func testUnsolicited(t *testing.T, l *link) {
	if l.Say == nil {
		t.Skip("the far side has nothing to say")
	}
	l.listen(t)
	l.wantEcho(t, "first")
	l.Say(l.frame("by the way"))
	if in, err := l.in.pop(within(t)); err != nil || string(in.Body) != string(l.frame("by the way")) {
		t.Fatalf("got %q, %v", in.Body, err)
	}
}

// wait starts a Send that waits, with ctx, and returns how it ended.
func (l *link) wait(t *testing.T, ctx func() (context.Context, func()), waiting func()) error {
	t.Helper()
	c, stop := ctx()
	defer stop()
	if !l.shared() {
		return l.send(c, "hold", func(in transport.Inbound) error {
			if string(in.Body) != string(l.frame("held")) {
				t.Errorf("got %q, want held", in.Body)
			}
			waiting()
			return nil
		})
	}
	// A shared link waits when the far side reads no more, once whatever lies
	// between is full.
	err := l.send(c, "deaf", nil)
	for range 64 {
		if err != nil {
			return err
		}
		c, stop := ctx()
		err = l.send(c, "echo "+strings.Repeat("x", MaxMessageBytes/2), nil)
		stop()
	}
	return err
}

func testCancelEndsSend(t *testing.T, l *link) {
	if l.shared() && l.NeverWaits {
		t.Skip("Send waits for nothing")
	}
	l.listen(t)
	var cancel context.CancelCauseFunc
	err := l.wait(t, func() (context.Context, func()) {
		ctx, c := context.WithCancelCause(context.Background())
		cancel = c
		if !l.shared() {
			return ctx, func() { c(nil) }
		}
		ctx, stop := context.WithTimeoutCause(ctx, 100*time.Millisecond, errWeary)
		return ctx, func() { stop(); c(nil) }
	}, func() { cancel(errWeary) })
	if !errors.Is(err, errWeary) {
		t.Fatalf("Send returned %v, want the cause", err)
	}
	if l.shared() {
		return // whether it was sent depends on how much of it has left
	}
	if errors.Is(err, transport.ErrNotSent) {
		t.Fatal("the frame was sent, the error says it was not")
	}
	l.wantEcho(t, "another exchange")
}

func testEndedContext(t *testing.T, l *link) {
	l.listen(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errWeary)
	if _, err := l.ask(ctx, "end"); !errors.Is(err, errWeary) || !errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v, want the cause and ErrNotSent", err)
	}
	l.wantEcho(t, "after it")
}

func testCancelEndsListen(t *testing.T, l *link) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond, errWeary)
	defer cancel()
	err := l.Conn.Listen(ctx, func(transport.Inbound) error { return nil })
	if !errors.Is(err, errWeary) && (l.shared() || !errors.Is(err, transport.ErrUnsupported)) {
		t.Errorf("Listen returned %v, want the cause", err)
	}
	l.close(t)
}

func testSinkError(t *testing.T, l *link) {
	refuse := func(transport.Inbound) error { return errWeary }
	if !l.shared() {
		l.listen(t)
		if err := l.send(within(t), "echo x", refuse); !errors.Is(err, errWeary) {
			t.Fatalf("Send returned %v, want the sink's error", err)
		}
		l.wantEcho(t, "another exchange")
		return
	}
	if err := l.send(within(t), "echo x", nil); err != nil {
		t.Error(err)
	} else if err := l.Conn.Listen(within(t), refuse); !errors.Is(err, errWeary) {
		t.Errorf("Listen returned %v, want the sink's error", err)
	}
	l.close(t)
}

func testLost(t *testing.T, l *link, word string) {
	l.listen(t)
	l.wantEcho(t, "before it")
	_, err := l.ask(within(t), word)
	if !isLost(err) && !isNoReply(err) || errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("got %v, want *LostError or *NoReplyError", err)
	}
	if !l.shared() {
		l.wantEcho(t, "another exchange")
		return
	}
	<-l.ended
	if !isLost(l.reason) {
		t.Fatalf("Listen returned %v, want a *LostError", l.reason)
	}
	if _, err := l.ask(within(t), "echo after it"); !isLost(err) || !errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("Send on a lost link returned %v, want a *LostError and ErrNotSent", err)
	}
}

func testCloseReleases(t *testing.T, l *link) {
	l.listen(t)
	l.wantEcho(t, "before it")
	if l.shared() && l.NeverWaits {
		l.close(t)
	} else {
		testCloseReleasesSend(t, l)
	}
	<-l.ended
	if !errors.Is(l.reason, transport.ErrClosed) && (l.shared() || !errors.Is(l.reason, transport.ErrUnsupported)) {
		t.Fatalf("Listen returned %v, want ErrClosed", l.reason)
	}
}

func testCloseReleasesSend(t *testing.T, l *link) {
	held, sent := make(chan struct{}), make(chan error, 1)
	go func() {
		sent <- l.wait(t, func() (context.Context, func()) { return within(t), func() {} },
			func() { close(held) })
	}()
	select {
	case <-held:
	case <-time.After(200 * time.Millisecond): // on a shared link nothing tells
	}
	l.close(t)
	if err := <-sent; !errors.Is(err, transport.ErrClosed) {
		t.Fatalf("the waiting Send returned %v, want ErrClosed", err)
	}
}

func testCloseByForce(t *testing.T, l *link) {
	l.listen(t)
	l.wantEcho(t, "before it")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	_ = l.Conn.Close(ctx) // what could not be done gently may be told
	if d := time.Since(began); d > time.Second {
		t.Fatalf("Close by force took %v", d)
	}
}

func testClosedForGood(t *testing.T, l *link) {
	l.listen(t)
	l.close(t)
	l.close(t)
	_, err := l.ask(within(t), "echo x")
	if !errors.Is(err, transport.ErrClosed) || !errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("Send returned %v, want ErrClosed and ErrNotSent", err)
	}
}
