package upstream

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// Ask answers a request of the server. Roots are answered from the session's,
// always; what the session did not declare is refused at once, and so is what it
// declared while nobody can be asked.
func (h handler) Ask(_ context.Context, q *jsonrpc.Call, _ any) ([]byte, *jsonrpc.Error) {
	can := &h.spec.Capabilities
	switch q.Method {
	case "roots/list":
		h.mu.Lock()
		roots := h.roots
		h.mu.Unlock()
		if roots == nil {
			roots = []byte(`{"roots":[]}`)
		}
		return roots, nil
	case "sampling/createMessage":
		if can.Sampling {
			return nil, &jsonrpc.Error{Code: jsonrpc.UserRejected, Message: "Nobody is there to answer"}
		}
	case "elicitation/create":
		if !can.ElicitationForm && !can.ElicitationURL {
			break
		}
		var p struct {
			Mode string `json:"mode"`
		}
		_ = json.Unmarshal(q.Params, &p)
		if p.Mode == "url" && !can.ElicitationURL || p.Mode != "url" && !can.ElicitationForm {
			return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "This mode of elicitation was not declared"}
		}
		return []byte(`{"action":"cancel"}`), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "Method not found: " + q.Method}
}
