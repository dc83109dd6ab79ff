package transport

import (
	"context"
	"sync"
	"time"
)

// A Clock bounds one exchange by an idle limit that Touch restarts and a total
// limit that nothing restarts. It is the transport layer that lets it run and
// the protocol layer that decides what counts as a sign of life.
//
// The zero Clock and a nil *Clock bound nothing.
type Clock struct {
	Idle  time.Duration // 0: none
	Total time.Duration // 0: none

	mu       sync.Mutex
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	idleEnd  time.Time
	totalEnd time.Time
	left     time.Duration // of Total, while paused
	paused   bool
	stopped  bool
}

// Bind returns a context that ends with a *TimeoutError when the clock runs
// out. Stop releases what it holds; call it once the exchange is over. A clock
// is bound once.
func (c *Clock) Bind(ctx context.Context) (bound context.Context, stop func()) {
	if c == nil || c.Idle <= 0 && c.Total <= 0 {
		return ctx, func() {}
	}
	bound, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
	now := time.Now()
	if c.Idle > 0 {
		c.idleEnd = now.Add(c.Idle)
	}
	if c.Total > 0 {
		c.totalEnd = now.Add(c.Total)
	}
	c.timer = time.AfterFunc(c.nextLocked(now), c.ring)
	return bound, c.stop
}

// Touch restarts the idle limit.
func (c *Clock) Touch() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil || c.stopped || c.paused || c.Idle <= 0 {
		return
	}
	now := time.Now()
	c.idleEnd = now.Add(c.Idle)
	c.timer.Reset(c.nextLocked(now))
}

// Pause stops both limits until Resume.
func (c *Clock) Pause() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil || c.stopped || c.paused {
		return
	}
	c.paused = true
	c.timer.Stop()
	if c.Total > 0 {
		c.left = time.Until(c.totalEnd)
	}
}

// Resume lets the clock run on: the idle limit anew, the total limit with what
// was left of it.
func (c *Clock) Resume() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused || c.stopped {
		return
	}
	c.paused = false
	now := time.Now()
	if c.Idle > 0 {
		c.idleEnd = now.Add(c.Idle)
	}
	if c.Total > 0 {
		c.totalEnd = now.Add(c.left)
	}
	c.timer.Reset(c.nextLocked(now))
}

func (c *Clock) nextLocked(now time.Time) time.Duration {
	next := c.totalEnd
	if !c.idleEnd.IsZero() && (next.IsZero() || c.idleEnd.Before(next)) {
		next = c.idleEnd
	}
	return next.Sub(now)
}

// ring runs when the timer fires. A Touch may have moved the end meanwhile.
func (c *Clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.paused {
		return
	}
	now := time.Now()
	if next := c.nextLocked(now); next > 0 {
		c.timer.Reset(next)
		return
	}
	c.stopped = true
	err := &TimeoutError{Limit: c.Idle}
	if !c.totalEnd.IsZero() && !now.Before(c.totalEnd) {
		err = &TimeoutError{Limit: c.Total, Total: true}
	}
	c.cancel(err)
}

func (c *Clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.stopped = true
		c.timer.Stop()
	}
	c.cancel(context.Canceled)
}
