package rpc

import (
	"context"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

const methodWatch = "notifications"

// WatchNotifications streams events until the caller leaves.
func (s *Service) WatchNotifications(ctx context.Context, r *mcpbridgev1.WatchNotificationsRequest, stream mcpbridgev1connect.McpServiceWatchNotificationsServerStream) error {
	a := s.about(ctx, nil, methodWatch, "")
	if s.o.Draining.Err() != nil {
		return s.fail(errDraining, a)
	}
	sessions, err := s.watched(ctx, r)
	if err != nil {
		return s.fail(err, a)
	}
	filter, err := s.filter(ctx, r)
	if err != nil {
		return s.fail(err, a)
	}
	after, known, err := parsePosition(r.After, s.o.Servers.Instance())
	if err != nil {
		return s.fail(err, a)
	}
	w := &watch{
		stream: stream, format: r.ResultFormat, places: newPosition(s.o.Servers.Instance()),
		quiet: heartbeat(r.HeartbeatInterval.AsDuration(), s.o.Heartbeat), service: s,
		sub: fanout.NewSubscriber(fanout.SubscriberOptions{Events: s.o.WatchBuffer}),
	}
	if w.format == mcpbridgev1.ResultFormat_RESULT_FORMAT_UNSPECIFIED {
		w.format = mcpbridgev1.ResultFormat_RESULT_FORMAT_TYPED
	}
	defer w.sub.Close(nil) // detaches it from all hubs
	for _, x := range sessions {
		place, ok := after[placeKey(x)]
		start, err := x.Hub().Attach(w.sub, fanout.Attach{
			Replay: ok, After: place, Mask: filter.kinds, Filter: filter.of(x), Tag: x,
		})
		if err != nil {
			return s.fail(upstream.ErrUnknownSession, a)
		}
		defer x.Watch()()
		// What is lost is told by a Gap, so the place before it is still the old one.
		w.places.set(placeKey(x), start.After-start.Lost)
		if r.GetSessionId() != "" || len(r.Servers) > 0 {
			x.Want()
		}
		answered(ctx, x)
	}
	return s.fail(w.run(ctx, s.o.Draining, r.After != "" && !known), a)
}

// filter reads what a watcher wants to see, and may see.
func (s *Service) filter(ctx context.Context, r *mcpbridgev1.WatchNotificationsRequest) (watchFilter, error) {
	f := watchFilter{level: r.MinLogLevel, principal: s.o.Principal(ctx)}
	if r.ResultFormat < 0 || r.ResultFormat > mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
		return f, invalid("result_format: no such format: %d", r.ResultFormat)
	}
	if _, ok := typed.LogLevelName(r.MinLogLevel); !ok && r.MinLogLevel != mcpbridgev1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		return f, invalid("min_log_level: no such level: %d", r.MinLogLevel)
	}
	if len(r.ResourceUris) > 0 {
		return f, &unimplementedError{text: "resource_uris: watching resources is not implemented yet"}
	}
	for _, k := range r.Kinds {
		if k <= mcpbridgev1.NotificationKind_NOTIFICATION_KIND_UNSPECIFIED || k > mcpbridgev1.NotificationKind_NOTIFICATION_KIND_OTHER {
			return f, invalid("kinds: no such kind: %d", k)
		}
		f.kinds |= 1 << (k - 1) // as upstream.Kind has them
	}
	return f, nil
}

// watched finds what a watch is of.
func (s *Service) watched(ctx context.Context, r *mcpbridgev1.WatchNotificationsRequest) ([]*upstream.Session, error) {
	x, err := s.private(ctx, r.SessionId)
	if err != nil {
		return nil, err
	}
	if x != nil {
		if len(r.Servers) > 0 {
			return nil, invalid("both a session and servers are named")
		}
		return []*upstream.Session{x}, nil
	}
	var all []*upstream.Session
	if len(r.Servers) == 0 {
		for _, u := range s.o.Servers.All() {
			all = append(all, u.Shared())
		}
		return all, nil
	}
	seen := map[string]bool{}
	for _, name := range r.Servers {
		u, err := s.o.Servers.Get(name)
		if err != nil {
			return nil, err
		}
		if !seen[u.Name()] {
			seen[u.Name()] = true
			all = append(all, u.Shared())
		}
	}
	return all, nil
}

// A watchFilter is what a watcher wants to see, and may see.
type watchFilter struct {
	kinds     uint64
	level     mcpbridgev1.LogLevel
	principal string
}

func (f watchFilter) of(x *upstream.Session) func(*fanout.Event) bool {
	shared := x.ID() == ""
	return func(fe *fanout.Event) bool {
		e := fe.Value.(*upstream.Event)
		if shared && !f.may(e) {
			return false
		}
		if e.Kind == upstream.KindLog && f.level != 0 {
			level, ok := typed.ParseLogLevel(e.Level)
			return !ok || level >= f.level
		}
		return true
	}
}

// may reports whether the watcher may see an event of a session that others use
// as well. What belongs to a call is its caller's alone, and progress and tasks
// always belong to one.
func (f watchFilter) may(e *upstream.Event) bool {
	switch e.Kind {
	case upstream.KindListChanged, upstream.KindResourceUpdated, upstream.KindServerState:
		return true
	case upstream.KindProgress, upstream.KindTask:
		return e.Call != nil && e.Call.Principal == f.principal
	}
	return e.Call == nil || e.Call.Principal == f.principal
}

// A watch is one open stream of events.
type watch struct {
	service *Service
	stream  mcpbridgev1connect.McpServiceWatchNotificationsServerStream
	format  mcpbridgev1.ResultFormat
	sub     *fanout.Subscriber
	places  *position
	quiet   time.Duration
}

// run sends until the caller leaves, the bridge drains, or what is watched ends.
func (w *watch) run(ctx, draining context.Context, forgotten bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(draining, func() { cancel(errDraining) })()
	started := &mcpbridgev1.WatchStarted{}
	if err := w.send(&mcpbridgev1.WatchNotificationsResponse{Event: &mcpbridgev1.WatchNotificationsResponse_Started{Started: started}}); err != nil {
		return err
	}
	if forgotten {
		gap := &mcpbridgev1.Gap{} // of a bridge that has ended: nobody knows how many
		if err := w.send(&mcpbridgev1.WatchNotificationsResponse{Event: &mcpbridgev1.WatchNotificationsResponse_Gap{Gap: gap}}); err != nil {
			return err
		}
	}
	var ended *upstream.Session
	for open := w.places.len(); open > 0; {
		item, beat, err := next(ctx, w.sub, w.quiet)
		switch {
		case err != nil:
			return err
		case beat:
			err = w.send(&mcpbridgev1.WatchNotificationsResponse{Event: &mcpbridgev1.WatchNotificationsResponse_Heartbeat{Heartbeat: &mcpbridgev1.Heartbeat{}}})
		case item.End:
			open--
			ended = item.Tag.(*upstream.Session)
		default:
			err = w.send(w.message(item))
		}
		if err != nil {
			return err
		}
	}
	if ended != nil && ended.Lost() != nil {
		return ended.Lost()
	}
	return upstream.ErrUnknownSession // it was closed
}

func (w *watch) send(m *mcpbridgev1.WatchNotificationsResponse) error {
	m.Position = w.places.String()
	if m.ReceivedAt == nil {
		m.ReceivedAt = timestamppb.Now()
	}
	return w.stream.Send(m)
}

// message makes the message of an item.
func (w *watch) message(item fanout.Item) *mcpbridgev1.WatchNotificationsResponse {
	x := item.Tag.(*upstream.Session)
	w.places.set(placeKey(x), item.Seq)
	if item.Lost > 0 {
		return &mcpbridgev1.WatchNotificationsResponse{
			Server: x.Upstream().Name(),
			Event:  &mcpbridgev1.WatchNotificationsResponse_Gap{Gap: &mcpbridgev1.Gap{Lost: int32(min(item.Lost, math.MaxInt32))}},
		}
	}
	e := item.Event.Value.(*upstream.Event)
	made := w.service.encoded(e, w.format)
	return &mcpbridgev1.WatchNotificationsResponse{
		Sequence: int64(item.Seq), ReceivedAt: timestamppb.New(item.Event.Time), Server: x.Upstream().Name(),
		Event: made.Event, Meta: made.Meta, Merged: int32(min(item.Merged, math.MaxInt32)),
	}
}

// encoded makes the event itself, once for all watchers that want the format.
func (s *Service) encoded(e *upstream.Event, f mcpbridgev1.ResultFormat) *mcpbridgev1.WatchNotificationsResponse {
	if v, ok := e.Encoded.Load(f); ok {
		return v.(*mcpbridgev1.WatchNotificationsResponse)
	}
	m := s.encode(e, f)
	v, _ := e.Encoded.LoadOrStore(f, m)
	return v.(*mcpbridgev1.WatchNotificationsResponse)
}

func (s *Service) encode(e *upstream.Event, f mcpbridgev1.ResultFormat) *mcpbridgev1.WatchNotificationsResponse {
	u := e.Session.Upstream()
	if e.State != nil {
		state := s.server(u, e.State.Status, e.State.Info)
		return &mcpbridgev1.WatchNotificationsResponse{Event: &mcpbridgev1.WatchNotificationsResponse_ServerState{ServerState: state}}
	}
	d := typed.Decoder{Format: f, Server: u.Name(), Modern: isModern(e.Session)}
	read, err := d.Notification(e.Method, e.Params)
	if err != nil {
		// Params that are no JSON can't have come this far; show at least that there was something.
		return &mcpbridgev1.WatchNotificationsResponse{Event: &mcpbridgev1.WatchNotificationsResponse_Other{
			Other: &mcpbridgev1.OtherNotification{Method: e.Method}}}
	}
	m := read.Event
	if e.Call == nil {
		return m
	}
	switch ev := m.Event.(type) {
	case *mcpbridgev1.WatchNotificationsResponse_Progress:
		ev.Progress.CallId = e.Call.CallID
	case *mcpbridgev1.WatchNotificationsResponse_Log:
		ev.Log.CallId = e.Call.CallID
	case *mcpbridgev1.WatchNotificationsResponse_Other:
		if e.Call.Token != "" && ev.Other.Params != nil && e.Kind == upstream.KindProgress {
			ev.Other.Params.Text = withToken(ev.Other.Params.Text, e.Call.Token)
		}
	}
	return m
}

// withToken puts the caller's own progress token back in place of the bridge's.
func withToken(params, token string) string {
	d := jsonscan.NewDecoder(jsonscan.AsBytes(params))
	if d.Peek() != jsonscan.Object || !d.OpenObject() {
		return params
	}
	var m jsonscan.Member
	for d.NextMember(&m) {
		from := d.Offset()
		d.Skip()
		if m.Name == "progressToken" && d.Err() == nil {
			return params[:from] + token + params[d.Offset():]
		}
	}
	return params
}
