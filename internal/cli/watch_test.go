package cli_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
)

type watchStream = mcpbridgev1connect.McpServiceWatchNotificationsServerStream

func someEvents() []*mcpbridgev1.WatchNotificationsResponse {
	json := func(s string) *mcpbridgev1.Json { return &mcpbridgev1.Json{Text: s} }
	total := 4.0
	events := []*mcpbridgev1.WatchNotificationsResponse{
		{Event: &mcpbridgev1.WatchNotificationsResponse_Started{Started: &mcpbridgev1.WatchStarted{RefusedUris: []string{"file:///no"}}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_Log{Log: &mcpbridgev1.LogMessage{Level: mcpbridgev1.LogLevel_LOG_LEVEL_ERROR, Logger: "db", Data: json(`"lost\n\u001b[31mconnection"`)}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_ListChanged{ListChanged: &mcpbridgev1.ListChanged{List: mcpbridgev1.ListKind_LIST_KIND_TOOLS}}, Merged: 41},
		{Event: &mcpbridgev1.WatchNotificationsResponse_ResourceUpdated{ResourceUpdated: &mcpbridgev1.ResourceUpdated{Uri: "file:///srv/data/" + strings.Repeat("x", 80)}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_Progress{Progress: &mcpbridgev1.Progress{CallId: "c1", Current: 1, Total: &total, Message: "half of half"}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_Task{Task: &mcpbridgev1.Task{TaskId: "t1", State: mcpbridgev1.TaskState_TASK_STATE_WORKING, StateMessage: "on it"}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_ElicitationComplete{ElicitationComplete: &mcpbridgev1.ElicitationComplete{ElicitationId: "e1"}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_ServerState{ServerState: &mcpbridgev1.Server{State: mcpbridgev1.ServerState_SERVER_STATE_BACKOFF, StateReason: "exit status 1"}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_Gap{Gap: &mcpbridgev1.Gap{Lost: 17}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_Heartbeat{Heartbeat: &mcpbridgev1.Heartbeat{}}},
		{Event: &mcpbridgev1.WatchNotificationsResponse_Other{Other: &mcpbridgev1.OtherNotification{Method: "notifications/new", Params: json(`{"a":1}`)}}},
		{},
	}
	for i, e := range events {
		if i > 0 {
			e.Server = "files"
			e.Sequence = int64(i)
			e.ReceivedAt = timestamppb.New(time.Date(2026, 7, 28, 12, 0, i, 5e6, time.UTC))
		}
	}
	return events
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  string
		world world
	}{
		{"watch", "watch", world{}},
		{"watch-json", "watch --json", world{}},
		{"watch-terminal", "watch", world{terminal: true, width: 70}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.world.bridge = &bridge{watch: func(_ context.Context, _ *mcpbridgev1.WatchNotificationsRequest, s watchStream) error {
				for _, e := range someEvents() {
					if err := s.Send(e); err != nil {
						return err
					}
				}
				return said(t, connect.CodeUnavailable, "the bridge is draining", &errdetails.ErrorInfo{Reason: "DRAINING"})
			}}
			got := c.world.run(t, strings.Fields(c.args)...)
			if got.status != 1 {
				t.Errorf("status %d", got.status)
			}
			golden(t, c.name, got)
		})
	}
}

func TestWatchAsksForWhatIsMeant(t *testing.T) {
	t.Parallel()
	var asked *mcpbridgev1.WatchNotificationsRequest
	b := &bridge{watch: func(_ context.Context, r *mcpbridgev1.WatchNotificationsRequest, _ watchStream) error {
		asked = proto.CloneOf(r)
		return nil
	}}
	got := world{bridge: b}.run(t, strings.Fields("watch -s a -s b --kind log -k list-changed,Server_State --level Warning --resource file:///a,b --resource x --after p0")...)
	want := &mcpbridgev1.WatchNotificationsRequest{
		Servers:     []string{"a", "b"},
		Kinds:       []mcpbridgev1.NotificationKind{mcpbridgev1.NotificationKind_NOTIFICATION_KIND_LOG, mcpbridgev1.NotificationKind_NOTIFICATION_KIND_LIST_CHANGED, mcpbridgev1.NotificationKind_NOTIFICATION_KIND_SERVER_STATE},
		MinLogLevel: mcpbridgev1.LogLevel_LOG_LEVEL_WARNING, After: "p0", ResourceUris: []string{"file:///a,b", "x"},
	}
	if !proto.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	if got != (outcome{"", "error: the bridge ended the stream\n", 1}) {
		t.Errorf("%+v", got)
	}
}

func TestWatchHelpNamesAllKinds(t *testing.T) {
	t.Parallel()
	got := world{}.run(t, "watch", "--help")
	help := strings.Join(strings.Fields(got.out), " ")
	for v, name := range mcpbridgev1.NotificationKind_name {
		if word := strings.ToLower(strings.TrimPrefix(name, "NOTIFICATION_KIND_")); v != 0 && !strings.Contains(help, word) {
			t.Errorf("--help does not name %s in\n%s", word, got.out)
		}
	}
}

func TestWatchInterruptedIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	b := &bridge{watch: func(ctx context.Context, _ *mcpbridgev1.WatchNotificationsRequest, s watchStream) error {
		defer close(ended)
		if err := s.Send(someEvents()[2]); err != nil {
			return err
		}
		cancel(errors.New("interrupt"))
		<-ctx.Done()
		return ctx.Err()
	}}
	got := world{bridge: b, ctx: ctx}.run(t, "watch")
	<-ended
	if got.status != 0 || got.err != "" {
		t.Errorf("%+v", got)
	}
}
