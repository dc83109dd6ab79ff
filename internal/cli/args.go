package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const maxArguments = 64 << 20 // what the bridge takes

// arguments makes the JSON object of a tool's arguments: that of --args (JSON,
// @FILE, or - for standard input), and over it the words key=text and key:=json.
// The order is kept, and so is the text of every value.
func arguments(c *Context, base string, words []string) (string, error) {
	object := ""
	if base != "" {
		text, err := readArgument(c, base)
		if err != nil {
			return "", err
		}
		if object = strings.TrimSpace(text); !strings.HasPrefix(object, "{") || !json.Valid([]byte(object)) {
			return "", usage("--args: want a JSON object, not %q", cut(oneLine(object), 60))
		}
	}
	if len(words) == 0 {
		return object, nil
	}
	var set members
	if object != "" {
		var err error
		if set, err = objectMembers([]byte(object)); err != nil {
			return "", usage("--args: %v", err)
		}
	}
	for _, word := range words {
		key, value, err := argument(word)
		if err != nil {
			return "", err
		}
		set.put(key, value)
	}
	return string(set.appendTo(nil)), nil
}

func argument(word string) (key string, value json.RawMessage, err error) {
	key, text, ok := strings.Cut(word, "=")
	if !ok || key == "" || key == ":" {
		return "", nil, usage("argument %q: want key=text or key:=json", word)
	}
	if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
		if !json.Valid([]byte(text)) {
			return "", nil, usage("argument %q: not valid JSON: for a text write %s=%s", word, name, text)
		}
		return name, json.RawMessage(strings.TrimSpace(text)), nil
	}
	return key, quoteJSON(text), nil
}

func quoteJSON(text string) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func readArgument(c *Context, arg string) (string, error) {
	var in io.Reader
	name, isFile := strings.CutPrefix(arg, "@")
	switch {
	case arg == "-" || arg == "@-":
		in = c.Stdin
	case isFile:
		f, err := os.Open(name)
		if err != nil {
			return "", usage("--args: %v", err)
		}
		defer f.Close() //nolint:errcheck // read only
		in = f
	default:
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	if err != nil {
		return "", fmt.Errorf("read --args: %w", err)
	}
	if len(b) > maxArguments {
		return "", usage("--args: more than %d bytes", maxArguments)
	}
	return string(b), nil
}

// members are those of a JSON object, in order.
type members []member

type member struct {
	key   string
	value json.RawMessage
}

func (m members) get(key string) json.RawMessage {
	for _, p := range m {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// str returns a member that is a string, or nothing.
func (m members) str(key string) string {
	var s string
	if json.Unmarshal(m.get(key), &s) != nil {
		return ""
	}
	return s
}

func (m *members) put(key string, value json.RawMessage) {
	for i := range *m {
		if (*m)[i].key == key {
			(*m)[i].value = value
			return
		}
	}
	*m = append(*m, member{key, value})
}

func (m members) appendTo(b []byte) []byte {
	b = append(b, '{')
	for i, p := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoteJSON(p.key)...), ':'), p.value...)
	}
	return append(b, '}')
}

var errNoObject = errors.New("not a JSON object")

// objectMembers takes an object apart without looking into its values. Of members
// of the same name the last one counts.
func objectMembers(b []byte) (members, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var m members
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := t.(string)
		if !ok {
			return nil, errNoObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		m.put(key, value)
	}
	return m, nil
}
