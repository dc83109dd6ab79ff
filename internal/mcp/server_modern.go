package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// modernServerEra is a call of 2026-07-28 or later: it says itself all that the
// server must know of its client.
type modernServerEra struct {
	s    *Server
	in   *serverParams
	link *serverScope
}

func modernServerMethods() map[string]serverMethod {
	m := serverFeatures()
	m["server/discover"] = serverMethod{offered: always, run: discover, dress: serverDressList}
	m["subscriptions/listen"] = serverMethod{offered: always, run: listen, dress: serverDressPlain, slow: true, listens: true}
	return m
}

// modernCall checks what every call must carry, in the order in which the
// errors are of use: what a proxy saw, then the revision, then the rest.
func (s *Server) modernCall(ctx context.Context, c *jsonrpc.Call, in *serverParams) (serverEra, *jsonrpc.Error) {
	if !in.hasVersion {
		return nil, invalidParams("_meta must have %s", metaVersion)
	}
	if e := checkLabels(ctx, c, in.version); e != nil {
		return nil, e
	}
	if !slices.Contains(s.modern, in.version) {
		return nil, s.unsupported(in.version)
	}
	if in.capabilities == nil {
		return nil, invalidParams("_meta must have %s", metaCapabilities)
	}
	return &modernServerEra{s: s, in: in, link: linkOf(ctx)}, nil
}

// unsupported is -32022.
func (s *Server) unsupported(requested string) *jsonrpc.Error {
	e := errorf(jsonrpc.UnsupportedProtocolVersion, "unsupported protocol version %q", shorten(requested))
	e.Data, _ = serverJSON(map[string]any{"supported": s.supported(), "requested": shorten(requested)})
	return e
}

func (e *modernServerEra) version() string             { return e.in.version }
func (e *modernServerEra) scope() *serverScope         { return e.link }
func (e *modernServerEra) wantsLog(l serverLevel) bool { return e.in.hasLevel && l >= e.in.level }

func (e *modernServerEra) method(name string) (serverMethod, bool) {
	m, ok := e.s.modernMethods[name]
	return m, ok
}

func (e *modernServerEra) dress(c *serverCall, d serverDress, result []byte) ([]byte, error) {
	head := `"resultType":"complete"`
	replaced := []string{"resultType"}
	switch d {
	case serverDressList:
		head += serverCacheHint(e.s.opts.ListTTL, "public")
		replaced = append(replaced, "ttlMs", "cacheScope")
	case serverDressRead:
		head += serverCacheHint(c.request.ttl, "private")
		replaced = append(replaced, "ttlMs", "cacheScope")
	}
	return dressResult(result, head, e.s.identity(), replaced...)
}

func serverCacheHint(ttl time.Duration, scope string) string {
	return `,"ttlMs":` + strconv.FormatInt(ttl.Milliseconds(), 10) + `,"cacheScope":"` + scope + `"`
}

// identity is the member of a result's `_meta` that names the server.
func (s *Server) identity() string { return `"` + metaServerInfo + `":` + string(s.info) }

func (e *modernServerEra) notFound(uri string) *jsonrpc.Error {
	return resourceNotFound(jsonrpc.InvalidParams, uri)
}

func resourceNotFound(code int64, uri string) *jsonrpc.Error {
	e := errorf(code, "resource not found: %s", shorten(uri))
	e.Data, _ = serverJSON(map[string]string{"uri": shorten(uri)})
	return e
}

func (e *modernServerEra) missingCapability(m *ServerCapabilityError) *jsonrpc.Error {
	out := errorf(jsonrpc.MissingCapability, "%v", m)
	out.Data = []byte(`{"requiredCapabilities":` + m.Required + `}`)
	return out
}

func discover(_ context.Context, c *serverCall) ([]byte, error) {
	type result struct {
		Versions     []string       `json:"supportedVersions"`
		Capabilities map[string]any `json:"capabilities"`
		Instructions string         `json:"instructions,omitzero"`
	}
	s := c.server
	return serverJSON(result{s.supported(), s.has.capabilities(), s.opts.Instructions})
}

// maxServerURIs bounds the resources that one client can subscribe to.
const maxServerURIs = 1024

// listen keeps a subscription open until the client gives it up or the server
// closes, which ends it with a result.
func listen(ctx context.Context, c *serverCall) ([]byte, error) {
	var p struct {
		Filter *serverFilter `json:"notifications"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	if p.Filter == nil {
		return nil, invalidParams("notifications says what to listen for, and is missing")
	}
	if len(p.Filter.URIs) > maxServerURIs {
		return nil, invalidParams("more than %d resources", maxServerURIs)
	}
	f, has := *p.Filter, &c.server.has
	f.Tools = f.Tools && hasTools(has)
	f.Prompts = f.Prompts && hasPrompts(has)
	if !hasResources(has) {
		f.Resources, f.URIs = false, nil
	}
	honoured, err := serverJSON(f)
	if err != nil {
		return nil, err
	}
	meta := `{"` + metaSubscription + `":` + c.rpc.ID.String() + `}`
	box := newServerOutbox(1024)
	leave := c.server.join(box, f)
	defer leave()
	ack := serverNews{"notifications/subscriptions/acknowledged", `"notifications":` + string(honoured)}
	if err := c.say(ack.notification(meta)); err != nil {
		return nil, fmt.Errorf("subscription not acknowledged: %w", err)
	}
	err = box.drain(ctx, c.server.closing, func(n serverNews) error { return c.say(n.notification(meta)) })
	if err == errSessionEnded {
		return []byte(`{"_meta":` + meta + `}`), nil
	}
	return nil, err
}

// ask looks for the answers among what this and earlier rounds brought, and
// notes what is missing.
func (e *modernServerEra) ask(_ context.Context, c *serverCall, questions []ServerQuestion) ([][]byte, error) {
	for i := range questions {
		if err := e.in.capabilities.may(&questions[i]); err != nil {
			return nil, err
		}
	}
	known, rpcErr := c.answers()
	if rpcErr != nil {
		return nil, rpcErr
	}
	out := make([][]byte, len(questions))
	missing := false
	for i, q := range questions {
		if a, ok := known[q.Key]; ok {
			out[i] = a
			continue
		}
		missing = true
		c.asking.add(q)
	}
	if missing {
		return nil, ErrInputRequired
	}
	return out, nil
}

// answers are those of the rounds before, out of the state, and those of this
// round to what the last one asked.
func (c *serverCall) answers() (map[string]jsontext.Value, *jsonrpc.Error) {
	var p struct {
		Responses map[string]jsontext.Value `json:"inputResponses"`
		State     *string                   `json:"requestState"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	known := map[string]jsontext.Value{}
	if p.State == nil {
		return known, nil
	}
	st, err := c.server.sealer.open(*p.State, requestDigest(c), time.Now())
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	for key, a := range st.Answers {
		known[key] = a
	}
	for _, key := range st.Asked {
		if a, ok := p.Responses[key]; ok && a.Kind() == '{' {
			known[key] = a
		}
	}
	return known, nil
}

// inputRequired ends a round (2026-07-28 §basic, Multi round-trip requests).
func (s *Server) inputRequired(c *serverCall) ([]byte, error) {
	known, rpcErr := c.answers()
	if rpcErr != nil {
		return nil, rpcErr
	}
	type input struct {
		Method string         `json:"method"`
		Params jsontext.Value `json:"params,omitzero"`
	}
	requests := map[string]input{}
	st := &serverState{Answers: known, Until: time.Now().Add(s.opts.Questions).Unix()}
	for _, q := range c.asking.open() {
		requests[q.Key] = input{q.Method, q.Params}
		st.Asked = append(st.Asked, q.Key)
	}
	sealed, err := s.sealer.seal(st, requestDigest(c))
	if err != nil {
		return nil, err
	}
	type result struct {
		Requests map[string]input `json:"inputRequests"`
		State    string           `json:"requestState"`
	}
	b, err := serverJSON(result{requests, sealed})
	if err != nil {
		return nil, err
	}
	return dressResult(b, `"resultType":"input_required"`, s.identity())
}
