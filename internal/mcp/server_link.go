package mcp

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

type serverLinkKey struct{}

// ContextWithLink marks ctx as one stream that all calls of a client share, a
// pipe. There calls have ids that notifications/cancelled can name (2026-07-28
// §transports/stdio, Cancellation). A transport makes one for each stream. Where
// hanging up cancels, none is needed.
func ContextWithLink(ctx context.Context) context.Context {
	return context.WithValue(ctx, serverLinkKey{}, newServerScope())
}

func linkOf(ctx context.Context) *serverScope {
	sc, _ := ctx.Value(serverLinkKey{}).(*serverScope)
	return sc
}

// cancelled gives a call up. Ids that nobody knows are ignored: the answer may
// have crossed the cancellation.
func (s *Server) cancelled(ctx context.Context, params []byte) {
	var p struct {
		ID     jsontext.Value `json:"requestId"`
		Reason string         `json:"reason"`
	}
	if e := serverRead(params, &p); e != nil || len(p.ID) == 0 || p.ID.Kind() != '"' && p.ID.Kind() != '0' {
		return
	}
	id := jsonrpc.RawID(p.ID)
	for _, sc := range []*serverScope{sessionScope(ctx), linkOf(ctx)} {
		if sc == nil {
			continue
		}
		if c := sc.take(id); c != nil {
			s.log.Debug("call cancelled", "method", c.rpc.Method, "id", id.String(), "reason", shorten(p.Reason))
			c.giveUp()
			return
		}
	}
}
