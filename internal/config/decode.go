package config

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder takes values out of nodes. What is wrong goes into its notes, and the
// value stays as it was; so all errors of a file are found in one pass.
type decoder struct {
	notes
	expand expander
	put    []string // what expansion put into texts since it was last cleared
	known  func(string) bool
}

// fields goes through a map: known keys to their setters, duplicates to the
// errors, others to unknown.
func (d *decoder) fields(n *node, path string, unknown func(p pair), set func(key string) func(*node)) {
	if n.kind != isMap {
		d.errorf(n.at, "%swant a map, not %s", prefix(path), n.what())
		return
	}
	seen := map[string]pos{}
	for _, p := range n.pairs {
		if first, dup := seen[p.key]; dup {
			d.errorf(p.at, "%sduplicate key %s, first in line %d", prefix(path), quote(p.key), first.line)
			continue
		}
		seen[p.key] = p.at
		if f := set(p.key); f != nil {
			f(p.val)
		} else {
			unknown(p)
		}
	}
}

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// unknown tells of a key that nobody knows.
func (d *decoder) unknown(p pair, path string, keys []string) {
	of := ""
	if path != "" {
		of = " in " + path
	}
	d.errorf(p.at, "unknown key %s%s%s", quote(p.key), of, suggest(p.key, keys))
}

// str returns a text with everything put in.
func (d *decoder) str(n *node, path string) (string, bool) {
	if n.kind != isString {
		hint := ""
		if n.kind == isNumber || n.kind == isBool {
			hint = fmt.Sprintf(": write %q", n.text)
		}
		d.errorf(n.at, "%swant a text, not %s%s", prefix(path), n.what(), hint)
		return "", false
	}
	text, put, err := d.expand.expand(n.text)
	switch {
	case err != nil:
		d.errorf(n.at, "%s%v", prefix(path), err)
		return "", false
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		d.errorf(n.at, "%sholds bytes that are no text", prefix(path))
		return "", false
	}
	d.put = append(d.put, put...)
	return text, true
}

func (d *decoder) text(to *string, path string) func(*node) {
	return func(n *node) {
		if s, ok := d.str(n, path); ok {
			*to = s
		}
	}
}

// word takes one of a few words.
func (d *decoder) word(to *string, path string, words ...string) func(*node) {
	return func(n *node) {
		if n.kind == isBool && len(words) > 0 && words[0] == "off" && strings.EqualFold(n.text, "false") {
			*to = "off" // older YAML reads off as false
			return
		}
		s, ok := d.str(n, path)
		if !ok {
			return
		}
		for _, w := range words {
			if s == w {
				*to = s
				return
			}
		}
		d.errorf(n.at, "%swant one of %s, not %s", prefix(path), strings.Join(words, ", "), quote(s))
	}
}

func (d *decoder) texts(to *[]string, path string) func(*node) {
	return func(n *node) {
		if n.kind != isList {
			hint := ""
			if n.kind == isString {
				hint = ": write [" + strconv.Quote(n.text) + "]"
				if len(n.text) > 40 {
					hint = ""
				}
			}
			d.errorf(n.at, "%swant a list of texts, not %s%s", prefix(path), n.what(), hint)
			return
		}
		out := make([]string, 0, len(n.items))
		for i, item := range n.items {
			if s, ok := d.str(item, fmt.Sprintf("%s[%d]", path, i)); ok {
				out = append(out, s)
			}
		}
		*to = out
	}
}

// secrets adds a map of texts; check looks at each.
func (d *decoder) secrets(to *map[string]Secret, path string, check func(name, value string) error) func(*node) {
	return func(n *node) {
		out := map[string]Secret{}
		d.fields(n, path, nil, func(name string) func(*node) {
			return func(v *node) {
				s, ok := d.str(v, path+"."+name)
				if !ok {
					return
				}
				if err := check(name, s); err != nil {
					d.errorf(v.at, "%s: %v", path, err)
					return
				}
				out[name] = Secret(s)
			}
		})
		if *to == nil {
			*to = out
		} else {
			maps.Copy(*to, out)
		}
	}
}
