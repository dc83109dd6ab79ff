package guard

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"
)

// A Guard is the bridge's side: it keeps a guard process alive from the first
// child on and tells it of each. Its methods may be called from any goroutine.
type Guard struct {
	o    Options
	book book

	mu     sync.Mutex
	pipe   *os.File // nil: no guard runs
	proc   *os.Process
	watch  chan struct{} // closed when proc has ended
	closed bool
	failed int
}

// Options say how to start a guard process.
type Options struct {
	// Exe is our own binary, Args what makes it call Main: "guard".
	Exe  string
	Args []string
	Env  []string
	Log  *slog.Logger
}

var errClosed = errors.New("guard is closed")

// writeWait bounds how long we wait for a guard that does not read. It always
// does, unless somebody has stopped it.
const writeWait = time.Second

// New returns a Guard. Its process is started with the first child.
func New(o Options) *Guard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Guard{o: o, book: book{entries: map[uint64]entry{}}}
}

// Start returns a Guard whose process is exe, called with the word guard.
func Start(exe string) (*Guard, error) {
	g := New(Options{Exe: exe, Args: []string{"guard"}})
	g.mu.Lock()
	defer g.mu.Unlock()
	return g, g.ensureLocked()
}

// Expect announces a child that will have these standard streams. It fails where
// no guard can be started.
func (g *Guard) Expect(streams [3]*os.File) (key uint64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.ensureLocked(); err != nil {
		return 0, err
	}
	var pipes [3]uint64
	for i, f := range streams {
		pipes[i] = inode(f)
	}
	key, line := g.book.expect(pipes)
	g.tellLocked(line)
	return key, nil
}

// Started adds the child's group. The child must not have been reaped.
func (g *Guard) Started(key uint64, pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tellLocked(g.book.started(key, pid, startTime(pid)))
}

// Done forgets a child of which nothing is left.
func (g *Guard) Done(key uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tellLocked(g.book.done(key))
}

// Pid is the process id of the guard, 0 if none runs.
func (g *Guard) Pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return 0
	}
	return g.proc.Pid
}

// Close ends the guard, which ends what is still in its book, and waits for it.
func (g *Guard) Close() error {
	g.mu.Lock()
	g.closed = true
	watch, pipe := g.watch, g.pipe
	g.pipe = nil
	g.mu.Unlock()
	if pipe != nil {
		_ = pipe.Close()
	}
	if watch != nil {
		<-watch // Main is bounded in time
	}
	return nil
}

// ensureLocked starts a guard if none runs and tells it everything.
func (g *Guard) ensureLocked() error {
	switch {
	case g.closed:
		return errClosed
	case g.pipe != nil || !supported:
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	proc, err := spawn(g.o, r)
	if err != nil {
		_ = w.Close()
		return err
	}
	g.proc, g.pipe = proc, w
	watch := make(chan struct{})
	previous := g.watch
	g.watch = watch
	go func() {
		defer close(watch)
		if previous != nil {
			<-previous // so that Close waits for all
		}
		g.attend(proc, w)
	}()
	g.tellLocked(g.book.all())
	return nil
}

// attend waits for the guard process and starts another if this one was killed.
func (g *Guard) attend(proc *os.Process, pipe *os.File) {
	began := time.Now()
	state, err := proc.Wait()
	_ = pipe.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	if g.pipe == pipe {
		g.pipe = nil
	}
	g.o.Log.Warn("the guard process has ended", "state", state, "err", err)
	// One that ends by itself at once would be started for ever; then the next
	// child is the next occasion.
	if g.pipe != nil || time.Since(began) < time.Second && g.failed >= 3 {
		return
	}
	if time.Since(began) < time.Second {
		g.failed++
	} else {
		g.failed = 0
	}
	if err := g.ensureLocked(); err != nil {
		g.o.Log.Error("no guard process: children would outlive a killed bridge", "err", err)
	}
}

// tellLocked writes to the guard. One that can't be told any more is ended;
// attend replaces it.
func (g *Guard) tellLocked(line string) {
	if g.pipe == nil || line == "" {
		return
	}
	_ = g.pipe.SetWriteDeadline(time.Now().Add(writeWait))
	if _, err := g.pipe.WriteString(line); err != nil {
		_ = g.proc.Kill()
	}
}
