package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors is how many errors of one file are told; maxWarnings likewise.
const (
	maxErrors   = 20
	maxWarnings = 50
)

// An Error is one thing that is wrong, and where.
type Error struct {
	File string
	Line int // from 1; 0: not known, or the file as a whole
	Col  int // in characters, from 1
	Text string
}

func (e *Error) Error() string { return place(e.File, e.Line, e.Col) + e.Text }

// Errors are all that is wrong with a file, in its order.
type Errors []*Error

func (e Errors) Error() string {
	var b strings.Builder
	for i, err := range e {
		if i == maxErrors {
			fmt.Fprintf(&b, "\n… and %d more", len(e)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns each of them.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// A Warning is something in a file that has no effect.
type Warning struct {
	File      string
	Line, Col int
	Text      string
}

func (w Warning) String() string { return place(w.File, w.Line, w.Col) + w.Text }

func place(file string, line, col int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return file + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", file, line, col)
}

func inOrder(a, b *Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) }

// notes collects what is wrong with, or odd about, one file.
type notes struct {
	file     string
	errs     Errors
	warnings []Warning
	ignored  map[string]*ignoredKey
}

func (n *notes) errorf(at pos, format string, args ...any) {
	n.errs = append(n.errs, &Error{File: n.file, Line: at.line, Col: at.col, Text: fmt.Sprintf(format, args...)})
}

func (n *notes) warnf(at pos, format string, args ...any) {
	n.warnings = append(n.warnings, Warning{File: n.file, Line: at.line, Col: at.col, Text: fmt.Sprintf(format, args...)})
}

// An ignoredKey is a key of another client. Each is named once, however many
// servers have it.
type ignoredKey struct {
	at      pos
	servers []string
}

func (n *notes) ignore(key string, at pos, server string) {
	if n.ignored == nil {
		n.ignored = map[string]*ignoredKey{}
	}
	k := n.ignored[key]
	if k == nil {
		k = &ignoredKey{at: at}
		n.ignored[key] = k
	}
	if server != "" && !slices.Contains(k.servers, server) {
		k.servers = append(k.servers, server)
	}
}

// done returns what was collected.
func (n *notes) done() ([]Warning, error) {
	for key, k := range n.ignored {
		of := ""
		if len(k.servers) > 0 {
			of = " (" + list(k.servers, 5) + ")"
		}
		n.warnf(k.at, "%q means nothing here and is ignored%s", key, of)
	}
	slices.SortStableFunc(n.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Text, b.Text))
	})
	if more := len(n.warnings) - maxWarnings; more > 0 {
		n.warnings = append(n.warnings[:maxWarnings], Warning{File: n.file, Text: fmt.Sprintf("… and %d more such keys", more)})
	}
	if len(n.errs) == 0 {
		return n.warnings, nil
	}
	slices.SortStableFunc(n.errs, inOrder)
	return n.warnings, n.errs
}

// list writes at most limit words.
func list(words []string, limit int) string {
	if more := len(words) - limit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:limit], ", "), more)
	}
	return strings.Join(words, ", ")
}
