package guard

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
)

// An entry is what is known of one child.
type entry struct {
	pipes [3]uint64 // inodes of the pipes that are its standard streams; 0: not known
	pgid  int       // 0: not started yet
	start uint64    // when its leader started, in ticks since boot; 0: not known
}

// A book holds the children that live, in the words of the pipe between bridge
// and guard: "+ KEY INODE INODE INODE", "= KEY PGID START", "- KEY".
type book struct {
	mu      sync.Mutex
	next    uint64
	entries map[uint64]entry
}

func (b *book) expect(pipes [3]uint64) (key uint64, line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	b.entries[b.next] = entry{pipes: pipes}
	return b.next, expectLine(b.next, pipes)
}

func expectLine(key uint64, pipes [3]uint64) string {
	return fmt.Sprintf("+ %d %d %d %d\n", key, pipes[0], pipes[1], pipes[2])
}

func (b *book) started(key uint64, pgid int, start uint64) (line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[key]
	if !ok {
		return ""
	}
	e.pgid, e.start = pgid, start
	b.entries[key] = e
	return fmt.Sprintf("= %d %d %d\n", key, pgid, start)
}

func (b *book) done(key uint64) (line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.entries[key]; !ok {
		return ""
	}
	delete(b.entries, key)
	return fmt.Sprintf("- %d\n", key)
}

// all returns the lines that tell a new guard everything.
func (b *book) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := make([]uint64, 0, len(b.entries))
	for key := range b.entries {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	var s strings.Builder
	for _, key := range keys {
		e := b.entries[key]
		s.WriteString(expectLine(key, e.pipes))
		if e.pgid > 0 {
			fmt.Fprintf(&s, "= %d %d %d\n", key, e.pgid, e.start)
		}
	}
	return s.String()
}

// read takes lines until the pipe ends. A line that is cut short is the last
// one; it is no line.
func (b *book) read(r io.Reader) {
	lines := newLines(r)
	for {
		line, ok := lines.next()
		if !ok {
			return
		}
		b.apply(line)
	}
}

func (b *book) apply(line string) {
	var (
		verb string
		key  uint64
		e    entry
	)
	if _, err := fmt.Sscan(line, &verb, &key); err != nil {
		return
	}
	switch verb {
	case "+":
		if _, err := fmt.Sscan(line, &verb, &key, &e.pipes[0], &e.pipes[1], &e.pipes[2]); err == nil {
			b.entries[key] = e
		}
	case "=":
		e = b.entries[key]
		// A group is never 0 or 1: that would be everybody.
		if _, err := fmt.Sscan(line, &verb, &key, &e.pgid, &e.start); err == nil && e.pgid > 1 {
			b.entries[key] = e
		}
	case "-":
		delete(b.entries, key)
	}
}
