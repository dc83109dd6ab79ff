package guard

import (
	"io"
	"os"
	"os/signal"
	"time"
)

// Grace lies between SIGTERM and SIGKILL.
const Grace = 2 * time.Second

const (
	interval  = 20 * time.Millisecond // between two looks at what is left
	afterKill = 3 * time.Second       // how long what got SIGKILL may take
)

// Main is the guard process. It reads from r, which is its end of the pipe, until
// the bridge is gone, ends what is left and returns the exit status: 1 if
// something did not end. Only the end of the pipe ends it, no signal that can be
// caught.
func Main(r io.Reader) int {
	all := make(chan os.Signal, 1)
	signal.Notify(all) // whatever comes is not for us; nobody reads
	defer signal.Stop(all)
	bridge := os.Getppid()
	b := book{entries: map[uint64]entry{}}
	b.read(r)
	if len(b.entries) == 0 || endAll(b.entries, bridge, Grace) {
		return 0
	}
	return 1
}

// endAll ends what is left of all entries and reports whether all of it is gone.
// The bridge holds the other ends of the pipes; it may live, if it has only let go
// of the guard.
func endAll(entries map[uint64]entry, bridge int, grace time.Duration) bool {
	began := time.Now()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	told := map[int]bool{} // who has got SIGTERM
	for {
		left := remaining(entries, bridge)
		age := time.Since(began)
		switch {
		// A fork may be under way at the first look, hence a second one.
		case len(left) == 0 && age >= interval:
			return true
		case age > grace+afterKill:
			return false
		case age > grace:
			for _, t := range left {
				t.end(true)
			}
		default:
			for _, t := range left {
				if !told[t.id] {
					told[t.id] = true
					t.end(false)
				}
			}
		}
		<-tick.C
	}
}

// A target is a process or, with a negative id, a group.
type target struct{ id int }
