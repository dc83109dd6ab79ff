package mcp

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// serverDress says which members a result needs beside the handler's.
type serverDress uint8

const (
	serverDressPlain serverDress = iota
	serverDressList              // a list, or what a server is: the same for everybody
	serverDressRead              // the contents of a resource
)

// dressResult checks that a handler's result is one JSON object and adds
// members: head before the others, of which it replaces those of the same name,
// and meta in front of the members of `_meta`. Both are JSON text without braces
// and may be empty. The outcome has no line breaks.
func dressResult(result []byte, head, meta string, replaced ...string) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(result), serverLenient)
	if k := dec.PeekKind(); k != '{' {
		return nil, fmt.Errorf("a handler's result is no object but %q", k.String())
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(result)+len(head)+len(meta)+16)
	out = append(append(out, '{'), head...)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("a handler's result: %w", err)
		}
		name = name.Clone()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("a handler's result: %w", err)
		}
		if string(name) == `"_meta"` && value.Kind() == '{' && meta != "" {
			if inner := bytes.TrimSpace(value[1 : len(value)-1]); len(inner) > 0 {
				meta += "," + string(inner)
			}
			continue
		}
		if slices.Contains(replaced, string(name)) {
			continue
		}
		out = append(append(append(appendComma(out), name...), ':'), value...)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, fmt.Errorf("a handler's result: %w", err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("a handler's result has text after it")
	}
	if meta != "" {
		out = append(append(append(appendComma(out), `"_meta":{`...), meta...), '}')
	}
	out = append(out, '}')
	if bytes.ContainsAny(out, "\r\n") { // only between tokens: strings can't hold them
		v := jsontext.Value(out)
		if err := v.Compact(serverLenient); err != nil {
			return nil, err
		}
		out = v
	}
	return out, nil
}

func appendComma(out []byte) []byte {
	if out[len(out)-1] != '{' {
		return append(out, ',')
	}
	return out
}
