package config

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// Keys that other clients are known to write and that mean nothing here. In a
// file of ours, which is strict, only these are let through.
var (
	foreignTopKeys = set("$schema", "inputs", "sandbox", "globalShortcut", "preferences")
	handledTopKeys = set("$schema", "inputs")
	foreignKeys    = set("autoApprove", "alwaysAllow", "disabledTools", "enabledTools", "description", "dev", "gallery", "version",
		"sandbox", "sandboxEnabled", "oauth", "icon", "metadata", "includeTools", "excludeTools", "trust", "instructions")
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// looksForeign says whether a file was written for another client: it has
// `mcpServers`, or `servers` beside `inputs` or with keys that only VS Code has
// there.
func looksForeign(root *node) bool {
	if root.kind != isMap {
		return false
	}
	for _, p := range root.pairs {
		switch {
		case p.key == "mcpServers", p.key == "inputs":
			return true
		case p.key == "servers" && p.val.kind == isMap:
			for _, s := range p.val.pairs {
				if s.val.kind == isMap && s.val.get("dev", "gallery", "envFile", "sandboxEnabled") != nil {
					return true
				}
			}
		}
	}
	return false
}

// get returns the value of the first of keys that a map has.
func (n *node) get(keys ...string) *node {
	for _, key := range keys {
		for _, p := range n.pairs {
			if p.key == key {
				return p.val
			}
		}
	}
	return nil
}

// takeInputs reads what VS Code would ask its user, for the defaults.
func (d *decoder) takeInputs(root *node) {
	if root.kind != isMap {
		return
	}
	inputs := root.get("inputs")
	if inputs == nil {
		return
	}
	d.expand.inputs = map[string]input{}
	for _, item := range inputs.items {
		id := item.get("id")
		if id == nil {
			continue
		}
		in := input{}
		if fallback := item.get("default"); fallback != nil && fallback.kind == isString {
			in = input{fallback.text, true}
		}
		d.expand.inputs[id.text] = in
	}
}

// translate takes the keys of an entry that other clients spell in their own
// way, and returns the rest.
func (d *decoder) translate(n *node, s *Server, typ *string, disabled *bool, path string) *node {
	if n.kind != isMap {
		return n
	}
	rest := &node{kind: isMap, at: n.at}
	for _, p := range n.pairs {
		switch p.key {
		case "transport", "transportType":
			if p.val.kind == isString && n.get("type") == nil {
				d.text(typ, path+"."+p.key)(p.val)
				continue
			}
		case "serverUrl", "httpUrl":
			if n.get("url") == nil {
				d.url(&s.URL, path+"."+p.key)(p.val)
				continue
			}
		case "enabled", "isActive":
			if p.val.kind == isBool {
				*disabled = strings.EqualFold(p.val.text, "false")
				continue
			}
		case "envFile":
			d.envFile(s, path+".envFile", p.val)
			continue
		case "timeout":
			if p.val.kind == isNumber {
				d.warnf(p.at, "%s.timeout: %s of what? Some clients mean seconds, others milliseconds: ignored; write \"%ss\" or \"%sms\"", path, p.val.text, p.val.text, p.val.text)
				continue
			}
		case "url", "command":
			if p.val.kind == isNull || p.val.kind == isString && p.val.text == "" {
				continue // left empty by a form
			}
		case "args", "env", "headers", "cwd", "type":
			if p.val.kind == isNull {
				continue
			}
		}
		rest.pairs = append(rest.pairs, p)
	}
	return rest
}

// envFile reads NAME=VALUE lines. What `env` says wins.
func (d *decoder) envFile(s *Server, path string, n *node) {
	name := ""
	if d.path(&name, path)(n); name == "" {
		return
	}
	data, err := d.expand.read(name, maxIncludeBytes)
	if err != nil {
		d.errorf(n.at, "%s: %v", path, err)
		return
	}
	env := map[string]Secret{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxIncludeBytes+1)
	for no := 1; lines.Scan(); no++ {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export ")
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), unquote(strings.TrimSpace(value))
		if err := checkEnv(key, value); !ok || err != nil {
			d.errorf(n.at, "%s: %s:%d: want NAME=VALUE", path, filepath.Base(name), no)
			return
		}
		env[key] = Secret(value)
		d.put = append(d.put, value)
	}
	s.Env = env
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func checkEnv(name, value string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("%s is no name of a variable", quote(name))
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("%s holds a NUL", quote(name))
	}
	return nil
}
