package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// ListServers lists the servers and their states. It starts none.
func (s *Service) ListServers(context.Context, *mcpbridgev1.ListServersRequest) (*mcpbridgev1.ListServersResponse, error) {
	res := &mcpbridgev1.ListServersResponse{}
	for _, u := range s.o.Servers.All() {
		x := u.Shared()
		v := s.server(u, x.Status(), x.Info())
		v.Sessions = int32(u.Sessions())
		res.Servers = append(res.Servers, v)
	}
	return res, nil
}

var states = map[upstream.State]mcpbridgev1.ServerState{
	upstream.Idle:         mcpbridgev1.ServerState_SERVER_STATE_IDLE,
	upstream.Starting:     mcpbridgev1.ServerState_SERVER_STATE_STARTING,
	upstream.Ready:        mcpbridgev1.ServerState_SERVER_STATE_READY,
	upstream.BackingOff:   mcpbridgev1.ServerState_SERVER_STATE_BACKOFF,
	upstream.Failed:       mcpbridgev1.ServerState_SERVER_STATE_FAILED,
	upstream.Unauthorized: mcpbridgev1.ServerState_SERVER_STATE_UNAUTHORIZED,
	upstream.Closed:       mcpbridgev1.ServerState_SERVER_STATE_FAILED,
}

// server describes a server in a state; info is nil before it was first ready.
func (s *Service) server(u *upstream.Upstream, st upstream.Status, info *mcp.Info) *mcpbridgev1.Server {
	v := &mcpbridgev1.Server{
		Name: u.Name(), Transport: u.Options().Transport, State: states[st.State],
		StateReason: cut(s.o.Redact(st.Reason), maxMessage),
		StateSince:  timestamppb.New(st.Since), Restarts: int32(st.Restarts),
	}
	if info == nil {
		return v
	}
	v.ProtocolVersion, v.Instructions = info.Version, info.Instructions
	var d typed.Decoder
	// What can't be read is not shown: it is for people only.
	if len(info.ServerInfo) > 0 {
		v.ServerInfo, _ = d.Implementation(info.ServerInfo)
	}
	if len(info.Capabilities) > 0 {
		v.Capabilities, _ = d.ServerCapabilities(info.Capabilities)
	}
	return v
}
