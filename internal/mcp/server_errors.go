package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

var (
	errServerClosed  = errors.New("the server is closing")
	errClientCancels = errors.New("cancelled by the client")
	errCallOver      = errors.New("the call is over")
	errSessionEnded  = errors.New("the session has ended")
)

// serverBusy is the code for "too much at once". It lies in the range that is
// free for implementations.
const serverBusy = -32000

func errorf(code int64, format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// invalidParams is -32602.
func invalidParams(format string, args ...any) *jsonrpc.Error {
	return errorf(jsonrpc.InvalidParams, format, args...)
}

// shorten bounds what we repeat of a client's words.
func shorten(s string) string {
	const limit = 200
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}

// refuse answers with an error.
func (s *Server) refuse(out Sender, id jsonrpc.ID, e *jsonrpc.Error) {
	if err := out.Send(&jsonrpc.Response{ID: id, Error: e}); err != nil {
		s.log.Debug("answer not delivered", "id", id.String(), "err", err)
	}
}

// wireError is how a handler's error looks to the client. A *jsonrpc.Error is
// the handler's own words; anything else is ours to know only.
func (s *Server) wireError(c *serverCall, err error) *jsonrpc.Error {
	var rpc *jsonrpc.Error
	var missing *ServerCapabilityError
	switch {
	case errors.As(err, &rpc):
		return rpc
	case errors.As(err, &missing):
		return c.era.missingCapability(missing)
	case c.ctx.Err() != nil: // the client has gone, or we close: no fault of the handler
		cause := context.Cause(c.ctx)
		s.log.Debug("handler ended early", "method", c.rpc.Method, "name", c.request.Name, "cause", cause)
		return errorf(jsonrpc.InternalError, "%v", cause)
	}
	s.log.Error("handler failed", "method", c.rpc.Method, "name", c.request.Name, "err", err)
	return errorf(jsonrpc.InternalError, "internal error")
}
