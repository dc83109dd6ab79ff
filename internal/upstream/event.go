package upstream

import (
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/fanout"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// A Kind is a kind of event, a bit of fanout.Event.Class.
type Kind uint64

const (
	KindProgress Kind = 1 << iota
	KindLog
	KindListChanged
	KindResourceUpdated
	KindTask
	KindElicitationComplete
	KindServerState
	KindOther
)

// An Event is what a session's hub carries.
type Event struct {
	Session *Session
	Kind    Kind
	Method  string
	Params  []byte     // JSON text; nil: none
	Level   string     // KindLog only: its level, as the server wrote it
	Call    *CallTag   // the call that it belongs to; nil: none, or not known
	State   *StateInfo // KindServerState only

	// Encoded is for whoever shows events: what is made of one once serves all
	// watchers.
	Encoded sync.Map
}

// StateInfo is a session's state when it changed.
type StateInfo struct {
	Status Status
	Info   *mcp.Info
}

// A CallTag travels with a request and comes back with what belongs to it.
type CallTag struct {
	Principal string
	CallID    string
	// Token is the caller's own progress token, as JSON text; empty: none.
	Token string
}

// kindOf sorts a notification by its method.
func kindOf(method string) Kind {
	switch method {
	case "notifications/progress":
		return KindProgress
	case "notifications/message":
		return KindLog
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		return KindListChanged
	case "notifications/resources/updated":
		return KindResourceUpdated
	case "notifications/tasks/status", "notifications/tasks":
		return KindTask
	case "notifications/elicitation/complete":
		return KindElicitationComplete
	}
	return KindOther
}

// handler is the session as its client sees it.
type handler struct{ *Session }

// Notify takes a notification of the server. It never waits.
func (h handler) Notify(n *mcp.Notification) {
	if n.Method == "notifications/subscriptions/acknowledged" {
		return // between client and server only
	}
	e := &Event{Kind: kindOf(n.Method), Method: n.Method, Params: n.Params}
	e.Call, _ = n.Tag.(*CallTag)
	key := ""
	switch e.Kind {
	case KindLog:
		e.Level = levelOf(n.Params)
	case KindListChanged:
		key = n.Method
	case KindResourceUpdated:
		key = n.Method + string(n.Params)
	}
	h.publish(e, key)
}

// levelOf reads the level of a log message.
func levelOf(params []byte) string {
	var p struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(params, &p, jsontext.AllowDuplicateNames(true)) // else it has none
	return p.Level
}

// publish hands an event to the session's watchers.
func (s *Session) publish(e *Event, key string) {
	e.Session = s
	s.hub.Publish(fanout.Event{
		Key: key, Class: uint64(e.Kind), Size: len(e.Params) + len(e.Method) + eventOverhead, Value: e,
	})
}

// eventOverhead is what an event costs in memory besides its params, roughly.
const eventOverhead = 256

// publishState tells watchers the session's state; s.mu is held.
func (s *Session) publishState() {
	info := &StateInfo{Status: s.status}
	if s.link != nil {
		info.Info = s.link.client.Info()
	}
	s.publish(&Event{Kind: KindServerState, State: info}, "")
}
