package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// parseJSON reads JSON with the liberties that other clients take: comments, and
// a comma after the last member.
func parseJSON(data []byte) (*node, error) {
	p := &jsonParser{in: string(data), line: 1, col: 1}
	n, err := p.value(0)
	if err == nil {
		if err = p.space(); err == nil && p.off < len(p.in) {
			err = p.errorf("unexpected %s after the end", p.here())
		}
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

type jsonParser struct {
	in        string
	off       int
	line, col int
	nodes     int
}

func (p *jsonParser) errorf(format string, args ...any) error {
	return &syntaxError{pos{p.line, p.col}, fmt.Sprintf(format, args...)}
}

// here names what stands at the present place.
func (p *jsonParser) here() string {
	if p.off >= len(p.in) {
		return "end of file"
	}
	r, _ := utf8.DecodeRuneInString(p.in[p.off:])
	return quote(string(r))
}

// skip goes n bytes on.
func (p *jsonParser) skip(n int) {
	for i := 0; i < n; {
		r, size := utf8.DecodeRuneInString(p.in[p.off+i:])
		if i += size; r == '\n' {
			p.line, p.col = p.line+1, 1
		} else {
			p.col++
		}
	}
	p.off += n
}

// space skips white space and comments.
func (p *jsonParser) space() error {
	for p.off < len(p.in) {
		rest := p.in[p.off:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.skip(1)
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.skip(end)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return p.errorf("comment without end")
			}
			p.skip(end + 4)
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonParser) value(depth int) (*node, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, p.errorf("nested more than %d deep", maxDepth)
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.errorf("more than %d values", maxNodes)
	}
	n := &node{at: pos{p.line, p.col}}
	if p.off >= len(p.in) {
		return nil, p.errorf("unexpected end of file")
	}
	var err error
	switch c := p.in[p.off]; c {
	case '{':
		n.kind = isMap
		err = p.members('}', func() error { return p.member(n, depth) })
	case '[':
		n.kind = isList
		err = p.members(']', func() error {
			item, err := p.value(depth + 1)
			n.items = append(n.items, item)
			return err
		})
	case '"':
		n.kind = isString
		n.text, err = p.str()
	default:
		err = p.word(n)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (p *jsonParser) member(n *node, depth int) error {
	at := pos{p.line, p.col}
	if p.off >= len(p.in) || p.in[p.off] != '"' {
		return p.errorf("unexpected %s: want a key in double quotes", p.here())
	}
	key, err := p.str()
	if err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.off >= len(p.in) || p.in[p.off] != ':' {
		return p.errorf("unexpected %s: want a colon after key %s", p.here(), quote(key))
	}
	p.skip(1)
	val, err := p.value(depth + 1)
	n.pairs = append(n.pairs, pair{key, at, val})
	return err
}

// members reads what stands between brackets, up to end.
func (p *jsonParser) members(end byte, member func() error) error {
	p.skip(1)
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.off < len(p.in) && p.in[p.off] == end {
			p.skip(1)
			return nil
		}
		if err := member(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		switch {
		case p.off < len(p.in) && p.in[p.off] == ',':
			p.skip(1)
		case p.off >= len(p.in) || p.in[p.off] != end:
			return p.errorf("unexpected %s: want a comma or %q", p.here(), end)
		}
	}
}

func (p *jsonParser) str() (s string, err error) {
	rest := p.in[p.off:]
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '\n':
			return "", p.errorf("text without closing quote")
		case '"':
			if err := json.Unmarshal([]byte(rest[:i+1]), &s); err != nil {
				return "", p.errorf("not a valid text: %v", err)
			}
			p.skip(i + 1)
			return s, nil
		}
	}
	return "", p.errorf("text without closing quote")
}

// word reads a number, true, false or null.
func (p *jsonParser) word(n *node) error {
	rest := p.in[p.off:]
	end := strings.IndexFunc(rest, func(r rune) bool {
		return !strings.ContainsRune("+-._", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(rest)
	}
	n.text = rest[:end]
	switch {
	case n.text == "":
		return p.errorf("unexpected %s: want a value", p.here())
	case n.text == "null":
		n.kind = isNull
	case n.text == "true", n.text == "false":
		n.kind = isBool
	case json.Valid([]byte(n.text)):
		n.kind = isNumber
	default:
		return p.errorf("%s is no value: texts stand in double quotes", quote(n.text))
	}
	p.skip(end)
	return nil
}

// quote quotes a piece of a file for an error, shortened.
func quote(s string) string {
	const limit = 60
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return fmt.Sprintf("%q…", s[:cut])
	}
	return fmt.Sprintf("%q", s)
}
