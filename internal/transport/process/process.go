package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultStopGrace = 2 * time.Second
	DefaultKillGrace = 2 * time.Second
)

// lastWords is how long the pipes of a child that is gone are read for. Only a
// descendant outside the group can keep them open that long.
const lastWords = 100 * time.Millisecond

// killed is how long what got SIGKILL may take to be gone.
const killed = 5 * time.Second

// Options say what to start and how patiently to end it.
type Options struct {
	// Path is a path or a name; a name is looked for in the PATH of Env.
	Path string
	Args []string // without the name of the program
	Env  []string // all of it; nothing is inherited
	Dir  string   // empty: ours
	// StopGrace lies between the end of input and SIGTERM, KillGrace between
	// SIGTERM and SIGKILL. 0: the default; negative: none.
	StopGrace, KillGrace time.Duration
	// Stderr is given each line the child writes to standard error, cut to
	// MaxLine. It is called on one goroutine, and as long as it does not return
	// the child may have to wait. May be nil.
	Stderr func(line string)
	Guard  Guard // may be nil
}

// A Guard ends what we leave behind if we are killed. It is told of a child
// before there is one, so that there is no moment in which a child is unknown.
type Guard interface {
	// Expect announces a child that will have these standard streams.
	Expect(streams [3]*os.File) (key uint64, err error)
	// Started tells the child's process id, which is that of its group, too.
	Started(key uint64, pid int)
	// Done tells that nothing is left of the child, or that it was never started.
	Done(key uint64)
}

// A Process is a started child. Stop must be called, even if it has ended.
type Process struct {
	Stdin  *os.File // our end of its standard input; Stop closes it
	Stdout *os.File // our end of its standard output; the reader closes it

	proc   *os.Process
	o      Options
	key    uint64
	tail   tail
	stderr *os.File

	exited chan struct{} // closed when the leader has ended and exit is set
	exit   string
	force  chan struct{} // closed when nobody wants to be patient any more
	once   sync.Once
	read   chan struct{} // closed when standard error has been read to its end
	gone   chan struct{} // closed when nothing is left

	mu     sync.Mutex
	reaped bool  // the group's number may belong to somebody else
	err    error // why something may be left; set before gone
}

// Start starts a child. A failure is a *StartError.
func Start(o Options) (*Process, error) {
	if o.StopGrace == 0 {
		o.StopGrace = DefaultStopGrace
	}
	if o.KillGrace == 0 {
		o.KillGrace = DefaultKillGrace
	}
	path, err := lookPath(o)
	if err != nil {
		return nil, diagnose(o, path, err)
	}
	pp, err := newPipes()
	if err != nil {
		return nil, diagnose(o, path, err)
	}
	defer pp.closeTheirs()
	p := &Process{
		Stdin: pp.stdin, Stdout: pp.stdout, stderr: pp.stderr, o: o,
		exited: make(chan struct{}),
		force:  make(chan struct{}),
		read:   make(chan struct{}),
		gone:   make(chan struct{}),
	}
	if o.Guard != nil {
		if p.key, err = o.Guard.Expect(pp.theirs); err != nil {
			pp.closeOurs()
			return nil, &StartError{Command: o.Path, Reason: "no guard for it", Err: err}
		}
	}
	p.proc, err = os.StartProcess(path, append([]string{o.Path}, o.Args...), &os.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: pp.theirs[:], Sys: ownGroup(),
	})
	if err != nil {
		if o.Guard != nil {
			o.Guard.Done(p.key)
		}
		pp.closeOurs()
		return nil, diagnose(o, path, err)
	}
	if o.Guard != nil {
		o.Guard.Started(p.key, p.proc.Pid)
	}
	go p.readStderr()
	go p.watch()
	return p, nil
}

// Pid is the id of the child and of its group.
func (p *Process) Pid() int { return p.proc.Pid }

// Exited is closed when the child has ended. Others of its group may live yet.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the child ended, such as "exit status 3" or "signal: killed";
// empty: it has not.
func (p *Process) Exit() string {
	select {
	case <-p.exited:
		return p.exit
	default:
		return ""
	}
}

// Stop ends the child and all of its group and waits until nothing is left. When
// ctx ends it is patient no longer. Its own patience is bounded without ctx, too.
// It may be called more than once, and at once.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.Stdin.Close()
	if !p.waitExit(ctx, p.o.StopGrace) {
		p.signal(terminate)
		if !p.waitExit(ctx, p.o.KillGrace) {
			p.signal(kill)
		}
	}
	stop := context.AfterFunc(ctx, p.hurry)
	defer stop()
	limit := time.NewTimer(max(p.o.KillGrace, 0) + killed)
	defer limit.Stop()
	select {
	case <-p.gone:
		return p.err
	case <-limit.C:
		return fmt.Errorf("process %d does not end", p.Pid())
	}
}

// hurry ends the patience of watch.
func (p *Process) hurry() {
	p.once.Do(func() { close(p.force) })
	p.signal(kill)
}

// waitExit reports whether the child ended within d and ctx.
func (p *Process) waitExit(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// watch waits for the child, ends what it leaves behind and closes our ends of
// the pipes.
func (p *Process) watch() {
	defer close(p.gone)
	state, err := p.await()
	if err != nil {
		p.exit = err.Error()
	} else {
		p.exit = state.String()
	}
	close(p.exited)

	p.err = p.endGroup()
	// Who still holds the pipes is outside the group.
	end := time.Now().Add(lastWords)
	_ = p.stderr.SetReadDeadline(end)
	<-p.read
	_ = p.stderr.Close()
	if p.o.Guard != nil {
		p.o.Guard.Done(p.key)
	}
}

// endGroup waits for the members that outlived the leader, which have got
// SIGTERM.
func (p *Process) endGroup() error {
	wait := time.Millisecond
	tick := time.NewTimer(wait)
	defer tick.Stop()
	grace := time.NewTimer(p.o.KillGrace)
	defer grace.Stop()
	limit := time.NewTimer(max(p.o.KillGrace, 0) + killed - time.Second)
	defer limit.Stop()
	force := p.force
	// As long as the group is not empty its number belongs to nobody else.
	for groupLives(p.proc.Pid) {
		select {
		case <-tick.C:
			wait = min(2*wait, 50*time.Millisecond)
			tick.Reset(wait)
		case <-force:
			force = nil
			signalGroup(p.proc, kill)
		case <-grace.C:
			signalGroup(p.proc, kill)
		case <-limit.C:
			return errors.New("a process of the group does not end")
		}
	}
	return nil
}

// signal signals the group as long as its number is surely ours.
func (p *Process) signal(s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		signalGroup(p.proc, s)
	}
}
