package httpserve

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// The headers of MCP, as Go spells them.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	prefixParam   = "Mcp-Param-"
	headerLast    = "Last-Event-Id"
)

// labels reads what a request repeats of its body in the header (2026-07-28
// §transports/streamable-http). A header that comes twice is joined, so that it
// equals nothing.
func labels(header http.Header) transport.Labels {
	l := transport.Labels{
		Version: strings.Join(header.Values(headerVersion), ", "),
		Method:  strings.Join(header.Values(headerMethod), ", "),
	}
	if names, ok := header[headerName]; ok {
		l.HasName, l.Name = true, decode(strings.Join(names, ", "))
	}
	for key, values := range header {
		if name, ok := strings.CutPrefix(key, prefixParam); ok && name != "" {
			l.Params = append(l.Params, transport.Label{Name: name, Value: decode(strings.Join(values, ", "))})
		}
	}
	return l
}

// decode undoes the Base64 that carries what a header can't. What can't be
// decoded stays as it is, to differ from every body.
func decode(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return v
	}
	b, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || !utf8.Valid(b) {
		return v
	}
	return string(b)
}
