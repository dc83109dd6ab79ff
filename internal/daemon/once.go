package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// CallURL sends one request to an MCP URL, without a session that is kept, and
// returns the envelope of the answer, be it a result or an error.
func CallURL(ctx context.Context, url string, header http.Header, version, method string, params json.RawMessage) ([]byte, error) {
	s, err := config.ParseTarget("url", url)
	if err != nil {
		return nil, err
	}
	s.Headers = map[string]config.Secret{}
	for name := range header {
		s.Headers[name] = config.Secret(header.Get(name))
	}
	r := &mcp.Request{Method: method, Params: mcp.Members(bytes.TrimSpace(membersOf(params)))}
	if name := subject(method, params); name != nil {
		r.Name, r.HasName = *name, true
	}
	d := dialing{userAgent: "mcp-bridge/" + version, log: slog.New(slog.DiscardHandler)}
	var refusal error
	for _, dialer := range d.dialers(&s, &transport.Stats{}) {
		envelope, _, err := mcp.Once(ctx, dialer, mcp.Options{ClientInfo: clientInfo(version)}, r)
		if envelope != nil {
			return envelope, nil
		}
		if !errors.As(err, new(*mcp.WrongBindingError)) && !errors.As(err, new(*transport.RefusedError)) {
			return nil, err
		}
		if refusal == nil {
			refusal = err
		}
	}
	return nil, refusal
}

// membersOf takes the braces off an object.
func membersOf(params json.RawMessage) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, params) != nil || compact.Len() < 2 || compact.Bytes()[0] != '{' {
		return nil
	}
	return compact.Bytes()[1 : compact.Len()-1]
}

// subject is what a request is about, for the header that repeats it; nil: the
// method has no such thing, or the params lack it.
func subject(method string, params json.RawMessage) *string {
	var members map[string]json.RawMessage
	var name *string
	if member := mcp.SubjectOf(method); member == "" || json.Unmarshal(params, &members) != nil ||
		json.Unmarshal(members[member], &name) != nil {
		return nil
	}
	return name
}
