package upstream

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff says how patiently a server that fails is started again.
type Backoff struct {
	Initial, Max time.Duration
	Factor       float64
	Jitter       float64       // the share of a pause that is random: 0 to 1
	GiveUp       int           // starts that failed in a row; 0: never
	CoolDown     time.Duration // before the next try after giving up
}

// delay is the pause after the nth failure in a row, from 1: exponential, with
// jitter, so that servers that died together don't start together.
func (b Backoff) delay(n int) time.Duration {
	d := float64(b.Initial) * math.Pow(max(b.Factor, 1), float64(max(n-1, 0)))
	d = min(d, float64(b.Max))
	return time.Duration(d * (1 - b.Jitter/2 + b.Jitter*rand.Float64()))
}
