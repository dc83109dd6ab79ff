package rpc

import (
	"context"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// ownRequests are methods that belong to the bridge, and what to use instead.
var ownRequests = map[string]string{
	"initialize":            "Initialize",
	"ping":                  "Ping",
	"server/discover":       "Initialize or ListServers",
	"subscriptions/listen":  "WatchNotifications",
	"resources/subscribe":   "SubscribeResource or WatchNotifications",
	"resources/unsubscribe": "UnsubscribeResource",
	"logging/setLevel":      "SetLogLevel",
}

// ownNotifications are those that belong to the bridge.
var ownNotifications = map[string]string{
	"notifications/initialized":        "Initialize",
	"notifications/cancelled":          "the RPC's own cancellation",
	"notifications/progress":           "nothing: no server asks for it",
	"notifications/roots/list_changed": "UpdateRoots",
}

// Call sends any request and returns its result as it came.
func (s *Service) Call(ctx context.Context, r *mcpbridgev1.CallRequest) (*mcpbridgev1.CallResponse, error) {
	x, err := s.rawTarget(ctx, r, r.Method)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, r.Method, ""))
	}
	ctx, cancel, clock := bound(ctx, x.Upstream().Options(), r.GetOptions().GetProgressExtendsTimeout())
	defer cancel()
	req, answers, err := s.raw(ctx, x, r.Method, r.ParamsJson, r.Options)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, x, r.Method, ""))
	}
	req.Clock = clock
	result, err := x.Do(ctx, req)
	if err == nil {
		err = result.Read(jsonscan.Valid)
	}
	if err != nil {
		a := s.about(ctx, x, r.Method, req.Name)
		a.repeatable = a.repeatable && !answers
		return nil, s.fail(err, a)
	}
	answered(ctx, x)
	return &mcpbridgev1.CallResponse{ResultJson: jsonscan.AsString(result.Payload)}, nil
}

// Notify sends any notification.
func (s *Service) Notify(ctx context.Context, r *mcpbridgev1.NotifyRequest) (*mcpbridgev1.NotifyResponse, error) {
	x, err := s.rawTarget(ctx, r, r.Method)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, r.Method, ""))
	}
	ctx, cancel, _ := bound(ctx, x.Upstream().Options(), false)
	defer cancel()
	req, _, err := s.raw(ctx, x, r.Method, r.ParamsJson, r.Options)
	if err == nil {
		req.Progress = false
		err = x.Notify(ctx, req)
	}
	if err != nil {
		a := s.about(ctx, x, r.Method, "")
		a.notify = true
		return nil, s.fail(err, a)
	}
	answered(ctx, x)
	return &mcpbridgev1.NotifyResponse{}, nil
}

// rawTarget checks the method and finds whom it is for.
func (s *Service) rawTarget(ctx context.Context, to addressed, method string) (*upstream.Session, error) {
	if s.o.Draining.Err() != nil {
		return nil, errDraining
	}
	if method == "" {
		return nil, invalid("method: none is named")
	}
	for _, own := range []map[string]string{ownRequests, ownNotifications} {
		if instead, ok := own[method]; ok {
			return nil, invalid("method: %s belongs to the bridge; use %s", method, instead)
		}
	}
	return s.target(ctx, to)
}

// raw makes a request of a method and params that the bridge does not read.
// answers: they answer what the server has asked.
func (s *Service) raw(ctx context.Context, x *upstream.Session, method, params string, o *mcpbridgev1.RequestOptions) (req *mcp.Request, answers bool, err error) {
	req = &mcp.Request{Method: method}
	if err := s.apply(ctx, x, o, req); err != nil {
		return nil, false, err
	}
	if params == "" {
		return req, false, nil
	}
	p, err := splitParams(params, mcp.SubjectOf(method))
	if err != nil {
		return nil, false, err
	}
	req.Params = mcp.Members(p.members)
	req.Name, req.HasName = p.name, p.hasName
	if p.meta == "" {
		return req, p.answers, nil
	}
	m, err := splitMeta(p.meta, true)
	if err != nil {
		return nil, false, err
	}
	if req.Meta != "" && m.members != "" {
		req.Meta += ","
	}
	req.Meta += m.members
	dropTrace(req, m)
	if m.token != "" {
		req.Progress = true
		tag := s.tag(ctx, o.GetCallId())
		req.Tag = &upstream.CallTag{Principal: tag.Principal, CallID: tag.CallID, Token: m.token}
	}
	return req, p.answers, nil
}

// params are a request's params as a caller wrote them.
type params struct {
	members string // all but `_meta`, without braces
	meta    string // `_meta`, an object; empty: none
	name    string
	hasName bool
	answers bool // to questions of the server (2026-07-28 §mrtr)
}

// splitParams checks that text is one JSON object, and takes `_meta` out of it.
func splitParams(text, name string) (params, error) {
	var p params
	d := jsonscan.NewDecoder(jsonscan.AsBytes(text))
	if d.Peek() != jsonscan.Object || !d.OpenObject() {
		return p, invalid("params_json: not a JSON object")
	}
	var keep []byte
	var member jsonscan.Member
	for d.NextMember(&member) {
		key := member.Name
		value := d.ReadRaw()
		if d.Err() != nil {
			break
		}
		switch key {
		case "_meta":
			p.meta = string(value)
			continue
		case "inputResponses", "requestState":
			p.answers = true
		}
		if key == name && name != "" {
			v := jsonscan.NewDecoder(value)
			if v.Peek() == jsonscan.String {
				p.name, _ = v.ReadString()
				p.hasName = true
			}
		}
		if len(keep) > 0 {
			keep = append(keep, ',')
		}
		keep = append(keep, d.Slice(member.At, d.Offset())...)
	}
	if err := d.End(); err != nil {
		return p, invalid("params_json: %v", err)
	}
	p.members = string(jsonscan.CompactLines(nil, keep))
	return p, nil
}
