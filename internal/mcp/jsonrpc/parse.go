package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	// ErrNotMessage means valid JSON that is no JSON-RPC message.
	ErrNotMessage = errors.New("not a JSON-RPC message")
	// ErrInvalidJSON means that the bytes are not one JSON value.
	ErrInvalidJSON = errors.New("invalid JSON")
)

// lenient is how we read what others wrote: duplicate names are theirs to keep.
// Bytes that are no UTF-8 must have been replaced before.
var lenient = jsontext.AllowDuplicateNames(true)

// Parse decodes one message. Params, results and data alias frame. A null
// member counts as absent, except that a response may consist of a null result.
// "jsonrpc" is not insisted upon: some servers forget it.
func Parse(frame []byte) (Message, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(frame), lenient)
	if k := dec.PeekKind(); k != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return nil, invalid(err)
		}
		return nil, fmt.Errorf("%w: no object", ErrNotMessage)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, invalid(err)
	}
	var m members
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, invalid(err)
		}
		dst := m.dst(name)
		val, err := dec.ReadValue()
		if err != nil {
			return nil, invalid(err)
		}
		if dst != nil {
			// The decoder's buffer is frame itself, so the value stays valid.
			*dst = val
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, invalid(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("%w: text after the message", ErrInvalidJSON)
	}
	return m.message()
}

// ParseBatch splits a JSON array into its members (2025-03-26 §basic,
// Batching); ok tells whether frame is an array at all.
func ParseBatch(frame []byte) (members [][]byte, ok bool, err error) {
	trimmed := bytes.TrimLeft(frame, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '[' {
		return nil, false, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(frame), lenient)
	if _, err := dec.ReadToken(); err != nil {
		return nil, true, invalid(err)
	}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, true, invalid(err)
		}
		members = append(members, v)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, true, invalid(err)
	}
	return members, true, nil
}

func invalid(err error) error {
	return fmt.Errorf("%w: %w", ErrInvalidJSON, err)
}

type members struct {
	id, method, params, result, err []byte
}

// dst gives the place for the member whose quoted name is name; nil for others.
func (m *members) dst(name []byte) *[]byte {
	switch string(name) {
	case `"id"`:
		return &m.id
	case `"method"`:
		return &m.method
	case `"params"`:
		return &m.params
	case `"result"`:
		return &m.result
	case `"error"`:
		return &m.err
	}
	return nil
}

func isNull(v []byte) bool { return len(v) == 0 || string(v) == "null" }

func (m *members) message() (Message, error) {
	var id ID
	if !isNull(m.id) {
		if c := m.id[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
			return nil, fmt.Errorf("%w: id is neither a number nor a string", ErrNotMessage)
		}
		id = RawID(m.id)
	}
	if !isNull(m.method) {
		if m.method[0] != '"' {
			return nil, fmt.Errorf("%w: method is no string", ErrNotMessage)
		}
		method, err := unquote(m.method)
		if err != nil {
			return nil, err
		}
		params := m.params
		if isNull(params) {
			params = nil
		}
		if id.IsZero() {
			return &Notification{Method: method, Params: params}, nil
		}
		return &Call{ID: id, Method: method, Params: params}, nil
	}
	if !isNull(m.err) {
		e, err := ParseErrorObject(m.err)
		if err != nil {
			return nil, err
		}
		return &Response{ID: id, Error: e}, nil
	}
	if m.result == nil {
		return nil, fmt.Errorf("%w: neither method, result nor error", ErrNotMessage)
	}
	return &Response{ID: id, Result: m.result}, nil
}

func unquote(v []byte) (string, error) {
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil && !errors.As(err, new(*jsontext.SyntacticError)) {
		return "", invalid(err)
	}
	return string(b), nil
}

// ParseErrorObject decodes the error member of a response. Code and message may
// be missing or of another type: an error stays an error.
func ParseErrorObject(v []byte) (*Error, error) {
	e := &Error{}
	if len(v) == 0 || v[0] != '{' {
		e.Message = string(v)
		return e, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), lenient)
	if _, err := dec.ReadToken(); err != nil {
		return nil, invalid(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, invalid(err)
		}
		key := string(name)
		val, err := dec.ReadValue()
		if err != nil {
			return nil, invalid(err)
		}
		switch key {
		case `"code"`:
			e.Code = parseCode(val)
		case `"message"`:
			if val[0] != '"' {
				e.Message = string(val)
			} else if e.Message, err = unquote(val); err != nil {
				return nil, err
			}
		case `"data"`:
			if !isNull(val) {
				e.Data = val
			}
		}
	}
	return e, nil
}

func parseCode(v []byte) int64 {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}
