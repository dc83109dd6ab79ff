package rpc

import (
	"fmt"
	"strings"
	"unicode"

	connect "connectrpc.com/connect/v2"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// refused maps an HTTP status.
func (f *failure) refused(e *transport.RefusedError, rpc *jsonrpc.Error) {
	f.origin, f.status, f.rpc, f.message = byTransport, e.Status, rpc, statusText(e, rpc)
	advice := max(e.RetryAfter, f.retry, retrySoon)
	f.retry = 0
	switch {
	case e.Location != "":
		f.metadata = map[string]string{"location": e.Location}
		f.is(connect.CodeFailedPrecondition, reasonRedirectRefused, wasReply)
	case e.Status == 401, e.Status == 403:
		f.metadata = map[string]string{}
		if e.WWWAuthenticate != "" {
			f.metadata["www_authenticate"] = e.WWWAuthenticate
		}
		if e.MCPAuthServer != "" {
			f.metadata["mcp_auth_server"] = e.MCPAuthServer
		}
		reason := reasonUnauthenticated
		if e.Status == 403 {
			reason = reasonForbidden
		}
		f.is(connect.CodeFailedPrecondition, reason, wasReply)
	case e.Status == 429:
		f.retry = advice
		f.is(connect.CodeResourceExhausted, reasonRateLimited, wasReply)
	case e.Status == 503:
		f.retry = advice
		f.is(connect.CodeUnavailable, reasonServerUnavailable, wasReply)
	case e.Status == 502, e.Status == 504:
		f.isLost(reasonRequestLost)
	case f.gone && f.delivery == notSent:
		f.unavailable()
	default:
		f.is(connect.CodeUnknown, reasonHTTPError, wasReply)
	}
}

// statusText reads `HTTP <status>: <text>`, and what the body says, as far as it
// is an error or begins with text.
func statusText(e *transport.RefusedError, rpc *jsonrpc.Error) string {
	if e.Location != "" {
		return fmt.Sprintf("HTTP %d: redirect to another origin refused: %s", e.Status, e.Location)
	}
	text := fmt.Sprintf("HTTP %d: %s", e.Status, e.Text)
	if rpc != nil {
		return text + ": " + rpc.Error()
	}
	if e.Type == "text/plain" || e.Type == "" {
		return text // which has the beginning of a plain body already
	}
	body := strings.Join(strings.Fields(string(e.Body[:min(len(e.Body), 4*short)])), " ")
	if body == "" || strings.IndexFunc(body, unicode.IsControl) >= 0 {
		return text
	}
	return text + ": " + cut(body, short)
}

// notStarted: the server's HTTP end refused to begin.
func (f *failure) notStarted(e *transport.RefusedError, rpc *jsonrpc.Error) {
	switch {
	case e.Location != "", e.Status == 401, e.Status == 403, e.Status == 429, e.Status == 503:
		f.refused(e, rpc)
	default:
		f.status, f.rpc = e.Status, rpc
	}
}
