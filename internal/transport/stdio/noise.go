package stdio

import (
	"context"
	"log/slog"
	"math/bits"
)

// sample is how much of a line of noise is logged.
const sample = 200

// beginsMessage reports whether a line can be meant as a message. Banners and
// notices of package managers on standard output are common; they are passed
// over. What only looks like JSON is for the protocol layer to judge.
func beginsMessage(line []byte) bool {
	return len(line) > 0 && (line[0] == '{' || line[0] == '[')
}

// noise counts a line that is no message, and tells of the first ones, and then
// ever more rarely.
func (c *Conn) noise(line []byte) {
	n := c.o.Stats.Noise.Add(1)
	if n > 4 && bits.OnesCount64(uint64(n)) != 1 {
		return
	}
	c.o.Log.LogAttrs(context.Background(), slog.LevelDebug, "output is no message",
		slog.String("line", string(line[:min(len(line), sample)])), slog.Int64("count", n))
}
