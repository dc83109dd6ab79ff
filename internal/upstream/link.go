package upstream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// A link is one mcp.Client in the life of a session. It is closed when it was
// replaced and the exchanges on it have ended.
type link struct {
	client *mcp.Client
	start  int // its number among the session's starts
	born   time.Time
	proved atomic.Bool   // has answered a request after the handshake
	closed chan struct{} // closed when nothing of a retired link is left

	mu      sync.Mutex
	uses    int
	until   time.Time // the latest deadline since there are any
	retired bool
	unused  chan struct{} // closed when retired and no longer used
}

func newLink(c *mcp.Client, start int) *link {
	return &link{client: c, start: start, born: time.Now(), unused: make(chan struct{}), closed: make(chan struct{})}
}

func (l *link) use(ctx context.Context) {
	end, _ := ctx.Deadline()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uses++
	if end.After(l.until) {
		l.until = end
	}
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses--; l.uses == 0 {
		l.until = time.Time{}
	}
	l.settle()
}

// retire lets no request but those under way use the link. It returns the time
// when the last of them with a deadline ends.
func (l *link) retire() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = true
	l.settle()
	return l.until
}

func (l *link) settle() {
	if l.retired && l.uses == 0 {
		select {
		case <-l.unused:
		default:
			close(l.unused)
		}
	}
}

// retireLocked closes a link that is not used any more: at once where it is
// broken, else when the exchanges on it have ended. For one without a deadline of
// its own it does not wait longer than a request may take.
func (s *Session) retireLocked(l *link, broken bool) {
	patience := max(time.Until(l.retire()), s.u.o.Timeout, s.u.o.MaxTimeout)
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		defer close(l.closed)
		if !broken {
			timer := time.NewTimer(patience)
			defer timer.Stop()
			select {
			case <-l.unused:
			case <-timer.C:
			case <-s.ctx.Done():
			}
		}
		_ = l.client.Close(s.ctx)
	}()
}
