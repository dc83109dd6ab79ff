package rpc

import (
	"context"
	"strconv"

	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// Headers that carry a session.
const (
	headerSession    = "Mcp-Session-Id"
	headerGeneration = "Mcp-Session-Generation"
)

// An addressed request names whom it is for.
type addressed interface {
	GetSessionId() string
	GetServer() string
}

// target finds the session that a request is for: the private one that it names
// in a field or in the header, or the shared one of a server.
func (s *Service) target(ctx context.Context, r addressed) (*upstream.Session, error) {
	x, err := s.private(ctx, r.GetSessionId())
	if err != nil {
		return nil, err
	}
	if x == nil {
		u, err := s.upstream(r.GetServer())
		if err != nil {
			return nil, err
		}
		return u.Shared(), nil
	}
	if name := r.GetServer(); name != "" && name != x.Upstream().Name() {
		return nil, invalid("the session is with server %q, not with %q", x.Upstream().Name(), name)
	}
	return x, nil
}

// upstream finds a server by its name, which may be empty where there is but one.
func (s *Service) upstream(name string) (*upstream.Upstream, error) {
	u, err := s.o.Servers.Get(name)
	if err != nil && name == "" {
		return nil, invalid("the bridge serves several servers: name one in `server`")
	}
	return u, err
}

// private finds the private session that a request names; nil if it names none.
func (s *Service) private(ctx context.Context, field string) (*upstream.Session, error) {
	id := header(ctx, headerSession)
	if field != "" {
		if id != "" && id != field {
			return nil, invalid("the field session_id and the header %s name different sessions", headerSession)
		}
		id = field
	}
	if id == "" {
		return nil, nil
	}
	return s.o.Servers.Session(id, s.o.Principal(ctx))
}

// everybody reports whether a list is asked of all servers.
func (s *Service) everybody(ctx context.Context, r addressed) bool {
	return r.GetSessionId() == "" && r.GetServer() == "" && len(s.o.Servers.All()) > 1 && header(ctx, headerSession) == ""
}

// answered marks the answer as one of a private session.
func answered(ctx context.Context, x *upstream.Session) {
	if x.ID() != "" {
		setHeader(ctx, headerGeneration, strconv.Itoa(x.Generation()))
	}
}
