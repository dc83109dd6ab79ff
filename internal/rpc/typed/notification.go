package typed

import (
	"errors"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Notification is what a server said unasked.
type Notification struct {
	// Event has its server, event and meta set.
	Event *v1.WatchNotificationsResponse
	// Token is the JSON text of the progressToken, where the event is Progress.
	Token []byte
}

// Notification reads a notification; params may be nil. One that has no type of
// its own, or whose params lack what makes its type, comes as OtherNotification,
// as all do in RAW form.
func (d Decoder) Notification(method string, params []byte) (Notification, error) {
	n := Notification{Event: &v1.WatchNotificationsResponse{Server: d.Server}}
	none := params == nil
	if none {
		params = []byte("{}")
	}
	p := notified{d: d, event: n.Event}
	var f frame
	_, err := d.body(params, func(r *reader, o *object) {
		if o.Name == "_meta" {
			r.took(o, r.jsonObject(&f.meta))
		} else {
			p.member(r, o)
		}
	})
	if err != nil && !errors.Is(err, ErrNotObject) {
		return Notification{}, err
	}
	n.Event.Meta = f.meta
	if err == nil && d.Format != v1.ResultFormat_RESULT_FORMAT_RAW && p.typed(method, params) {
		n.Token = p.token
		return n, nil
	}
	other := &v1.OtherNotification{Method: method}
	if !none {
		r := d.read(params)
		other.Params = r.newJSON(r.ReadRaw())
		_ = r.done() // valid, as body found
	}
	n.Event.Event = &v1.WatchNotificationsResponse_Other{Other: other}
	return n, nil
}

// notified collects the members of all types of notification: no name means two things.
type notified struct {
	d     Decoder
	event *v1.WatchNotificationsResponse

	progress    v1.Progress
	hasProgress bool
	token       []byte
	log         v1.LogMessage
	uri, elicit *string
}

func (p *notified) member(r *reader, o *object) {
	switch o.Name {
	case "progressToken":
		p.token = r.ReadRaw()
	case "progress":
		p.hasProgress = r.took(o, r.float(&p.progress.Current)) || p.hasProgress
	case "total":
		r.took(o, r.optFloat(&p.progress.Total))
	case "message":
		r.took(o, r.str(&p.progress.Message))
	case "level":
		var name string
		if r.took(o, r.str(&name)) {
			p.log.Level, _ = ParseLogLevel(name)
		}
	case "logger":
		r.took(o, r.str(&p.log.Logger))
	case "data":
		r.took(o, r.anyOrNull(&p.log.Data))
	case "uri":
		r.took(o, r.optStr(&p.uri))
	case "elicitationId":
		r.took(o, r.optStr(&p.elicit))
	default:
		r.Skip()
	}
}

// typed sets the event; false where the params do not make one.
func (p *notified) typed(method string, params []byte) bool {
	ev := p.event
	switch method {
	case "notifications/progress":
		if !p.hasProgress || p.token == nil {
			return false
		}
		ev.Event = &v1.WatchNotificationsResponse_Progress{Progress: &p.progress}
	case "notifications/message":
		if p.log.Data == nil {
			return false
		}
		ev.Event = &v1.WatchNotificationsResponse_Log{Log: &p.log}
	case "notifications/tools/list_changed":
		ev.Event = listChanged(v1.ListKind_LIST_KIND_TOOLS)
	case "notifications/resources/list_changed":
		ev.Event = listChanged(v1.ListKind_LIST_KIND_RESOURCES)
	case "notifications/prompts/list_changed":
		ev.Event = listChanged(v1.ListKind_LIST_KIND_PROMPTS)
	case "notifications/resources/updated":
		if p.uri == nil {
			return false
		}
		ev.Event = &v1.WatchNotificationsResponse_ResourceUpdated{ResourceUpdated: &v1.ResourceUpdated{Uri: *p.uri}}
	case "notifications/elicitation/complete":
		if p.elicit == nil {
			return false
		}
		ev.Event = &v1.WatchNotificationsResponse_ElicitationComplete{
			ElicitationComplete: &v1.ElicitationComplete{ElicitationId: *p.elicit},
		}
	case "notifications/tasks/status", "notifications/tasks":
		t, err := p.d.Task(params)
		if err != nil || t.TaskId == "" {
			return false
		}
		ev.Event = &v1.WatchNotificationsResponse_Task{Task: t}
	default:
		return false
	}
	return true
}

func listChanged(list v1.ListKind) *v1.WatchNotificationsResponse_ListChanged {
	return &v1.WatchNotificationsResponse_ListChanged{ListChanged: &v1.ListChanged{List: list}}
}
