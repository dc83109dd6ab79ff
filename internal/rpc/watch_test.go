package rpc_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// A watching is an open watch whose WatchStarted has come.
type watching struct {
	t       *testing.T
	stream  mcpbridgev1connect.McpServiceWatchNotificationsClientStream
	started *v1.WatchNotificationsResponse
	last    string // position
}

func watch(ctx context.Context, t *testing.T, b *bridge, r *v1.WatchNotificationsRequest) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	stream, err := b.client.WatchNotifications(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{t: t, stream: stream}
	w.started = w.next()
	if w.started.GetStarted() == nil {
		t.Fatalf("the stream begins with %v", w.started)
	}
	return w
}

// next receives the next event.
func (w *watching) next() *v1.WatchNotificationsResponse {
	w.t.Helper()
	m, err := w.stream.Receive()
	if err != nil {
		w.t.Fatal(err)
	}
	if m.Position == "" || m.ReceivedAt == nil {
		w.t.Errorf("no position or no time: %v", m)
	}
	w.last = m.Position
	return m
}

// until receives events up to the first that is wanted.
func (w *watching) until(is func(*v1.WatchNotificationsResponse) bool) (all []*v1.WatchNotificationsResponse) {
	w.t.Helper()
	for {
		m := w.next()
		all = append(all, m)
		if is(m) {
			return all
		}
	}
}

func isLog(text string) func(*v1.WatchNotificationsResponse) bool {
	return func(m *v1.WatchNotificationsResponse) bool { return m.GetLog().GetData().GetText() == `"`+text+`"` }
}

// say lets a server send a log message outside every call.
func (s *server) say(t *testing.T, level, text string) {
	t.Helper()
	err := s.peer().Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":%q}}`, level, text))
	if err != nil {
		t.Fatal(err)
	}
}

func ready(t *testing.T, b *bridge, server string) {
	t.Helper()
	if _, err := b.client.Ping(t.Context(), &v1.PingRequest{Server: server}); err != nil {
		t.Fatal(err)
	}
}

func TestWatchSeesWhatHappens(t *testing.T) {
	t.Parallel()
	s := echoes(false)
	b := one(t, s)
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{Servers: []string{"one"}})
	w.until(func(m *v1.WatchNotificationsResponse) bool {
		return m.GetServerState().GetState() == v1.ServerState_SERVER_STATE_READY
	})
	s.say(t, "info", "hello")
	if m := w.next(); !isLog("hello")(m) || m.Server != "one" || m.Sequence == 0 || m.GetLog().Level != v1.LogLevel_LOG_LEVEL_INFO {
		t.Errorf("%v", m)
	}
	_ = s.peer().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	if m := w.next(); m.GetListChanged().GetList() != v1.ListKind_LIST_KIND_TOOLS {
		t.Errorf("%v", m)
	}
	_ = s.peer().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/odd","params":{"a":1,"_meta":{"m":2}}}`))
	if m := w.next(); m.GetOther().GetMethod() != "notifications/odd" || m.GetMeta().GetText() != `{"m":2}` {
		t.Errorf("%v", m)
	}
}

func TestAWatchOfAllStartsNoServer(t *testing.T) {
	t.Parallel()
	a, c := echoes(false), echoes(true)
	b := start(t, rpc.Options{Servers: upstreams(t, nil, a, c)})
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{Kinds: []v1.NotificationKind{v1.NotificationKind_NOTIFICATION_KIND_LOG}})
	if a.dialled()+c.dialled() != 0 {
		t.Error("a server was started")
	}
	ready(t, b, "two")
	c.say(t, "info", "from two")
	if m := w.next(); m.Server != "two" || !isLog("from two")(m) {
		t.Errorf("%v", m)
	}
	ready(t, b, "one")
	a.say(t, "info", "from one")
	if m := w.next(); m.Server != "one" || !isLog("from one")(m) {
		t.Errorf("%v", m)
	}
	// Its place in both is remembered.
	a.say(t, "info", "a")
	c.say(t, "info", "c")
	again := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{Kinds: []v1.NotificationKind{v1.NotificationKind_NOTIFICATION_KIND_LOG}, After: w.last})
	seen := map[string]bool{}
	for range 2 {
		seen[again.next().GetLog().GetData().GetText()] = true
	}
	if !maps.Equal(seen, map[string]bool{`"a"`: true, `"c"`: true}) {
		t.Error(seen)
	}
}

func TestWatchGoesOnAfterAPosition(t *testing.T) {
	t.Parallel()
	s := echoes(false)
	b := start(t, rpc.Options{Servers: upstreams(t, func(_ int, o *upstream.Options) { o.ReplayEvents = 4 }, s)})
	ready(t, b, "one")
	r := &v1.WatchNotificationsRequest{Servers: []string{"one"}}
	w := watch(t.Context(), t, b, r)
	s.say(t, "info", "1")
	first := w.next()
	for i := 2; i <= 4; i++ {
		s.say(t, "info", fmt.Sprint(i))
	}
	w.until(isLog("4")) // all are in the hub
	r.After = first.Position
	again := watch(t.Context(), t, b, r)
	if again.started.Position != first.Position {
		t.Error("the place moved before anything was sent")
	}
	for i := 2; i <= 4; i++ {
		if m := again.next(); !isLog(fmt.Sprint(i))(m) || m.Sequence != first.Sequence+int64(i)-1 {
			t.Errorf("%v, want %d", m, i)
		}
	}
	// Later the hub holds only the last four: the others are counted.
	for i := 5; i <= 10; i++ {
		s.say(t, "info", fmt.Sprint(i))
	}
	w.until(isLog("10"))
	late := watch(t.Context(), t, b, r)
	if late.started.Position != first.Position {
		t.Error("the place moved before the gap was told")
	}
	if m := late.next(); m.GetGap().GetLost() != 5 || m.Server != "one" {
		t.Errorf("%v, want a gap of 5", m)
	}
	for i := 7; i <= 10; i++ {
		if m := late.next(); !isLog(fmt.Sprint(i))(m) {
			t.Errorf("%v, want %d", m, i)
		}
	}
}

func TestAPositionOfAnotherLife(t *testing.T) {
	t.Parallel()
	s := echoes(false)
	b := one(t, s)
	ready(t, b, "one")
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{After: rpc.FormatPosition("AAAAAAAA", []string{"one"}, []uint64{3})})
	if m := w.next(); m.GetGap() == nil || m.GetGap().Lost != 0 {
		t.Errorf("%v, want a gap of unknown size", m)
	}
	s.say(t, "info", "x")
	if m := w.next(); !isLog("x")(m) {
		t.Errorf("%v", m)
	}
}

func TestWatchRefuses(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	for name, c := range map[string]struct {
		r      *v1.WatchNotificationsRequest
		code   connect.Code
		reason string
	}{
		"a position that is none": {&v1.WatchNotificationsRequest{After: "!"}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"an unknown kind":         {&v1.WatchNotificationsRequest{Kinds: []v1.NotificationKind{99}}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"no kind":                 {&v1.WatchNotificationsRequest{Kinds: []v1.NotificationKind{0}}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"an unknown level":        {&v1.WatchNotificationsRequest{MinLogLevel: 99}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"an unknown format":       {&v1.WatchNotificationsRequest{ResultFormat: 99}, connect.CodeInvalidArgument, "INVALID_REQUEST"},
		"an unknown server":       {&v1.WatchNotificationsRequest{Servers: []string{"nine"}}, connect.CodeNotFound, "SERVER_NOT_FOUND"},
		"an unknown session":      {&v1.WatchNotificationsRequest{SessionId: "x"}, connect.CodeNotFound, "SESSION_NOT_FOUND"},
		"resources":               {&v1.WatchNotificationsRequest{ResourceUris: []string{"x"}}, connect.CodeUnimplemented, "UNIMPLEMENTED"},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := b.client.WatchNotifications(t.Context(), c.r)
			if err == nil {
				_, err = stream.Receive()
			}
			want(t, err, c.code, c.reason)
		})
	}
}

func TestWatchFilters(t *testing.T) {
	t.Parallel()
	s := echoes(false)
	b := one(t, s)
	ready(t, b, "one")
	loud := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{MinLogLevel: v1.LogLevel_LOG_LEVEL_ERROR})
	lists := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{Kinds: []v1.NotificationKind{v1.NotificationKind_NOTIFICATION_KIND_LIST_CHANGED}})
	raw := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{ResultFormat: v1.ResultFormat_RESULT_FORMAT_RAW})
	s.say(t, "debug", "quiet")
	s.say(t, "critical", "loud")
	_ = s.peer().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`))
	if m := loud.next(); !isLog("loud")(m) {
		t.Errorf("%v", m)
	}
	if m := lists.next(); m.GetListChanged().GetList() != v1.ListKind_LIST_KIND_PROMPTS || m.Sequence == 0 {
		t.Errorf("%v", m)
	}
	if m := raw.next(); m.GetOther().GetMethod() != "notifications/message" || !strings.Contains(m.GetOther().GetParams().GetText(), "quiet") {
		t.Errorf("%v", m)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	b := one(t, &server{serve: func(c *call) { <-c.x.Done() }})
	beat := durationpb.New(time.Millisecond) // as fast as it is let
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{HeartbeatInterval: beat})
	began := time.Now()
	for range 2 {
		if m := w.next(); m.GetHeartbeat() == nil || m.Sequence != 0 || m.Position != w.started.Position {
			t.Errorf("%v", m)
		}
	}
	if d := time.Since(began); d < 150*time.Millisecond {
		t.Errorf("two heartbeats in %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := b.client.StreamTool(ctx, &v1.StreamToolRequest{Call: &v1.CallToolRequest{Name: "x"}, HeartbeatInterval: beat})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Receive(); err != nil || m.GetHeartbeat() == nil {
		t.Errorf("%v %v", m, err)
	}
}

func TestWhatBelongsToACallIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{false, true} {
		s := &server{private: private}
		s.serve = func(c *call) {
			c.notify("notifications/message", `{"level":"info","data":"secret of a"}`)
			if tok := c.token(); tok != "" {
				c.notify("notifications/progress", `{"progressToken":`+tok+`,"progress":1}`)
			}
			c.notify("notifications/odd", `{"_meta":{"x":"secret of a"}}`)
			c.result(okResult)
		}
		b := one(t, s)
		ready(t, b, "one")
		mine := watch(as(t.Context(), "a"), t, b, &v1.WatchNotificationsRequest{})
		theirs := watch(as(t.Context(), "b"), t, b, &v1.WatchNotificationsRequest{})
		// With a name, and without: both are a's.
		for _, id := range []string{"first", ""} {
			_, err := b.client.CallTool(as(t.Context(), "a"), &v1.CallToolRequest{Name: "x", Options: &v1.RequestOptions{CallId: id}})
			if err != nil {
				t.Fatal(err)
			}
		}
		b.set.All()[0].Shared().Hub().Publish(listChanged(b))
		isEnd := func(m *v1.WatchNotificationsResponse) bool { return m.GetListChanged() != nil }
		logs, progress := 0, 0
		for _, m := range mine.until(isEnd) {
			if m.GetLog() != nil {
				logs++
			}
			if p := m.GetProgress(); p != nil {
				progress++
				if p.CallId != "first" {
					t.Errorf("%v", p)
				}
			}
		}
		if logs != 2 || progress != 1 {
			t.Errorf("private %v: its caller saw %d logs and %d progress", private, logs, progress)
		}
		for _, m := range theirs.until(isEnd) {
			if m.GetProgress() != nil || strings.Contains(m.String(), "secret") && (private || m.GetLog() != nil) {
				t.Errorf("private %v: somebody else saw %v", private, m)
			}
		}
	}
}

func listChanged(b *bridge) fanout.Event {
	return fanout.Event{Class: uint64(upstream.KindListChanged), Value: &upstream.Event{
		Session: b.set.All()[0].Shared(), Kind: upstream.KindListChanged, Method: "notifications/tools/list_changed",
	}}
}

func TestACallersOwnTokenComesBack(t *testing.T) {
	t.Parallel()
	s := &server{serve: func(c *call) {
		if strings.Contains(string(c.Params), "mine") {
			c.fail(-1, "the caller's own token came through", "")
			return
		}
		c.notify("notifications/progress", `{"a":1,"progressToken":`+c.token()+`,"progress":1}`)
		c.result(`{}`)
	}}
	b := one(t, s)
	ready(t, b, "one")
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{ResultFormat: v1.ResultFormat_RESULT_FORMAT_RAW})
	for _, token := range []string{`"mine"`, `7`, `7.0`} {
		_, err := b.client.Call(t.Context(), &v1.CallRequest{Method: "tools/call", ParamsJson: `{"name":"x","_meta":{"progressToken":` + token + `}}`})
		if err != nil {
			t.Fatal(err)
		}
		if p := w.next().GetOther().GetParams().GetText(); p != `{"a":1,"progressToken":`+token+`,"progress":1}` {
			t.Error(p)
		}
	}
}

func TestAClosedSessionEndsItsWatch(t *testing.T) {
	t.Parallel()
	b := one(t, echoes(false))
	x, err := b.client.Initialize(t.Context(), &v1.InitializeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{SessionId: x.SessionId})
	if _, err := b.client.CloseSession(t.Context(), &v1.CloseSessionRequest{SessionId: x.SessionId}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.stream.Receive()
	}
	want(t, err, connect.CodeNotFound, "SESSION_NOT_FOUND")
}

func TestDrainingEndsWatches(t *testing.T) {
	t.Parallel()
	draining, drain := context.WithCancel(t.Context())
	b := start(t, rpc.Options{Servers: upstreams(t, nil, echoes(false)), Draining: draining})
	var streams []*watching
	for _, o := range [][]connecthttp.Option{nil, {connecthttp.WithGRPC()}, {connecthttp.WithProtoJSON()}} {
		bb := *b
		bb.client = b.connect(t, o...)
		streams = append(streams, watch(t.Context(), t, &bb, &v1.WatchNotificationsRequest{}))
	}
	drain()
	for _, w := range streams {
		_, err := w.stream.Receive()
		if v := want(t, err, connect.CodeUnavailable, "DRAINING"); v.Retry == nil {
			t.Errorf("%+v", v)
		}
	}
}

// A watcher that does not read loses events, and is told how many.
func TestReceivedMergedAndLostAddUp(t *testing.T) {
	t.Parallel()
	b := start(t, rpc.Options{Servers: upstreams(t, nil, echoes(false)), WatchBuffer: 16})
	w := watch(t.Context(), t, b, &v1.WatchNotificationsRequest{})
	hub := b.set.All()[0].Shared().Hub()
	const sends = 5_000
	big := []byte(`{"level":"info","data":"` + strings.Repeat("x", 4000) + `"}`)
	for i := range sends {
		e := &upstream.Event{Session: b.set.All()[0].Shared(), Kind: upstream.KindLog, Method: "notifications/message", Params: big, Level: "info"}
		key := ""
		if i%3 == 0 {
			e.Kind, e.Method, e.Params, key = upstream.KindListChanged, "notifications/tools/list_changed", nil, "k"
		}
		hub.Publish(fanout.Event{Key: key, Class: uint64(e.Kind), Size: len(e.Params), Value: e})
	}
	var received, merged, lost, last int64
	for received+merged+lost < sends {
		m := w.next()
		if g := m.GetGap(); g != nil {
			lost += int64(g.Lost)
			continue
		}
		if m.Sequence <= last {
			t.Fatalf("number %d after %d", m.Sequence, last)
		}
		received, merged, last = received+1, merged+int64(m.Merged), m.Sequence
	}
	if received+merged+lost != sends || lost == 0 || last != int64(hub.Last()) {
		t.Errorf("%d received, %d merged, %d lost; %d sent, the last is %d of %d", received, merged, lost, sends, last, hub.Last())
	}
	t.Logf("%d received, %d merged, %d lost", received, merged, lost)
}

func FuzzPosition(f *testing.F) {
	f.Add(rpc.FormatPosition("instance", []string{"a", ""}, []uint64{1, 1 << 63}))
	f.Add("AQ")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		places, known, err := rpc.ParsePosition(text, "instance")
		if err != nil || !known {
			return
		}
		var keys []string
		var seqs []uint64
		for k, v := range places {
			keys, seqs = append(keys, k), append(seqs, v)
		}
		again, known, err := rpc.ParsePosition(rpc.FormatPosition("instance", keys, seqs), "instance")
		if err != nil || !known || !maps.Equal(places, again) {
			t.Fatalf("%v became %v (%v)", places, again, err)
		}
	})
}
