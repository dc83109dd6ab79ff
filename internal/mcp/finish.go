package mcp

import (
	"unicode/utf8"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// finish turns a reply into what the caller gets. It runs on the caller's
// goroutine, so that the reader of the link never looks into a payload.
func (c *Client) finish(rep reply) (Result, error) {
	switch {
	case rep.err != nil:
		return Result{}, rep.err
	case rep.parsed != nil:
		return finishParsed(rep.parsed, rep.frame, rep.note)
	case !utf8.Valid(rep.frame):
		c.o.Stats.Replaced.Add(1)
		rep.frame = validUTF8(rep.frame)
	case !rep.isError:
		return Result{Payload: rep.payload, frame: rep.frame, byPosition: true, note: rep.note}, nil
	}
	m, err := jsonrpc.Parse(rep.frame)
	if err != nil {
		return Result{}, protocolErrorf("%s", withNote(err.Error(), rep.note))
	}
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return Result{}, protocolErrorf("%s", withNote("no response", rep.note))
	}
	return finishParsed(resp, rep.frame, rep.note)
}

func finishParsed(m *jsonrpc.Response, frame []byte, note string) (Result, error) {
	if m.Error != nil {
		return Result{frame: frame, note: note}, &ServerError{RPC: m.Error}
	}
	return Result{Payload: m.Result, frame: frame, note: note}, nil
}

// A Result is the result of a request: JSON text that nobody has validated yet.
type Result struct {
	Payload    []byte
	frame      []byte // the response; nil: none
	byPosition bool   // Payload was found by position only
	note       string
}

// Envelope is the whole response as the server wrote it, with invalid UTF-8
// replaced: one JSON object once Read has succeeded. Do gives it with a
// *ServerError, too, where the server's answer was no refusal by status.
func (r *Result) Envelope() []byte { return r.frame }

// Read passes the payload to decode, which must fail where it is not one JSON
// value of the expected kind. Where it fails, the frame is read again without
// the shortcut that found the payload, and what fails then is a *ProtocolError.
func (r *Result) Read(decode func(payload []byte) error) error {
	err := decode(r.Payload)
	if err == nil {
		return nil
	}
	if !r.byPosition {
		return r.invalid(err.Error())
	}
	m, perr := jsonrpc.Parse(r.frame)
	if perr != nil {
		return r.invalid(perr.Error())
	}
	r.byPosition = false
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return r.invalid("no response")
	}
	if resp.Error != nil {
		return &ServerError{RPC: resp.Error}
	}
	if string(resp.Result) == string(r.Payload) {
		return r.invalid(err.Error())
	}
	r.Payload = resp.Result
	if err := decode(r.Payload); err != nil {
		return r.invalid(err.Error())
	}
	return nil
}

func (r *Result) invalid(why string) error {
	return protocolErrorf("%s", withNote(why, r.note))
}

func withNote(s, note string) string {
	if note == "" {
		return s
	}
	return note + ": " + s
}
