package stdio

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/process"
)

// A Dialer starts a server as a child process, one for each link.
type Dialer struct {
	Command string   // a path, or a name for the PATH of Env
	Args    []string // without the name of the program
	Env     []string // all of it; nothing is inherited
	Dir     string   // empty: ours

	MaxMessageBytes int64 // 0: 64 MiB
	MaxQueueBytes   int64 // 0: 64 MiB and one message
	// StopGrace lies between the end of input and SIGTERM, KillGrace between
	// SIGTERM and SIGKILL. 0: 2 s.
	StopGrace, KillGrace time.Duration

	Guard process.Guard    // ends the child if we are killed; may be nil
	Log   *slog.Logger     // standard error goes there at level debug; may be nil
	Stats *transport.Stats // may be nil
}

// Dial implements transport.Dialer. It waits for the start only, not for anything
// the child does.
func (d *Dialer) Dial(ctx context.Context) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, transport.NotSent(context.Cause(ctx))
	}
	log := d.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p, err := process.Start(process.Options{
		Path: d.Command, Args: d.Args, Env: d.Env, Dir: d.Dir,
		StopGrace: d.StopGrace, KillGrace: d.KillGrace,
		Guard: d.Guard,
		Stderr: func(line string) {
			log.LogAttrs(context.Background(), slog.LevelDebug, "standard error", slog.String("line", line))
		},
	})
	if err != nil {
		return nil, transport.NotSent(err)
	}
	out, err := NewOutlet(p.Stdin)
	if err != nil {
		_ = p.Stop(ctx)
		return nil, transport.NotSent(err)
	}
	return New(p.Stdout, out, Options{
		MaxMessageBytes: d.MaxMessageBytes, MaxQueueBytes: d.MaxQueueBytes,
		Peer: fmt.Sprintf("pid %d", p.Pid()),
		Host: host{p},
		Grow: func() { growPipe(p.Stdin); growPipe(p.Stdout) },
		Log:  log, Stats: d.Stats,
	}), nil
}

// A host is a process behind a Conn.
type host struct{ p *process.Process }

func (h host) Exited() <-chan struct{}        { return h.p.Exited() }
func (h host) Stop(ctx context.Context) error { return h.p.Stop(ctx) }

// Lost waits for the exit status and the last lines of standard error: both come
// a little after the end of the output.
func (h host) Lost(err error) *transport.LostError {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	select {
	case <-h.p.Exited():
		h.p.AwaitStderr(ctx)
		err = nil // the exit says it all
	case <-ctx.Done():
	}
	return &transport.LostError{Err: err, Exit: h.p.Exit(), Stderr: h.p.StderrTail()}
}
