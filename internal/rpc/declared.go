package rpc

import (
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// declared remembers what private sessions have told their servers of their
// callers, for as long as there are such sessions.
type declared struct {
	mu sync.Mutex
	m  map[string]declaration // by session
}

type declaration struct {
	principal string
	json      func(version string) []byte
}

// add enters a session, and forgets those that have ended by themselves.
func (d *declared) add(set *upstream.Set, x *upstream.Session, c upstream.Capabilities) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil {
		d.m = map[string]declaration{}
	}
	for id, old := range d.m {
		if _, err := set.Session(id, old.principal); err != nil {
			delete(d.m, id)
		}
	}
	if c.JSON != nil {
		d.m[x.ID()] = declaration{x.Principal(), c.JSON}
	}
}

func (d *declared) forget(x *upstream.Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.m, x.ID())
}

// of gives the JSON text of what a session has declared; nil: nothing.
func (d *declared) of(x *upstream.Session, version string) []byte {
	f := x.Upstream().Options().Capabilities.JSON
	if x.ID() != "" {
		d.mu.Lock()
		f = d.m[x.ID()].json
		d.mu.Unlock()
	}
	if f == nil {
		return nil
	}
	return f(version)
}

// checkDeclared refuses what a server of an older revision can't be told any
// more: it was told its client's capabilities when the session began.
func (s *Service) checkDeclared(x *upstream.Session, info *mcp.Info, wanted func(version string) ([]byte, error)) error {
	text, err := wanted(info.Version)
	if err != nil {
		return invalid("options.capabilities: %v", err)
	}
	var want, have map[string]jsontext.Value
	if err := json.Unmarshal(text, &want); err != nil {
		return invalid("options.capabilities: %v", err)
	}
	_ = json.Unmarshal(s.declared.of(x, info.Version), &have) // of another shape: nothing
	for name, w := range want {
		if h, ok := have[name]; !ok || !covers(name, h, w) {
			return &capabilityError{x.Upstream().Name()}
		}
	}
	return nil
}

// covers reports whether one capability, as declared, allows what is wanted of it.
func covers(name string, have, want jsontext.Value) bool {
	switch name {
	case "roots": // how it is written depends on who declares it
		return true
	case "elicitation":
		if string(have) == "{}" { // before there were modes, form was the only one
			have = jsontext.Value(`{"form":{}}`)
		}
	}
	return includes(have, want)
}

// includes reports whether every member of want is in have, at every depth.
func includes(have, want jsontext.Value) bool {
	if have.Kind() != '{' || want.Kind() != '{' {
		a, b := have.Clone(), want.Clone()
		return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
	}
	var h, w map[string]jsontext.Value
	if json.Unmarshal(have, &h) != nil || json.Unmarshal(want, &w) != nil {
		return false
	}
	for name, v := range w {
		if o, ok := h[name]; !ok || !includes(o, v) {
			return false
		}
	}
	return true
}
