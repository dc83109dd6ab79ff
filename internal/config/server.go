package config

import (
	"fmt"
	"maps"
	"slices"
)

const (
	maxServers      = 1000
	maxCapabilities = 64 << 10
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// servers takes a map of servers. In a file of another client's, what we don't
// know is ignored and named.
func (d *decoder) servers(c *Config, path string, n *node, foreign bool, seen map[string]pos) {
	if n.kind == isNull {
		return
	}
	if n.kind != isMap {
		d.errorf(n.at, "%s: want a map of servers by name, not %s", path, n.what())
		return
	}
	for _, p := range n.pairs {
		first, dup := seen[p.key]
		switch {
		case dup:
			d.errorf(p.at, "%s: two servers are named %s, the first in line %d", path, quote(p.key), first.line)
			continue
		case !validName(p.key):
			d.errorf(p.at, "%s: %s is no name: want 1 to 64 letters, digits, dots, hyphens and underscores", path, quote(p.key))
			continue
		case len(seen) == maxServers:
			d.errorf(p.at, "%s: more than %d servers", path, maxServers)
			return
		}
		seen[p.key] = p.at
		s, disabled := d.server(p, path+"."+p.key, foreign)
		if disabled {
			c.Disabled = append(c.Disabled, s.Name)
		} else {
			c.Servers = append(c.Servers, s)
		}
	}
}

// server takes one server, and says whether it is switched off.
func (d *decoder) server(p pair, path string, foreign bool) (Server, bool) {
	s := DefaultServer(p.key)
	typ, disabled := "", false
	at := func(key string) string { return path + "." + key }
	keys := map[string]func(*node){
		"type":        d.text(&typ, at("type")),
		"command":     d.text(&s.Command, at("command")),
		"args":        d.texts(&s.Args, at("args")),
		"env":         d.secrets(&s.Env, at("env"), checkEnv),
		"env_inherit": d.envNames(&s.EnvInherit, at("env_inherit")),
		"cwd":         d.path(&s.Dir, at("cwd")),
		"url":         d.url(&s.URL, at("url")),
		"headers":     d.secrets(&s.Headers, at("headers"), checkHeader),
		"protocol":    d.protocol(&s.Protocol, at("protocol")),
		"eager":       d.boolean(&s.Eager, at("eager")),
		"disabled":    d.boolean(&disabled, at("disabled")),

		"timeout":              d.duration(&s.Timeout, at("timeout"), 1),
		"max_timeout":          d.duration(&s.MaxTimeout, at("max_timeout"), 0),
		"start_timeout":        d.duration(&s.StartTimeout, at("start_timeout"), 1),
		"probe_timeout":        d.duration(&s.ProbeTimeout, at("probe_timeout"), 1),
		"stale_after":          d.duration(&s.StaleAfter, at("stale_after"), 0),
		"session_idle_timeout": d.duration(&s.SessionIdleTimeout, at("session_idle_timeout"), 0),
		"park_timeout":         d.duration(&s.ParkTimeout, at("park_timeout"), 1),
		"stop_grace":           d.duration(&s.StopGrace, at("stop_grace"), 0),

		"max_message_bytes": d.size(&s.MaxMessageBytes, at("max_message_bytes"), 1024),
		"max_queue_bytes":   d.size(&s.MaxQueueBytes, at("max_queue_bytes"), 1024),
		"max_in_flight":     d.count(&s.MaxInFlight, at("max_in_flight"), 1),
		"max_sessions":      d.count(&s.MaxSessions, at("max_sessions"), 1),
		"max_parked":        d.count(&s.MaxParked, at("max_parked"), 0),

		"restart":             func(n *node) { d.restart(&s.Restart, at("restart"), n) },
		"trust_annotations":   d.boolean(&s.TrustAnnotations, at("trust_annotations")),
		"validate_output":     d.word(&s.ValidateOutput, at("validate_output"), "off", "warn", "enforce"),
		"expose_stderr":       d.optional(&s.ExposeStderr, at("expose_stderr")),
		"client_capabilities": func(n *node) { d.capabilities(&s, at("client_capabilities"), n) },
	}
	d.put = nil
	entry := p.val
	if foreign {
		entry = d.translate(entry, &s, &typ, &disabled, path)
	}
	before := len(d.errs)
	d.fields(entry, path, func(k pair) {
		if foreign || foreignKeys[k.key] {
			d.ignore(k.key, k.at, s.Name)
			return
		}
		d.unknown(k, path, sortedKeys(keys))
	}, func(key string) func(*node) { return keys[key] })
	s.secrets, d.put = d.put, nil
	if len(d.errs) == before && !disabled {
		d.check(&s, typ, p.at, path)
	}
	return s, disabled
}

// check looks at what the keys of a server say together.
func (d *decoder) check(s *Server, typ string, at pos, path string) {
	t, err := SelectTransport(typ, s.Command != "", s.URL != "")
	if err != nil {
		d.errorf(at, "%s: %v", path, err)
		return
	}
	s.Kind, s.SSEFirst = t.Kind, t.SSEFirst
	if s.MaxTimeout > 0 && s.Timeout > s.MaxTimeout {
		d.errorf(at, "%s: timeout (%s) is over max_timeout (%s)", path, short(s.Timeout), short(s.MaxTimeout))
	}
	if s.Restart.Initial > s.Restart.Max {
		d.errorf(at, "%s: restart.initial (%s) is over restart.max (%s)", path, short(s.Restart.Initial), short(s.Restart.Max))
	}
	for name := range s.Headers {
		if ownHeader(name) {
			d.warnf(at, "%s: header %q is the bridge's own: ignored", path, name)
			delete(s.Headers, name)
		}
	}
}

func (d *decoder) restart(r *Restart, path string, n *node) {
	d.section(path, n, map[string]func(*node){
		"initial":       d.duration(&r.Initial, path+".initial", 1),
		"max":           d.duration(&r.Max, path+".max", 1),
		"factor":        d.float(&r.Factor, path+".factor", 1, 100),
		"jitter":        d.float(&r.Jitter, path+".jitter", 0, 1),
		"give_up_after": d.count(&r.GiveUpAfter, path+".give_up_after", 1),
		"retry_after":   d.duration(&r.RetryAfter, path+".retry_after", 1),
	})
}

// capabilities keeps an object as JSON: what is in it is the protocol's.
func (d *decoder) capabilities(s *Server, path string, n *node) {
	if n.kind != isMap {
		d.errorf(n.at, "%s: want a map, not %s", path, n.what())
		return
	}
	b, err := n.appendJSON(nil, maxCapabilities, func(text *node) string {
		out, _ := d.str(text, path)
		return out
	})
	if err != nil {
		d.errorf(n.at, "%s: more than %d bytes", path, maxCapabilities)
		return
	}
	s.ClientCapabilities = b
}

// A Transport is what a server's `type` selects.
type Transport struct {
	Kind     Kind
	SSEFirst bool
}

// SelectTransport is the one place where it is decided how a server is spoken to:
// by its type, and where that is missing by what else is said.
func SelectTransport(typ string, hasCommand, hasURL bool) (Transport, error) {
	var t Transport
	switch typ {
	case "":
		if hasURL {
			t.Kind = HTTP
		}
	case "stdio", "local":
		t.Kind = Stdio
	case "http", "streamable-http", "streamableHttp", "streamable_http", "remote":
		t.Kind = HTTP
	case "sse":
		t = Transport{Kind: HTTP, SSEFirst: true}
	default:
		return t, fmt.Errorf("unknown type %s: want stdio, http or sse", quote(typ))
	}
	switch {
	case hasCommand && hasURL:
		return t, fmt.Errorf("both command and url: a server has one of them")
	case !hasCommand && !hasURL:
		return t, fmt.Errorf("neither command nor url: a server has one of them")
	case t.Kind == Stdio && !hasCommand:
		return t, fmt.Errorf("type %q wants a command, not a url", typ)
	case t.Kind == HTTP && !hasURL:
		return t, fmt.Errorf("type %q wants a url, not a command", typ)
	}
	return t, nil
}
