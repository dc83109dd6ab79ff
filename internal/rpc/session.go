package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// methodInitialize stands for the opening of a session, in whatever era.
const methodInitialize = "initialize"

// Initialize opens a private session.
func (s *Service) Initialize(ctx context.Context, r *mcpbridgev1.InitializeRequest) (*mcpbridgev1.InitializeResponse, error) {
	if s.o.Draining.Err() != nil {
		return nil, s.fail(errDraining, s.about(ctx, nil, methodInitialize, ""))
	}
	u, err := s.upstream(r.Server)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, methodInitialize, ""))
	}
	spec, err := s.spec(ctx, r)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, u.Shared(), methodInitialize, ""))
	}
	ctx, cancel, _ := bound(ctx, u.Options(), false)
	defer cancel()
	x, err := s.o.Servers.Open(ctx, u, spec)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, u.Shared(), methodInitialize, ""))
	}
	res, err := s.describe(x, r.GetOptions())
	if err != nil {
		s.o.Servers.CloseSession(ctx, x)
		return nil, s.fail(err, s.about(ctx, u.Shared(), methodInitialize, ""))
	}
	s.declared.add(s.o.Servers, x, spec.Capabilities)
	setHeader(ctx, headerSession, x.ID())
	answered(ctx, x)
	return res, nil
}

// spec reads what a caller wants of his session.
func (s *Service) spec(ctx context.Context, r *mcpbridgev1.InitializeRequest) (upstream.Spec, error) {
	spec := upstream.Spec{
		Principal:  s.o.Principal(ctx),
		MaxVersion: r.MaxProtocolVersion,
		FailOnLoss: r.OnLoss == mcpbridgev1.SessionLossPolicy_SESSION_LOSS_POLICY_FAIL,
	}
	if v := r.MaxProtocolVersion; v != "" && !isRevision(v) {
		return spec, invalid("max_protocol_version: %.32q is no revision, such as %q", v, mcp.Version20260728)
	}
	if r.ClientInfo != nil {
		b, err := typed.AppendImplementation(nil, r.ClientInfo)
		if err != nil {
			return spec, invalid("client_info: %v", err)
		}
		spec.ClientInfo = b
	}
	if len(r.Roots) > 0 {
		if !r.Capabilities.GetRoots() {
			return spec, invalid("roots: the capability `roots` is not declared")
		}
		b, err := typed.AppendRoots(nil, r.Roots)
		if err != nil {
			return spec, invalid("roots: %v", err)
		}
		spec.Roots = b
	}
	if c := r.Capabilities; c != nil {
		if _, err := typed.AppendClientCapabilities(nil, c, mcp.Version20260728); err != nil {
			return spec, invalid("capabilities: %v", err)
		}
		spec.Capabilities = CapabilitiesOf(c)
	}
	return spec, nil
}

// isRevision reports whether v has the form of a revision's name, which is a date.
func isRevision(v string) bool {
	_, err := time.Parse(time.DateOnly, v)
	return err == nil
}

// CapabilitiesOf makes of declared capabilities what a session needs. They must
// have been found to be encodable.
func CapabilitiesOf(c *mcpbridgev1.ClientCapabilities) upstream.Capabilities {
	return upstream.Capabilities{
		JSON: func(version string) []byte {
			b, err := typed.AppendClientCapabilities(nil, c, version)
			if err != nil {
				return nil
			}
			return b
		},
		Sampling:        c.GetSampling() || c.GetSamplingTools() || c.GetSamplingContext(),
		ElicitationForm: c.GetElicitationForm(),
		ElicitationURL:  c.GetElicitationUrl(),
	}
}

// describe tells what is known of a session and its server.
func (s *Service) describe(x *upstream.Session, o *mcpbridgev1.RequestOptions) (*mcpbridgev1.InitializeResponse, error) {
	info := x.Info()
	d := decoder(x, format(o))
	var res *mcpbridgev1.InitializeResponse
	if info == nil || len(info.Result) == 0 {
		return nil, &mcp.ProtocolError{Reason: "the server did not say what it is"}
	}
	if info.Era == mcp.EraModern {
		found, err := d.Discover(info.Result)
		if err != nil {
			return nil, &mcp.ProtocolError{Reason: err.Error()}
		}
		res = &mcpbridgev1.InitializeResponse{
			ServerInfo: found.ServerInfo, Capabilities: found.Capabilities,
			Instructions: found.Instructions, Meta: found.Meta, ExtraJson: found.ExtraJSON,
		}
	} else {
		var err error
		if res, err = d.Initialize(info.Result); err != nil {
			return nil, &mcp.ProtocolError{Reason: err.Error()}
		}
	}
	res.SessionId, res.Server, res.ProtocolVersion = x.ID(), x.Upstream().Name(), info.Version
	res.Generation = int32(x.Generation())
	if idle := x.Upstream().Options().SessionIdle; idle > 0 {
		res.IdleTimeout = durationpb.New(idle)
	}
	if format(o) == mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
		res.RawJson = string(info.Result)
	}
	return res, nil
}

// CloseSession ends a private session.
func (s *Service) CloseSession(ctx context.Context, r *mcpbridgev1.CloseSessionRequest) (*mcpbridgev1.CloseSessionResponse, error) {
	x, err := s.private(ctx, r.SessionId)
	if err == nil && x == nil {
		err = invalid("session_id: no session is named")
	}
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, "", ""))
	}
	s.o.Servers.CloseSession(ctx, x)
	s.declared.forget(x)
	return &mcpbridgev1.CloseSessionResponse{}, nil
}

// Ping checks that a server answers.
func (s *Service) Ping(ctx context.Context, r *mcpbridgev1.PingRequest) (*mcpbridgev1.PingResponse, error) {
	const method = "ping"
	if s.o.Draining.Err() != nil {
		return nil, s.fail(errDraining, s.about(ctx, nil, method, ""))
	}
	x, err := s.target(ctx, r)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, method, ""))
	}
	ctx, cancel, _ := bound(ctx, x.Upstream().Options(), false)
	defer cancel()
	if err := x.Ping(ctx); err != nil {
		return nil, s.fail(err, s.about(ctx, x, method, ""))
	}
	answered(ctx, x)
	return &mcpbridgev1.PingResponse{}, nil
}
