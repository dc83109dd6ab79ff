package mcp

import (
	"fmt"
	"net/url"
	"strings"
)

// serverTemplate is a URI template taken apart: literals[0] vars[0] literals[1] …
type serverTemplate struct {
	ServerTemplate
	literals []string
	vars     []string
}

func parseServerTemplate(t ServerTemplate) (serverTemplate, error) {
	out := serverTemplate{ServerTemplate: t}
	fail := func(what string) (serverTemplate, error) {
		return out, fmt.Errorf("template %q: %s", t.URITemplate, what)
	}
	if t.Name == "" || t.Handle == nil {
		return fail("no name or no handler")
	}
	rest := t.URITemplate
	for {
		literal, after, found := strings.Cut(rest, "{")
		out.literals = append(out.literals, literal)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.ContainsAny(name, "+#./;?&=,!@|*:{") {
			return fail("only simple expressions such as {name}")
		}
		if strings.HasPrefix(tail, "{") {
			return fail("two expressions without a literal between them")
		}
		out.vars, rest = append(out.vars, name), tail
	}
	if len(out.vars) == 0 {
		return fail("no expression: a resource of its own")
	}
	return out, nil
}

// match finds what the expressions stand for. Each matches as little as it can,
// at least one character, and no slash.
func (t *serverTemplate) match(uri string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(uri, t.literals[0])
	if !ok {
		return nil, false
	}
	vars := make(map[string]string, len(t.vars))
	for i, name := range t.vars {
		value := rest
		if next := t.literals[i+1]; next != "" {
			if value, rest, ok = strings.Cut(rest, next); !ok {
				return nil, false
			}
		} else {
			rest = ""
		}
		if value == "" || strings.Contains(value, "/") {
			return nil, false
		}
		var err error
		if vars[name], err = url.PathUnescape(value); err != nil {
			return nil, false
		}
	}
	return vars, rest == ""
}
