package rpc

import (
	"context"
	"strings"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/rpc/typed"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

const methodCallTool = "tools/call"

// CallTool calls a tool and waits for its result.
func (s *Service) CallTool(ctx context.Context, r *mcpbridgev1.CallToolRequest) (*mcpbridgev1.CallToolResponse, error) {
	x, err := s.target(ctx, r)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, methodCallTool, r.Name))
	}
	ctx, cancel, clock := bound(ctx, x.Upstream().Options(), r.GetOptions().GetProgressExtendsTimeout())
	defer cancel()
	c := &toolCall{}
	if err := s.prepare(ctx, x, r, c); err != nil {
		return nil, s.fail(err, s.about(ctx, x, methodCallTool, r.Name))
	}
	c.req.Clock = clock
	res, err := s.doTool(ctx, x, &c.req, format(r.GetOptions()))
	if err != nil {
		return nil, s.fail(err, s.about(ctx, x, methodCallTool, r.Name))
	}
	answered(ctx, x)
	return res, nil
}

// A toolCall is a call as it goes to the server.
type toolCall struct {
	req    mcp.Request
	params mcp.ToolCall
}

// prepare makes the request to the server.
func (s *Service) prepare(ctx context.Context, x *upstream.Session, r *mcpbridgev1.CallToolRequest, c *toolCall) error {
	if s.o.Draining.Err() != nil {
		return errDraining
	}
	if len(r.Answers) > 0 || r.InputState != "" || r.GiveUp {
		return &unimplementedError{text: "answering a server's questions is not implemented yet"}
	}
	if r.AcceptTask {
		return &unimplementedError{text: "tasks are not implemented yet"}
	}
	if r.Name == "" {
		return invalid("name: no tool is named")
	}
	c.params.Name = r.Name
	switch {
	case r.ArgumentsJson != "" && r.Arguments != nil:
		return invalid("both arguments and arguments_json are set")
	case r.ArgumentsJson != "":
		b := jsonscan.AsBytes(r.ArgumentsJson)
		if err := jsonscan.ValidObject(b); err != nil {
			return invalid("arguments_json: %v", err)
		}
		c.params.Arguments = oneLine(r.ArgumentsJson)
	case r.Arguments != nil:
		b, err := typed.AppendStruct(nil, r.Arguments)
		if err != nil {
			return invalid("arguments: %v", err)
		}
		c.params.Arguments = jsonscan.AsString(b)
	}
	c.req.Method, c.req.Name, c.req.HasName, c.req.Params = methodCallTool, r.Name, true, &c.params
	return s.apply(ctx, x, r.Options, &c.req)
}

// oneLine makes valid JSON text fit a frame, which is one line.
func oneLine(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return jsonscan.AsString(jsonscan.CompactLines(nil, jsonscan.AsBytes(text)))
}

// doTool sends the request and reads what came of it.
func (s *Service) doTool(ctx context.Context, x *upstream.Session, req *mcp.Request, f mcpbridgev1.ResultFormat) (*mcpbridgev1.CallToolResponse, error) {
	result, err := x.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	d := decoder(x, f)
	res := &mcpbridgev1.CallToolResponse{}
	var typ string
	err = result.Read(func(b []byte) error {
		if f == mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
			st, err := d.Steer(b)
			res.RawJson, typ = jsonscan.AsString(b), st.Type
			return err
		}
		out, err := d.CallTool(b)
		typ = out.Type
		if out.Tool != nil {
			res.Outcome = &mcpbridgev1.CallToolResponse_Result{Result: out.Tool}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := onlyComplete(typ); err != nil {
		return nil, err
	}
	return res, nil
}

// onlyComplete refuses what can't be carried on yet, and result types that
// nobody knows (2026-07-28 §basic, Result type).
func onlyComplete(typ string) error {
	switch typ {
	case "", typed.Complete:
		return nil
	case typed.InputRequired, typed.TaskCreated:
		return &unimplementedError{text: "the server answered with resultType " + typ + ", which is not implemented yet", answered: true}
	}
	return &mcp.ProtocolError{Reason: (&typed.ResultTypeError{Type: typ}).Error()}
}
