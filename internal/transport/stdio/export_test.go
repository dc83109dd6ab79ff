package stdio

import (
	"io"
	"runtime"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// GrowPipe is what a Dialer does with its pipes.
var GrowPipe = growPipe

// AwaitQueue waits until n frames are in the queue.
func AwaitQueue(c *Conn, n int) {
	for {
		c.w.mu.Lock()
		l := len(c.w.queue)
		c.w.mu.Unlock()
		if l >= n {
			return
		}
		runtime.Gosched()
	}
}

// Lines cuts all of r into lines.
func Lines(r io.Reader, max int) (list []transport.Inbound) {
	l := lines{max: max, large: func() {}}
	for {
		in, err := l.next(r.Read)
		if err != nil {
			return list
		}
		list = append(list, in)
	}
}

// LinesBuffer returns how large the buffer is after all of r was cut.
func LinesBuffer(r io.Reader, max int) int {
	l := lines{max: max, large: func() {}}
	for {
		if _, err := l.next(r.Read); err != nil {
			return cap(l.buf)
		}
	}
}
