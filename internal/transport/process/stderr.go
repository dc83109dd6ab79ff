package process

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

const (
	// MaxLine is how much of a line of standard error is kept, in bytes.
	MaxLine = 1 << 10
	// TailLines is how many lines are kept.
	TailLines = 64
)

// StderrTail returns the last lines that the child wrote to standard error.
func (p *Process) StderrTail() []string { return p.tail.lines() }

// AwaitStderr waits until standard error has been read to its end, or ctx ends.
func (p *Process) AwaitStderr(ctx context.Context) {
	select {
	case <-p.read:
	case <-ctx.Done():
	}
}

// readStderr reads until the end, whatever becomes of the lines: a child must
// never wait because nobody reads.
func (p *Process) readStderr() {
	defer close(p.read)
	var (
		buf  [8 << 10]byte
		line []byte // of the current line what is kept
	)
	for {
		n, err := p.stderr.Read(buf[:])
		for rest := buf[:n]; len(rest) > 0; {
			part, after, ended := bytes.Cut(rest, []byte{'\n'})
			line = append(line, part[:min(len(part), MaxLine-len(line))]...)
			if rest = after; ended {
				p.line(line)
				line = line[:0]
			}
		}
		if err != nil {
			if len(line) > 0 {
				p.line(line)
			}
			return
		}
	}
}

func (p *Process) line(b []byte) {
	s := strings.ToValidUTF8(string(bytes.TrimSuffix(b, []byte{'\r'})), "\uFFFD")
	p.tail.add(s)
	if p.o.Stderr != nil {
		p.o.Stderr(s)
	}
}

// A tail is a ring of the last lines.
type tail struct {
	mu   sync.Mutex
	ring []string
	next int
}

func (t *tail) add(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < TailLines {
		t.ring = append(t.ring, s)
		return
	}
	t.ring[t.next] = s
	t.next = (t.next + 1) % TailLines
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]string(nil), t.ring[t.next:]...), t.ring[:t.next]...)
}
