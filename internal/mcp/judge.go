package mcp

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// judge says what a refusing HTTP answer to the request with that id means, in
// this order: (1) 401 and 403; (2) 404 to a request that named a session, unless
// the body is an error of the method or its params with the request's id, and 400
// whose error says that the session is not known; (3) 429; (4) a JSON-RPC error in the body that is the request's, or nobody's; (5)
// the status.
func (c *Client) judge(refused *transport.RefusedError, id int64) error {
	body := validUTF8(refused.Body)
	rpcErr, whose := bodyError(body, id)
	st := &StatusError{RefusedError: refused, RPC: rpcErr}
	switch {
	case refused.Location != "", refused.Status == 401, refused.Status == 403:
		return st
	case refused.Status == 404 && refused.Session &&
		!(whose == ours && (rpcErr.Code == jsonrpc.MethodNotFound || rpcErr.Code == jsonrpc.InvalidParams)):
		err := &goneError{st}
		c.end(err, false)
		return err
	case refused.Status == 400 && refused.Session && deniesSession(rpcErr):
		err := &goneError{st}
		c.end(err, false)
		return err
	case refused.Status == 429:
		return st
	case whose == ours || whose == nobodys:
		return &ServerError{RPC: rpcErr, Status: refused.Status, body: body}
	}
	return st
}

// deniesSession reports whether an error says that the session is not known.
// Servers exist that say so by 400, though 404 is the status for it; either way
// the request was refused, not carried out.
func deniesSession(e *jsonrpc.Error) bool {
	if e == nil {
		return false
	}
	switch e.Code {
	case -32000, -32001, jsonrpc.InvalidRequest:
		return strings.Contains(strings.ToLower(e.Message), "session")
	}
	return false
}

// owner tells to whom an error in a body belongs.
type owner uint8

const (
	another owner = iota // to another request, or there is no error
	nobodys              // its id is null or absent
	ours
)

// bodyError reads a JSON-RPC error; nil where there is none.
func bodyError(body []byte, id int64) (*jsonrpc.Error, owner) {
	m, err := jsonrpc.Parse(body)
	if err != nil {
		return nil, another
	}
	resp, ok := m.(*jsonrpc.Response)
	if !ok || resp.Error == nil {
		return nil, another
	}
	if n, ok := resp.ID.Int(); ok && n == id && id > 0 {
		return resp.Error, ours
	}
	if resp.ID.IsZero() {
		return resp.Error, nobodys
	}
	return resp.Error, another
}

func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}
