package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// A mode is how the fake server behaves on one link.
type mode struct {
	dial   error         // Dial fails
	slow   time.Duration // before the first answer
	silent bool          // answers nothing
	modern bool
	only   error  // initialize is refused
	speaks string // the revision that initialize is answered with
	caps   string // capabilities

	silentProbe      bool
	crashOnProbe     bool
	crashInHandshake bool // dies of initialize
	crash            bool // dies right after the handshake
	refuse           *transport.RefusedError
	refuseCall       error // of echo
	gone             bool  // forgets the session after the handshake

	closing  time.Duration // what Close takes, gently
	noListen string        // the code that subscriptions are refused with
}

// A fake is a server that can be dialled. Everything in it is made for bubbles
// of testing/synctest.
type fake struct {
	private bool
	mode    func(dial int) mode // from 1

	mu      sync.Mutex
	dials   int
	open    int // links that are not closed yet
	most    int
	links   []*fakeLink
	heard   []string // methods, in order
	answers []string
	tools   map[string]string
}

func newFake(m func(dial int) mode) *fake {
	return &fake{mode: m, tools: map[string]string{"": `{"tools":[]}`}}
}

func always(m mode) func(int) mode { return func(int) mode { return m } }

// each has the modes of the first dials; the last one stays.
func each(m ...mode) func(int) mode { return func(n int) mode { return m[min(n, len(m))-1] } }

// A fakeLink is one link at the server.
type fakeLink struct {
	transport.Conn
	f    *fake
	n    int
	m    mode
	peer *transporttest.MemoryPeer

	once, hurried sync.Once
	hurry, ended  chan struct{}

	mu      sync.Mutex
	gone    bool
	hanging []*transporttest.Exchange
	listens map[string]*transporttest.Exchange
}

func (f *fake) Dial(ctx context.Context) (transport.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	m := f.mode(f.dials)
	if m.dial != nil {
		return nil, transport.NotSent(m.dial)
	}
	l := &fakeLink{f: f, n: f.dials, m: m, listens: map[string]*transporttest.Exchange{},
		hurry: make(chan struct{}), ended: make(chan struct{})}
	l.Conn, l.peer = transporttest.NewPair(transporttest.MemoryOptions{Private: f.private, NoListen: true, Refuse: l.refuse})
	f.links = append(f.links, l)
	f.open++
	f.most = max(f.most, f.open)
	go l.serve()
	return l, nil
}

// Close takes its time, but for who can't wait.
func (l *fakeLink) Close(ctx context.Context) error {
	err := l.Conn.Close(ctx)
	l.once.Do(func() {
		go func() {
			timer := time.NewTimer(l.m.closing)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-l.hurry:
			}
			l.f.mu.Lock()
			defer l.f.mu.Unlock()
			l.f.open--
			close(l.ended)
		}()
	})
	select {
	case <-l.ended:
	case <-ctx.Done():
		l.hurried.Do(func() { close(l.hurry) })
		<-l.ended
	}
	return err
}

// refuse is asked before a frame leaves.
func (l *fakeLink) refuse(f transport.Frame) error {
	method, _, _ := parse(f.Body)
	l.mu.Lock()
	gone := l.gone || l.m.gone && method != "notifications/initialized"
	l.mu.Unlock()
	switch {
	case l.m.refuse != nil:
		return l.m.refuse
	case l.m.refuseCall != nil && method == "echo":
		return l.m.refuseCall
	case method == "lossy" && l.n == 1:
		l.peer.Break(errors.New("broken pipe"))
		return transport.NotSent(&transport.LostError{Err: errors.New("broken pipe")})
	case gone && f.Link == transport.LinkWithin:
		l.f.hear("refused " + method)
		return &transport.RefusedError{Status: 404, Text: "Not Found", Session: true}
	}
	return nil
}

func (l *fakeLink) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

func (f *fake) hear(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = append(f.heard, what)
}

// count is how often a method was heard.
func (f *fake) count(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.heard {
		if h == method {
			n++
		}
	}
	return n
}

// last is the newest link.
func (f *fake) last() *fakeLink {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.links[len(f.links)-1]
}

func (f *fake) counts() (dials, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials, f.open
}

func parse(body []byte) (method, id string, params []byte) {
	m, err := jsonrpc.Parse(body)
	if err != nil {
		return "", "", nil
	}
	switch m := m.(type) {
	case *jsonrpc.Call:
		return m.Method, m.ID.String(), m.Params
	case *jsonrpc.Notification:
		return m.Method, "", m.Params
	}
	return "", "", nil
}

func (l *fakeLink) serve() {
	for first := true; ; first = false {
		x, err := l.peer.NextExchange(context.Background())
		if err != nil {
			return
		}
		if first && l.m.slow > 0 {
			select {
			case <-time.After(l.m.slow):
			case <-l.peer.Closed():
				return
			}
		}
		method, id, params := parse(x.Frame.Body)
		if method == "" {
			l.f.mu.Lock()
			l.f.answers = append(l.f.answers, string(x.Frame.Body))
			l.f.mu.Unlock()
			continue
		}
		l.f.hear(method)
		if l.m.silent {
			continue
		}
		l.answer(x, method, id, params)
	}
}

func (l *fakeLink) answer(x *transporttest.Exchange, method, id string, params []byte) {
	result := func(r string) { _ = x.Reply([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":` + r + `}`)) }
	fail := func(code int) {
		_ = x.Reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, id, code))
	}
	caps := l.m.caps
	if caps == "" {
		caps = "null"
	}
	switch method {
	case "server/discover":
		switch {
		case l.m.silentProbe:
		case l.m.crashOnProbe:
			l.peer.Break(errors.New("died"))
		case l.m.modern:
			result(`{"supportedVersions":["2026-07-28"],"capabilities":` + caps + `}`)
		default:
			fail(jsonrpc.MethodNotFound)
		}
	case "initialize":
		speaks := l.m.speaks
		if speaks == "" {
			speaks = "2025-11-25"
		}
		switch {
		case l.m.crashInHandshake:
			l.peer.Break(errors.New("died"))
		case l.m.only != nil && l.f.private:
			x.End(l.m.only)
		case l.m.only != nil:
			fail(jsonrpc.MethodNotFound)
		default:
			result(`{"protocolVersion":"` + speaks + `","capabilities":` + caps + `}`)
		}
	case "notifications/initialized":
		if l.m.crash {
			l.peer.Break(errors.New("died"))
		}
	case "notifications/cancelled":
		var p struct {
			ID int `json:"requestId"`
		}
		_ = json.Unmarshal(params, &p)
		l.mu.Lock()
		delete(l.listens, fmt.Sprint(p.ID))
		l.mu.Unlock()
	case "die":
		l.peer.Break(errors.New("died"))
	case "no":
		fail(-32000)
	case "hang":
		l.mu.Lock()
		l.hanging = append(l.hanging, x)
		l.mu.Unlock()
	case "tools/list":
		var p struct {
			Cursor string `json:"cursor"`
		}
		_ = json.Unmarshal(params, &p)
		l.f.mu.Lock()
		page, ok := l.f.tools[p.Cursor]
		l.f.mu.Unlock()
		if !ok {
			fail(jsonrpc.InvalidParams)
			return
		}
		result(page)
	case "subscriptions/listen":
		if l.m.noListen != "" {
			_ = x.Reply([]byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + l.m.noListen + `,"message":"no"}}`))
			return
		}
		l.mu.Lock()
		l.listens[id] = x
		l.mu.Unlock()
		_ = x.Reply([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`))
	default:
		if id != "" {
			result(fmt.Sprintf(`{"link":%d}`, l.n))
		}
	}
}

// listening is how many subscriptions are open.
func (l *fakeLink) listening() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.listens)
}

// endListens ends them all, gracefully.
func (l *fakeLink) endListens() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, x := range l.listens {
		_ = x.Reply([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`))
	}
	clear(l.listens)
}

// answerHanging answers what hangs.
func (l *fakeLink) answerHanging() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.hanging {
		_, id, _ := parse(x.Frame.Body)
		_ = x.Reply([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"late":true}}`))
	}
	l.hanging = nil
}

// A rig is an Upstream with its fake server.
type rig struct {
	*fake
	t   *testing.T
	u   *upstream.Upstream
	set *upstream.Set
	sub *fanout.Subscriber
}

// inBubble runs a test with a server in a bubble, and closes all at the end.
// The bubble fails where a goroutine is left.
func inBubble(t *testing.T, f *fake, tune func(*upstream.Options), test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, f, tune)
		defer r.end()
		test(r)
	})
}

// end closes everything, and checks that nothing is left.
func (r *rig) end() {
	r.t.Helper()
	r.u.Close(context.Background())
	synctest.Wait()
	if _, open := r.counts(); open != 0 {
		r.t.Errorf("%d links are left open", open)
	}
	if n := r.u.InFlight(); n != 0 {
		r.t.Errorf("%d slots are still taken", n)
	}
}

func newRig(t *testing.T, f *fake, tune func(*upstream.Options)) *rig {
	o := upstream.Defaults()
	o.Name = "fake"
	o.Dialers = []transport.Dialer{f}
	o.Restart.Jitter = 0
	if tune != nil {
		tune(&o)
	}
	u := upstream.New(o)
	r := &rig{fake: f, t: t, u: u, set: upstream.NewSet([]*upstream.Upstream{u})}
	r.sub = fanout.NewSubscriber(fanout.SubscriberOptions{Events: 1 << 16})
	r.attach(u.Shared())
	return r
}

func (r *rig) attach(s *upstream.Session) {
	if _, err := s.Hub().Attach(r.sub, fanout.Attach{Tag: s}); err != nil {
		r.t.Fatal(err)
	}
}

// events are what has come until now.
func (r *rig) events() (all []*upstream.Event) {
	synctest.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		item, err := r.sub.Next(ctx)
		switch {
		case err != nil:
			return all
		case item.Lost > 0:
			r.t.Fatalf("%d events lost", item.Lost)
		case item.Event != nil:
			all = append(all, item.Event.Value.(*upstream.Event))
		}
	}
}

// states are the states that the session went through since the last look.
func (r *rig) states() string {
	var s []string
	for _, e := range r.events() {
		if e.State != nil {
			s = append(s, strings.ReplaceAll(e.State.Status.State.String(), " ", "-"))
		}
	}
	return strings.Join(s, " ")
}

// changes are the methods of the list_changed events since the last look.
func (r *rig) changes() string {
	var s []string
	for _, e := range r.events() {
		if e.Kind == upstream.KindListChanged {
			s = append(s, strings.TrimSuffix(strings.TrimPrefix(e.Method, "notifications/"), "/list_changed"))
		}
	}
	return strings.Join(s, " ")
}

func (r *rig) wantStates(want string) {
	r.t.Helper()
	if got := r.states(); got != want {
		r.t.Errorf("states: %s\n want: %s", got, want)
	}
}

func (r *rig) wantDials(want int) {
	r.t.Helper()
	if got, _ := r.counts(); got != want {
		r.t.Errorf("%d dials, want %d", got, want)
	}
}

// do sends a request with a deadline.
func do(s *upstream.Session, method string, d time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	res, err := s.Do(ctx, &mcp.Request{Method: method})
	return string(res.Payload), err
}

func (r *rig) do(method string) (string, error) { return do(r.u.Shared(), method, time.Minute) }

func (r *rig) mustDo(method string) string {
	r.t.Helper()
	res, err := r.do(method)
	if err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
	return res
}

// notReady checks that an error says so, and returns it.
func (r *rig) notReady(err error, state upstream.State) *upstream.NotReadyError {
	r.t.Helper()
	var e *upstream.NotReadyError
	if !errors.As(err, &e) || !errors.Is(err, transport.ErrNotSent) {
		r.t.Fatalf("%v (%T), want a NotReadyError that was not sent", err, err)
	}
	if e.State != state {
		r.t.Errorf("state %v, want %v", e.State, state)
	}
	return e
}

// took runs f and checks how long it took.
func (r *rig) took(want time.Duration, f func()) {
	r.t.Helper()
	begin := time.Now()
	f()
	if got := time.Since(begin); got != want {
		r.t.Errorf("took %v, want %v", got, want)
	}
}

func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// errRefused is what a dialler returns when nobody listens.
var errRefused = &transport.LostError{Err: errors.New("connection refused")}
