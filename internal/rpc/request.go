package rpc

import (
	"context"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// apply puts a request's options into the request to the server.
func (s *Service) apply(ctx context.Context, x *upstream.Session, o *mcpbridgev1.RequestOptions, r *mcp.Request) error {
	s.trace(ctx, r)
	// What belongs to the request must be told from others' even without a name.
	r.Tag = s.tag(ctx, o.GetCallId())
	if o == nil {
		return nil
	}
	if f := o.ResultFormat; f < 0 || f > mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
		return invalid("options.result_format: no such format: %d", f)
	}
	if len(o.CallId) > maxCallID {
		return invalid("options.call_id: longer than %d bytes", maxCallID)
	}
	if o.MetaJson != "" {
		m, err := splitMeta(o.MetaJson, false)
		if err != nil {
			return err
		}
		r.Meta = m.members
		dropTrace(r, m)
	}
	r.Progress = o.CallId != "" || o.ProgressExtendsTimeout
	if o.LogLevel != mcpbridgev1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		name, ok := typed.LogLevelName(o.LogLevel)
		if !ok {
			return invalid("options.log_level: no such level: %d", o.LogLevel)
		}
		r.LogLevel = name
	}
	if o.Capabilities != nil {
		return s.declare(ctx, x, o.Capabilities, r)
	}
	return nil
}

// maxCallID bounds a call_id, which is kept with every event of its call.
const maxCallID = 1 << 10

// tag marks a request with its caller, and with his name for it.
func (s *Service) tag(ctx context.Context, id string) *upstream.CallTag {
	principal := s.o.Principal(ctx)
	if id == "" && principal == "" {
		return s.anyone
	}
	return &upstream.CallTag{Principal: principal, CallID: id}
}

// declare puts the caller's capabilities into a request. They depend on what the
// server speaks, so it must have been reached once.
func (s *Service) declare(ctx context.Context, x *upstream.Session, c *mcpbridgev1.ClientCapabilities, r *mcp.Request) error {
	wanted := func(version string) ([]byte, error) { return typed.AppendClientCapabilities(nil, c, version) }
	b, err := wanted(mcp.Version20260728)
	if err != nil {
		return invalid("options.capabilities: %v", err)
	}
	info := x.Info()
	if info == nil {
		if err := x.Ping(ctx); err != nil {
			return err
		}
		info = x.Info()
	}
	if info != nil && info.Era == mcp.EraLegacy {
		return s.checkDeclared(x, info, wanted)
	}
	r.Capabilities = string(b)
	return nil
}

// A meta is `_meta` as a caller wrote it.
type meta struct {
	members     string // JSON text without braces
	token       string // the caller's own progress token; empty: none
	traceparent bool
	tracestate  bool
	baggage     bool
}

// splitMeta checks a caller's `_meta` and takes out what the bridge sets itself.
// raw allows what only a request passed through raw may hold: a progress token,
// which is replaced, and reserved keys that the bridge does not set.
func splitMeta(text string, raw bool) (meta, error) {
	var m meta
	d := jsonscan.NewDecoder(jsonscan.AsBytes(text))
	if d.Peek() != jsonscan.Object || !d.OpenObject() {
		return m, invalid("_meta: not a JSON object")
	}
	var keep []byte
	var member jsonscan.Member
	for d.NextMember(&member) {
		name := member.Name
		value := d.ReadRaw()
		if d.Err() != nil {
			break
		}
		switch {
		case name == "progressToken":
			if !raw {
				return m, invalid("_meta: progressToken is the bridge's to set; name the request by call_id")
			}
			if k := jsonscan.NewDecoder(value); k.Peek() != jsonscan.String && k.Peek() != jsonscan.Number {
				return m, invalid("_meta: progressToken is neither a string nor a number")
			}
			m.token = string(value)
			continue
		case setByBridge(name), reserved(name) && !raw:
			return m, invalid("_meta: the key %q is reserved by the protocol", name)
		case name == "traceparent":
			m.traceparent = true
		case name == "tracestate":
			m.tracestate = true
		case name == "baggage":
			m.baggage = true
		}
		if len(keep) > 0 {
			keep = append(keep, ',')
		}
		keep = append(keep, d.Slice(member.At, d.Offset())...)
	}
	if err := d.End(); err != nil {
		return m, invalid("_meta: %v", err)
	}
	m.members = string(jsonscan.CompactLines(nil, keep))
	return m, nil
}

// setByBridge are the keys of `_meta` that the bridge writes itself
// (2026-07-28 §basic, _meta).
func setByBridge(key string) bool {
	switch key {
	case "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel",
		"io.modelcontextprotocol/subscriptionId":
		return true
	}
	return false
}

// reserved reports whether a key's prefix is the protocol's: its second label is
// modelcontextprotocol or mcp.
func reserved(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	labels := strings.Split(prefix, ".")
	return len(labels) >= 2 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp")
}

// maxTrace bounds a trace header.
const maxTrace = 8 << 10

// trace passes the caller's W3C trace context on.
func (s *Service) trace(ctx context.Context, r *mcp.Request) {
	for _, name := range [...]string{"Traceparent", "Tracestate", "Baggage"} {
		if v := header(ctx, name); v != "" && len(v) <= maxTrace && visible(v) {
			r.Trace = append(r.Trace, transport.Label{Name: strings.ToLower(name), Value: v})
		}
	}
}

// dropTrace lets the caller's own `_meta` win over the headers of his RPC.
func dropTrace(r *mcp.Request, m meta) {
	kept := r.Trace[:0]
	for _, l := range r.Trace {
		if l.Name == "traceparent" && m.traceparent || l.Name == "tracestate" && m.tracestate || l.Name == "baggage" && m.baggage {
			continue
		}
		kept = append(kept, l)
	}
	r.Trace = kept
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// decoder reads what a session's server sends. It depends on the server's era, so
// it is made once an answer is there.
func decoder(x *upstream.Session, f mcpbridgev1.ResultFormat) typed.Decoder {
	return typed.Decoder{Format: f, Server: x.Upstream().Name(), Modern: isModern(x)}
}

func isModern(x *upstream.Session) bool {
	info := x.Info()
	return info != nil && info.Era == mcp.EraModern
}
