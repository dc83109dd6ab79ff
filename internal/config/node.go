package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"path/filepath"
	"strings"
)

// Limits on a file.
const (
	maxFileBytes = 4 << 20
	maxDepth     = 64
	maxNodes     = 200_000
)

type pos struct{ line, col int }

type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isString
	isList
	isMap
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "a map"}[k]
}

// A node is one value of a file, whatever the file's syntax. Nodes do not change
// once they are built; two places may share one.
type node struct {
	kind  kind
	at    pos
	text  string // a scalar as it was written; a string's value
	items []*node
	pairs []pair
}

type pair struct {
	key string
	at  pos
	val *node
}

// what names the node in an error.
func (n *node) what() string {
	switch n.kind {
	case isNumber:
		return "the number " + n.text
	case isBool:
		return n.text
	case isString:
		if len(n.text) <= 40 && n.text != "" && !strings.ContainsAny(n.text, "\n\r") {
			return "the text " + quote(n.text)
		}
		return "a text"
	default:
		return n.kind.String()
	}
}

// syntaxError is an error of a parser.
type syntaxError struct {
	at   pos
	text string
}

func (e *syntaxError) Error() string { return e.text }

// parse reads data as JSON or YAML. JSON is told by the file's name, or by how it
// begins; it has a parser of its own because YAML's takes neither the comments
// nor the tabs that other clients' files have.
func parse(file string, data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json", ".jsonc":
		return parseJSON(data)
	case ".yaml", ".yml":
		return parseYAML(data)
	}
	if rest := bytes.TrimLeft(data, " \t\r\n"); len(rest) > 0 && rest[0] == '{' {
		n, err := parseJSON(data)
		if err == nil {
			return n, nil
		}
		if n, yamlErr := parseYAML(data); yamlErr == nil { // a flow mapping without quotes
			return n, nil
		}
		return nil, err
	}
	return parseYAML(data)
}

var errTooLarge = errors.New("too large")

// appendJSON writes n as JSON, keys in the file's order, strings expanded by
// text. It fails past limit, because aliases can make a small file large.
func (n *node) appendJSON(b []byte, limit int, text func(*node) string) ([]byte, error) {
	var err error
	switch n.kind {
	case isNull:
		b = append(b, "null"...)
	case isBool:
		b = append(b, strings.ToLower(n.text)...)
	case isNumber:
		b = append(b, jsonNumber(n.text)...)
	case isString:
		b = appendString(b, text(n))
	case isList:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = item.appendJSON(b, limit, text); err != nil {
				return nil, err
			}
		}
		b = append(b, ']')
	case isMap:
		b = append(b, '{')
		for i, p := range n.pairs {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, p.key), ':')
			if b, err = p.val.appendJSON(b, limit, text); err != nil {
				return nil, err
			}
		}
		b = append(b, '}')
	}
	if len(b) > limit {
		return nil, errTooLarge
	}
	return b, nil
}

func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string can always be encoded
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// jsonNumber writes a number of YAML (0x1F, 1_000, .5) as JSON has it.
func jsonNumber(s string) string {
	if json.Valid([]byte(s)) {
		return s
	}
	clean := strings.ReplaceAll(s, "_", "")
	if i, ok := new(big.Int).SetString(clean, 0); ok {
		return i.String()
	}
	if f, ok := new(big.Float).SetString(clean); ok && !f.IsInf() {
		return f.Text('g', 17)
	}
	return "null" // .inf and .nan
}
