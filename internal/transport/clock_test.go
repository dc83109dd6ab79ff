package transport_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// cause waits for ctx and says after how long and why it ended.
func cause(ctx context.Context, t0 time.Time) (time.Duration, *transport.TimeoutError) {
	<-ctx.Done()
	var te *transport.TimeoutError
	errors.As(context.Cause(ctx), &te)
	return time.Since(t0), te
}

func TestClockIdleIsRestartedByTouchAndTotalIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &transport.Clock{Idle: 10 * time.Second, Total: 25 * time.Second}
		t0 := time.Now()
		ctx, stop := c.Bind(context.Background())
		defer stop()
		for range 2 {
			<-time.After(9 * time.Second)
			c.Touch()
		}
		after, te := cause(ctx, t0)
		if after != 25*time.Second || te == nil || !te.Total || te.Limit != 25*time.Second {
			t.Fatalf("ended after %v with %+v, want the total limit after 25s", after, te)
		}
	})
}

func TestClockIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &transport.Clock{Idle: 10 * time.Second}
		t0 := time.Now()
		ctx, stop := c.Bind(context.Background())
		defer stop()
		<-time.After(9 * time.Second)
		c.Touch()
		after, te := cause(ctx, t0)
		if after != 19*time.Second || te == nil || te.Total || te.Error() != "request timeout after 10000ms" {
			t.Fatalf("ended after %v with %v", after, te)
		}
	})
}

func TestClockPauseStopsBothLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &transport.Clock{Idle: 10 * time.Second, Total: 12 * time.Second}
		ctx, stop := c.Bind(context.Background())
		defer stop()
		<-time.After(5 * time.Second)
		c.Pause()
		c.Touch() // has no effect while paused
		<-time.After(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("ended while paused")
		}
		c.Resume()
		t0 := time.Now()
		if after, te := cause(ctx, t0); after != 7*time.Second || te == nil || !te.Total {
			t.Fatalf("ended %v after Resume with %+v, want 7s left of the total", after, te)
		}
	})
}

func TestClockStopIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &transport.Clock{Total: time.Second}
		ctx, stop := c.Bind(context.Background())
		stop()
		if _, te := cause(ctx, time.Now()); te != nil {
			t.Fatalf("a stopped clock ended with %v", te)
		}
	})
}

func TestNoClockBoundsNothing(t *testing.T) {
	var c *transport.Clock
	ctx, stop := c.Bind(t.Context())
	defer stop()
	if ctx != t.Context() {
		t.Fatal("a nil clock made a context")
	}
	c.Touch()
	c.Pause()
	c.Resume()
}

func TestNotSent(t *testing.T) {
	err := transport.NotSent(&transport.LostError{Err: errors.New("broken pipe")})
	var lost *transport.LostError
	if !errors.Is(err, transport.ErrNotSent) || !errors.As(err, &lost) || err.Error() != lost.Error() {
		t.Fatalf("%v lost a part of itself", err)
	}
	if transport.NotSent(err) != err || transport.NotSent(nil) != nil {
		t.Fatal("marked twice, or marked nothing")
	}
}
