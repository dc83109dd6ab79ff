package streamhttp

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// maxSession bounds a session id, which goes out with every request.
const maxSession = 4 << 10

// headers spells labels and memory as headers (2026-07-28 §Streamable HTTP,
// Headers). All values come out of one array.
func (c *Conn) headers(l transport.Labels, mem memory) (http.Header, error) {
	h := maps.Clone(c.post)
	values := make([]string, 0, 4+len(l.Params)+len(l.Trace))
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if l.Version != "" {
		if !httpguts.ValidHeaderFieldValue(l.Version) {
			return nil, fmt.Errorf("protocol version %q does not fit into a header", l.Version)
		}
		set("Mcp-Protocol-Version", l.Version)
	}
	if mem.session != "" {
		set("Mcp-Session-Id", mem.session)
	}
	if l.Method != "" {
		if !httpguts.ValidHeaderFieldValue(l.Method) {
			return nil, fmt.Errorf("method %q does not fit into a header", l.Method)
		}
		set("Mcp-Method", l.Method)
	}
	if l.HasName {
		set("Mcp-Name", encode(l.Name))
	}
	for _, p := range l.Params {
		if !httpguts.ValidHeaderFieldName(p.Name) {
			return nil, fmt.Errorf("parameter %q is no header name", p.Name)
		}
		set(http.CanonicalHeaderKey("Mcp-Param-"+p.Name), encode(p.Value))
	}
	for _, t := range l.Trace {
		name := http.CanonicalHeaderKey(t.Name)
		// A trace is not worth a request, and takes no other header's place.
		if _, taken := h[name]; !taken && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(t.Value) {
			set(name, t.Value)
		}
	}
	return h, nil
}

// remembered are the headers of a request that is no frame.
func remembered(base http.Header, mem memory) http.Header {
	h := maps.Clone(base)
	if mem.session != "" {
		h["Mcp-Session-Id"] = []string{mem.session}
	}
	if mem.version != "" {
		h["Mcp-Protocol-Version"] = []string{mem.version}
	}
	return h
}

const (
	sentinelHead = "=?base64?"
	sentinelTail = "?="
)

// encode spells a value so that it survives the way through a header (§Value
// Encoding): as it is, or as Base64 where that would change it or where it looks
// encoded already.
func encode(v string) string {
	if plain(v) && !(strings.HasPrefix(v, sentinelHead) && strings.HasSuffix(v, sentinelTail)) {
		return v
	}
	return sentinelHead + base64.StdEncoding.EncodeToString([]byte(v)) + sentinelTail
}

// plain tells whether v is printable ASCII without a space at either end. A tab
// inside would be allowed, but many implementations change it.
func plain(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return v == "" || v[0] != ' ' && v[len(v)-1] != ' '
}

// validSession tells whether id is visible ASCII, or no id at all.
func validSession(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return len(id) <= maxSession
}
