package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	maxValueBytes   = 1 << 20 // of an expanded text
	maxIncludeBytes = 1 << 20 // of a ${file:…}
	maxNesting      = 8       // of defaults
)

// expander puts variables and files into texts:
//
//	${NAME}            the environment variable; an error where it is not set
//	${NAME:-default}   the same, or the default where it is not set or empty
//	${file:/path}      a file, without the newline at its end
//	$${                the two characters ${
//
// A $ before anything else is a $. The forms of other clients work too:
// ${env:NAME}, ${userHome}, ${workspaceFolder}, ${/} and ${input:id}. A text is
// expanded after the file was parsed, so nothing that is put in can change the
// structure.
type expander struct {
	lookup func(string) (string, bool)
	read   func(path string, limit int64) ([]byte, error)
	dir    string           // of the configuration
	inputs map[string]input // of VS Code, by id
}

// An input is what VS Code would ask its user.
type input struct {
	fallback    string
	hasFallback bool
}

// expand returns s with everything put in, and the texts that were.
func (x *expander) expand(s string) (out string, put []string, err error) {
	out, err = x.text(s, 0, &put)
	return out, put, err
}

func (x *expander) text(s string, depth int, put *[]string) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	if depth > maxNesting {
		return "", fmt.Errorf("defaults nested more than %d deep", maxNesting)
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' { // $${
			b.WriteString(s[:i-1])
			b.WriteString("${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		end := closing(s[i:])
		if end < 0 {
			return "", fmt.Errorf("%s has no closing brace (write $${ for the characters ${)", quote(s[i:]))
		}
		value, secret, err := x.variable(s[i+2:i+end], depth, put)
		if err != nil {
			return "", err
		}
		if secret {
			*put = append(*put, value)
		}
		if b.Len()+len(value) > maxValueBytes {
			return "", fmt.Errorf("more than %d bytes", maxValueBytes)
		}
		b.WriteString(value)
		s = s[i+end+1:]
	}
	return b.String(), nil
}

// closing finds the brace that closes the ${ at the beginning of s.
func closing(s string) int {
	open := 0
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '{' && s[i-1] == '$':
			open++
		case s[i] == '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// variable returns what stands for ${what}, and whether it may be secret.
func (x *expander) variable(what string, depth int, put *[]string) (value string, secret bool, err error) {
	if path, ok := strings.CutPrefix(what, "file:"); ok {
		value, err = x.file(path)
		return value, true, err
	}
	if id, ok := strings.CutPrefix(what, "input:"); ok {
		value, err = x.input(id)
		return value, true, err
	}
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(what, "env:"), ":-")
	if value, ok := x.foreign(name); ok {
		return value, false, nil
	}
	if !validEnvName(name) {
		return "", false, fmt.Errorf("%s is no variable: want ${NAME}, ${NAME:-default} or ${file:/path} (write $${ for the characters ${)", quote("${"+what+"}"))
	}
	value, set := x.env(name)
	switch {
	case set && (value != "" || !hasFallback):
		return value, !wellKnown(name), nil
	case hasFallback:
		value, err = x.text(fallback, depth+1, put)
		return value, false, err
	}
	return "", false, fmt.Errorf("the environment variable %s is not set (${%s:-default} has a default)", name, name)
}

func (x *expander) env(name string) (string, bool) {
	if x.lookup == nil {
		return "", false
	}
	return x.lookup(name)
}

func (x *expander) file(path string) (string, error) {
	if path == "" || x.read == nil {
		return "", errors.New("${file:} names no file")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(x.dir, path)
	}
	data, err := x.read(path, maxIncludeBytes)
	if err != nil {
		return "", fmt.Errorf("${file:}: %w", err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", fmt.Errorf("${file:%s}: not a text", path)
	}
	return text, nil
}

// input answers in place of the user whom VS Code would ask.
func (x *expander) input(id string) (string, error) {
	name := "INPUT_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, id)
	if value, ok := x.env(name); ok {
		return value, nil
	}
	if in := x.inputs[id]; in.hasFallback {
		return in.fallback, nil
	}
	return "", fmt.Errorf("${input:%s}: nobody can be asked here: set the environment variable %s", id, name)
}

// foreign knows the variables of other clients that are no environment variables.
func (x *expander) foreign(name string) (string, bool) {
	switch name {
	case "userHome":
		return x.env("HOME")
	case "workspaceFolder":
		return x.workspace(), true
	case "workspaceFolderBasename":
		return filepath.Base(x.workspace()), true
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	return "", false
}

// workspace is the folder that holds a project's configuration, or whose .vscode
// does.
func (x *expander) workspace() string {
	if base := filepath.Base(x.dir); base == ".vscode" || base == ".cursor" {
		return filepath.Dir(x.dir)
	}
	return x.dir
}

// wellKnown variables are no secrets; to blot them out would spoil messages.
func wellKnown(name string) bool {
	switch name {
	case "HOME", "USER", "LOGNAME", "PATH", "PWD", "SHELL", "LANG", "TMPDIR", "HOSTNAME", "PORT":
		return true
	}
	return false
}

func validEnvName(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
