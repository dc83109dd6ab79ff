package mcp

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// serverSession is what a server of the older era remembers of one client, from
// initialize to its end.
type serverSession struct {
	id      string
	version string
	caps    *serverCapabilities
	scope   *serverScope
	news    *serverOutbox
	ended   chan struct{}

	mu        sync.Mutex
	ready     bool // notifications/initialized came
	level     serverLevel
	uris      map[string]struct{}
	questions map[jsonrpc.ID]chan *jsonrpc.Response
	lastID    int64
	listeners int
	used      time.Time
	over      bool
}

func (ss *serverSession) touch() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.used = time.Now()
}

// idle tells since when nothing has happened; ok is false while something does.
func (ss *serverSession) idle() (since time.Time, ok bool) {
	busy := ss.scope.len() > 0
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.used, !busy && ss.listeners == 0
}

func (ss *serverSession) subscribed(uri string) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_, ok := ss.uris[uri]
	return ok
}

func (ss *serverSession) wantsLog(l serverLevel) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return l >= ss.level
}

func (ss *serverSession) listening(n int) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.listeners += n
	ss.used = time.Now()
}

// question opens a question to the client; forget closes it.
func (ss *serverSession) question() (jsonrpc.ID, <-chan *jsonrpc.Response) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.lastID++
	id, answer := jsonrpc.IntID(ss.lastID), make(chan *jsonrpc.Response, 1)
	ss.questions[id] = answer
	return id, answer
}

func (ss *serverSession) forget(id jsonrpc.ID) (wasOpen bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_, wasOpen = ss.questions[id]
	delete(ss.questions, id)
	return wasOpen
}

// answer hands a response to whoever asked. One that nobody waits for is
// ignored.
func (ss *serverSession) answer(r *jsonrpc.Response) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ch, ok := ss.questions[r.ID]; ok {
		delete(ss.questions, r.ID)
		ch <- r
	}
}

func (ss *serverSession) end(cause error) {
	ss.mu.Lock()
	was := ss.over
	ss.over = true
	ss.mu.Unlock()
	if !was {
		close(ss.ended)
		ss.scope.cancelAll(cause)
	}
}

// serverSessions are all sessions of a server, as many as allowed.
type serverSessions struct {
	mu   sync.Mutex
	byID map[string]*serverSession
}

// open makes a session; nil where there is no room, not even after those that
// were idle too long have gone.
func (t *serverSessions) open(version string, caps *serverCapabilities, limit int, idle time.Duration) *serverSession {
	now := time.Now()
	ss := &serverSession{
		id: rand.Text(), version: version, caps: caps, level: serverLevelInfo, used: now,
		scope: newServerScope(), news: newServerOutbox(256), ended: make(chan struct{}),
		uris: map[string]struct{}{}, questions: map[jsonrpc.ID]chan *jsonrpc.Response{},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var oldest *serverSession
	var oldestUse time.Time
	for id, other := range t.byID {
		since, ok := other.idle()
		if !ok {
			continue
		}
		if now.Sub(since) > idle {
			delete(t.byID, id)
			other.end(errSessionEnded)
		} else if oldest == nil || since.Before(oldestUse) {
			oldest, oldestUse = other, since
		}
	}
	if len(t.byID) >= limit {
		if oldest == nil {
			return nil
		}
		delete(t.byID, oldest.id)
		oldest.end(errSessionEnded)
	}
	t.byID[ss.id] = ss
	return ss
}

func (t *serverSessions) get(id string) *serverSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

func (t *serverSessions) end(id string) {
	t.mu.Lock()
	ss := t.byID[id]
	delete(t.byID, id)
	t.mu.Unlock()
	if ss != nil {
		ss.end(errSessionEnded)
	}
}

func (t *serverSessions) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, ss := range t.byID {
		delete(t.byID, id)
		ss.end(errServerClosed)
	}
}

// publish gives news to the sessions that are ready for them (2025-11-25
// §lifecycle: before notifications/initialized nothing but ping and logs).
func (t *serverSessions) publish(n serverNews, wants func(*serverSession) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ss := range t.byID {
		ss.mu.Lock()
		ready := ss.ready
		ss.mu.Unlock()
		if ready && wants(ss) {
			ss.news.push(n)
		}
	}
}
