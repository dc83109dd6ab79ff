package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// style says how texts look on one output.
type style struct{ terminal, colour bool }

func (s style) paint(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }

// clean takes control characters out of a server's text where a terminal would
// obey them.
func (s style) clean(text string) string {
	if !s.terminal {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !isDirection(r) {
			return r
		}
		return -1
	}, escapes.ReplaceAllString(text, ""))
}

// escapes are the sequences that terminals obey: CSI, OSC, and those of two
// characters (ECMA-48, section 5).
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -Z^-~])?`)

// isDirection tells the characters that make a terminal show text in another
// order than it has.
func isDirection(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// oneLine makes text fit for a line of a table, terminal or not.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), isDirection(r):
			return -1
		}
		return r
	}, escapes.ReplaceAllString(text, ""))), " ")
}

// columns counts the terminal columns that text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut shortens text to limit columns; 0 is no limit.
func cut(text string, limit int) string {
	if limit <= 0 || columns(text) <= limit {
		return text
	}
	n := 0
	for i, r := range text {
		if n += runeColumns(r); n > limit-1 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

// wrap breaks text into lines of at most limit columns; its own line breaks stay.
func wrap(text string, limit int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line, used := "", 0
		for word := range strings.FieldsSeq(paragraph) {
			n := columns(word)
			if limit > 0 && used > 0 && used+1+n > limit {
				lines = append(lines, line)
				line, used = "", 0
			}
			if used > 0 {
				line, used = line+" ", used+1
			}
			line, used = line+word, used+n
		}
		lines = append(lines, line)
	}
	return lines
}

// byteSize writes a size for people.
func byteSize(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}

// layOut writes JSON with indentation, or without any white space.
func layOut(b []byte, indent bool) (string, error) {
	var buf bytes.Buffer
	var err error
	if indent {
		err = json.Indent(&buf, b, "", "  ")
	} else {
		err = json.Compact(&buf, b)
	}
	if err != nil {
		return "", fmt.Errorf("not valid JSON: %w", err)
	}
	return buf.String(), nil
}
