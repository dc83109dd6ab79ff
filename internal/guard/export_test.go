package guard

import (
	"io"
	"runtime"
)

// Read reads lines as Main does and drops what they say.
func Read(r io.Reader) {
	b := book{entries: map[uint64]entry{}}
	b.read(r)
}

// AwaitOther waits until another guard runs than the one with that process id.
func (g *Guard) AwaitOther(pid int) int {
	for {
		if p := g.Pid(); p != 0 && p != pid {
			return p
		}
		runtime.Gosched()
	}
}
