package mcp

import (
	"slices"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A ServerList is one of the lists whose changes clients can be told.
type ServerList string

// The lists.
const (
	ServerTools     ServerList = "tools"
	ServerResources ServerList = "resources"
	ServerPrompts   ServerList = "prompts"
)

// serverHub has the subscriptions of 2026-07-28. Server.mu guards it.
type serverHub struct {
	listens map[*serverOutbox]serverFilter
}

// serverFilter is a SubscriptionFilter.
type serverFilter struct {
	Tools     bool     `json:"toolsListChanged,omitzero"`
	Prompts   bool     `json:"promptsListChanged,omitzero"`
	Resources bool     `json:"resourcesListChanged,omitzero"`
	URIs      []string `json:"resourceSubscriptions,omitzero"`
}

func (f *serverFilter) wants(l ServerList) bool {
	switch l {
	case ServerTools:
		return f.Tools
	case ServerPrompts:
		return f.Prompts
	case ServerResources:
		return f.Resources
	}
	return false
}

func (s *Server) join(b *serverOutbox, f serverFilter) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.listens[b] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.hub.listens, b)
	}
}

func (s *Server) publish(n serverNews, wants func(*serverFilter) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b, f := range s.hub.listens {
		if wants(&f) {
			b.push(n)
		}
	}
}

// Changed tells every client that is to know that a list is another one now.
// It never waits.
func (s *Server) Changed(l ServerList) {
	n := serverNews{method: "notifications/" + string(l) + "/list_changed"}
	s.publish(n, func(f *serverFilter) bool { return f.wants(l) })
	s.sessions.publish(n, func(*serverSession) bool { return true })
}

// Updated tells the clients that subscribed to a resource that it has changed.
// It never waits.
func (s *Server) Updated(uri string) {
	n := serverNews{"notifications/resources/updated", `"uri":` + string(jsonrpc.AppendString(nil, uri))}
	s.publish(n, func(f *serverFilter) bool { return slices.Contains(f.URIs, uri) })
	s.sessions.publish(n, func(ss *serverSession) bool { return ss.subscribed(uri) })
}

// Log sends a log message that belongs to no call, which only the older era has.
// It never waits. data is JSON.
func (s *Server) Log(level, logger string, data []byte) {
	l := parseServerLevel(level)
	p := serverLogParams(l, logger, data)
	n := serverNews{"notifications/message", string(p[1 : len(p)-1])}
	s.sessions.publish(n, func(ss *serverSession) bool { return ss.wantsLog(l) })
}
