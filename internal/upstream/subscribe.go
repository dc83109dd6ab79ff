package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

var errNobodyWatches = errors.New("nobody watches")

// Watch counts a watcher in until release is called. While there is one, a
// modern server is asked for its changes (2026-07-28 §subscriptions).
func (s *Session) Watch() (release func()) {
	add := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers += n
		close(s.watching)
		s.watching = make(chan struct{})
	}
	hold := s.Hold()
	add(1)
	return sync.OnceFunc(func() {
		add(-1)
		hold()
	})
}

// attend does what goes on beside the requests on a new link.
func (s *Session) attend(l *link) {
	s.refreshStale(l)
	if l.client.Info().Era == mcp.EraModern {
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			s.listen(l)
		}()
	}
}

// listenParams ask for every change of a list; the server grants what it has.
const listenParams = `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`

// reopen is the pauses before a subscription that has ended is opened again.
var reopen = Backoff{Initial: time.Second, Max: 30 * time.Second, Factor: 2, Jitter: 0.2}

// reopenGood is how long a subscription must last for the pauses to begin anew.
const reopenGood = 30 * time.Second

// listen keeps a subscription open while somebody watches, with growing pauses
// where it ends by itself.
func (s *Session) listen(l *link) {
	ended := 0 // subscriptions in a row, by themselves
	for s.awaitWatchers(s.ctx, l, true) {
		lasted, err := s.listenOnce(l)
		if errors.Is(err, errNobodyWatches) {
			continue
		}
		s.mu.Lock()
		s.missed = true
		s.mu.Unlock()
		if refusesAny(err) {
			s.log.Debug("the server takes no subscriptions", "server", s.u.o.Name, "err", err)
			return
		}
		if ended++; lasted >= reopenGood {
			ended = 1
		}
		if !s.sleep(l, reopen.delay(ended)) {
			return
		}
	}
}

// listenOnce holds one subscription until it ends, or the last watcher leaves. It
// returns how long the subscription has lasted since it was acknowledged.
func (s *Session) listenOnce(l *link) (lasted time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	var hangUp sync.WaitGroup
	hangUp.Go(func() {
		if s.awaitWatchers(ctx, l, false) {
			cancel(errNobodyWatches)
		}
	})
	var since atomic.Pointer[time.Time]
	_, err = l.client.Do(ctx, &mcp.Request{
		Method: "subscriptions/listen", Params: mcp.Members(listenParams),
		Notify: func(*mcp.Notification) { // the first is the acknowledgement
			if now := time.Now(); since.CompareAndSwap(nil, &now) {
				s.announceMissed(l)
			}
		},
	})
	cancel(nil)
	hangUp.Wait()
	if t := since.Load(); t != nil {
		lasted = time.Since(*t)
	}
	return lasted, err
}

// refusesAny reports whether a server will never take a subscription.
func refusesAny(err error) bool {
	var se *mcp.ServerError
	if !errors.As(err, &se) {
		return false
	}
	switch se.RPC.Code {
	case jsonrpc.MethodNotFound, jsonrpc.InvalidParams, jsonrpc.InvalidRequest:
		return true
	}
	return false
}

// announceMissed tells watchers of what may have changed while no subscription
// was open: nothing of it is ever sent later (2026-07-28 §subscriptions).
func (s *Session) announceMissed(l *link) {
	s.mu.Lock()
	missed := s.missed
	s.missed = false
	s.mu.Unlock()
	if !missed {
		return
	}
	for _, c := range []struct{ capability, method string }{
		{"tools", "tools/list"}, {"prompts", "prompts/list"}, {"resources", "resources/list"},
	} {
		if tellsChanges(l.client.Info().Capabilities, c.capability) {
			s.publishListChanged(c.method)
		}
	}
}

// tellsChanges reports whether a server announced that it tells when one of its
// lists changes.
func tellsChanges(capabilities []byte, name string) bool {
	var all map[string]jsontext.Value
	var c struct {
		ListChanged bool `json:"listChanged"`
	}
	if len(capabilities) == 0 || json.Unmarshal(capabilities, &all, jsontext.AllowDuplicateNames(true)) != nil {
		return false
	}
	v, ok := all[name]
	return ok && json.Unmarshal(v, &c, jsontext.AllowDuplicateNames(true)) == nil && c.ListChanged
}

// awaitWatchers waits until somebody watches (or nobody does); false: the link
// has ended.
func (s *Session) awaitWatchers(ctx context.Context, l *link, some bool) bool {
	for {
		s.mu.Lock()
		n, changed := s.watchers, s.watching
		s.mu.Unlock()
		if n > 0 == some {
			return true
		}
		select {
		case <-changed:
		case <-l.client.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (s *Session) sleep(l *link, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.client.Done():
	case <-s.ctx.Done():
	}
	return false
}
