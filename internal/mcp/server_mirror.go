package mcp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// serverMirrored is an argument that a schema marks with x-mcp-header: it is
// repeated beside the body (2026-07-28 §transports/streamable-http).
type serverMirrored struct {
	header string
	path   []string
	kind   string // "string", "integer", "boolean"
}

// readMirrored finds the marks of an input schema. Only those count that are
// reached through properties alone.
func readMirrored(schema jsontext.Value) ([]serverMirrored, error) {
	var found []serverMirrored
	seen := map[string]bool{}
	var walk func(schema jsontext.Value, path []string) error
	walk = func(schema jsontext.Value, path []string) error {
		var s struct {
			Type       jsontext.Value            `json:"type"`
			Header     *string                   `json:"x-mcp-header"`
			Properties map[string]jsontext.Value `json:"properties"`
		}
		if schema.Kind() != '{' {
			return nil
		}
		if err := json.Unmarshal(schema, &s, serverLenient); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		if s.Header != nil {
			kind := strings.Trim(string(s.Type), `"`)
			key := strings.ToLower(*s.Header)
			if !isToken(*s.Header) || seen[key] || kind != "string" && kind != "integer" && kind != "boolean" {
				return fmt.Errorf("x-mcp-header %q at %s: no token, there twice, or not on a string, integer or boolean", *s.Header, strings.Join(path, "."))
			}
			seen[key] = true
			found = append(found, serverMirrored{header: *s.Header, path: path, kind: kind})
		}
		for name, sub := range s.Properties {
			if err := walk(sub, append(path[:len(path):len(path)], name)); err != nil {
				return err
			}
		}
		return nil
	}
	if !schema.IsValid(serverLenient) || schema.Kind() != '{' {
		return nil, fmt.Errorf("the input schema is no JSON object")
	}
	return found, walk(schema, nil)
}

// isToken: RFC 9110 §5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// find reads the argument at the path; null counts as absent.
func (m *serverMirrored) find(args jsontext.Value) (jsontext.Value, bool) {
	for _, name := range m.path {
		if args.Kind() != '{' {
			return nil, false
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(args, &members, serverLenient); err != nil {
			return nil, false
		}
		args = members[name]
		if len(args) == 0 {
			return nil, false
		}
	}
	return args, args.Kind() != 'n'
}

// same compares integers as numbers and all else as text.
func (m *serverMirrored) same(value jsontext.Value, header string) bool {
	if m.kind == "integer" && value.Kind() == '0' {
		a, errA := strconv.ParseFloat(string(value), 64)
		b, errB := strconv.ParseFloat(header, 64)
		return errA == nil && errB == nil && a == b
	}
	text := string(value)
	if value.Kind() == '"' {
		if err := json.Unmarshal(value, &text, serverLenient); err != nil {
			return false
		}
	}
	return text == header
}
