package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// legacyServerEra is a call of the older era: its session knows the client.
type legacyServerEra struct {
	s       *Server
	session *serverSession // nil: before initialize
}

func legacyServerMethods() map[string]serverMethod {
	m := serverFeatures()
	m["initialize"] = serverMethod{offered: always, run: initialize}
	m["ping"] = serverMethod{offered: always, run: func(context.Context, *serverCall) ([]byte, error) { return []byte("{}"), nil }}
	m["logging/setLevel"] = serverMethod{offered: always, run: setLevel}
	m["resources/subscribe"] = serverMethod{offered: hasResources, run: subscribe}
	m["resources/unsubscribe"] = serverMethod{offered: hasResources, run: unsubscribe}
	return m
}

func (e *legacyServerEra) version() string { return e.session.version }

func (e *legacyServerEra) method(name string) (serverMethod, bool) {
	m, ok := e.s.legacyMethods[name]
	return m, ok
}

func (e *legacyServerEra) scope() *serverScope {
	if e.session == nil {
		return nil
	}
	return e.session.scope
}

func (e *legacyServerEra) wantsLog(l serverLevel) bool { return e.session.wantsLog(l) }

func (e *legacyServerEra) dress(_ *serverCall, _ serverDress, result []byte) ([]byte, error) {
	return dressResult(result, "", "")
}

func (e *legacyServerEra) notFound(uri string) *jsonrpc.Error {
	return resourceNotFound(jsonrpc.ResourceNotFound, uri)
}

func (e *legacyServerEra) missingCapability(m *ServerCapabilityError) *jsonrpc.Error {
	return errorf(jsonrpc.InvalidRequest, "%v", m)
}

// initialize agrees on a revision and opens a session (2025-11-25 §lifecycle).
func initialize(_ context.Context, c *serverCall) ([]byte, error) {
	era, s := c.era.(*legacyServerEra), c.server
	if era.session != nil {
		return nil, errorf(jsonrpc.InvalidRequest, "the session is initialized")
	}
	var p struct {
		Version      *string             `json:"protocolVersion"`
		Capabilities *serverCapabilities `json:"capabilities"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	if p.Version == nil {
		return nil, invalidParams("initialize needs a protocolVersion")
	}
	out, ok := c.out.(LegacySender)
	if !ok {
		return nil, errorf(jsonrpc.MethodNotFound, "method not found: initialize")
	}
	version := *p.Version
	if !slices.Contains(s.legacy, version) {
		version = s.legacy[0]
	}
	ss, e := s.openSession(version, p.Capabilities)
	if e != nil {
		return nil, e
	}
	if err := out.Emit(SessionInitialized{ID: ss.id}); err != nil {
		s.Terminate(ss.id)
		return nil, fmt.Errorf("session not announced: %w", err)
	}
	type result struct {
		Version      string         `json:"protocolVersion"`
		Capabilities map[string]any `json:"capabilities"`
		Info         jsontext.Value `json:"serverInfo"`
		Instructions string         `json:"instructions,omitzero"`
	}
	return serverJSON(result{version, s.has.capabilities(), s.info, s.opts.Instructions})
}

func (s *Server) openSession(version string, caps *serverCapabilities) (*serverSession, *jsonrpc.Error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, errorf(jsonrpc.InternalError, "%v", errServerClosed)
	}
	ss := s.sessions.open(version, caps, s.opts.MaxSessions, s.opts.SessionIdle)
	if ss == nil {
		return nil, errorf(serverBusy, "too many sessions")
	}
	return ss, nil
}

func setLevel(_ context.Context, c *serverCall) ([]byte, error) {
	var p struct {
		Level jsontext.Value `json:"level"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	l, e := readServerLevel(p.Level)
	if e != nil {
		return nil, e
	}
	ss := c.era.(*legacyServerEra).session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.level = l
	return []byte("{}"), nil
}

func subscribe(_ context.Context, c *serverCall) ([]byte, error) {
	uri, e := serverURI(c.rpc.Params)
	if e != nil {
		return nil, e
	}
	ss := c.era.(*legacyServerEra).session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if len(ss.uris) >= maxServerURIs {
		return nil, errorf(serverBusy, "more than %d subscriptions", maxServerURIs)
	}
	ss.uris[uri] = struct{}{}
	return []byte("{}"), nil
}

func unsubscribe(_ context.Context, c *serverCall) ([]byte, error) {
	uri, e := serverURI(c.rpc.Params)
	if e != nil {
		return nil, e
	}
	ss := c.era.(*legacyServerEra).session
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.uris, uri)
	return []byte("{}"), nil
}

// ask sends the questions on the call's own way and waits for all answers.
func (e *legacyServerEra) ask(ctx context.Context, c *serverCall, questions []ServerQuestion) ([][]byte, error) {
	for i := range questions {
		if err := e.session.caps.may(&questions[i]); err != nil {
			return nil, err
		}
	}
	ids := make([]jsonrpc.ID, len(questions))
	answers := make([]<-chan *jsonrpc.Response, len(questions))
	for i := range questions {
		ids[i], answers[i] = e.session.question()
	}
	defer e.withdraw(ids)
	for i, q := range questions {
		if err := c.say(&jsonrpc.Call{ID: ids[i], Method: q.Method, Params: q.Params}); err != nil {
			return nil, fmt.Errorf("question %s not delivered: %w", q.Key, err)
		}
	}
	out := make([][]byte, len(questions))
	for i, q := range questions {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-e.session.ended:
			return nil, errSessionEnded
		case r := <-answers[i]:
			if r.Error != nil {
				return nil, &ServerAnswerError{q.Method, r.Error.Code, shorten(r.Error.Message)}
			}
			out[i] = r.Result
		}
	}
	return out, nil
}

// withdraw cancels the questions that are still open, outside the call, which
// may be over.
func (e *legacyServerEra) withdraw(ids []jsonrpc.ID) {
	for _, id := range ids {
		if e.session.forget(id) {
			e.session.news.push(serverNews{"notifications/cancelled", `"requestId":` + id.String()})
		}
	}
}
