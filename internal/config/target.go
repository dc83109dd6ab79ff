package config

import (
	"errors"
	"fmt"
	"strings"
)

// ParseTarget makes a server of a piece of a command line: a URL, or a command
// line that is split as a shell would split it. No shell runs, and nothing is
// expanded: the caller's shell has done that.
func ParseTarget(name, target string) (Server, error) {
	if hasScheme(target) {
		if !validName(name) {
			return Server{}, badName(name)
		}
		if err := checkURL(target); err != nil {
			return Server{}, fmt.Errorf("server %s: %w", name, err)
		}
		s := DefaultServer(name)
		s.Kind, s.URL = HTTP, target
		return s, nil
	}
	words, err := splitWords(target)
	if err != nil {
		return Server{}, fmt.Errorf("server %s: %w", name, err)
	}
	return FromCommand(name, words)
}

// ParseNamed takes NAME=TARGET apart for ParseTarget.
func ParseNamed(s string) (Server, error) {
	name, target, ok := strings.Cut(s, "=")
	if !ok {
		return Server{}, fmt.Errorf("want NAME=TARGET, not %s", quote(s))
	}
	return ParseTarget(name, target)
}

// FromCommand makes a server of a command and its arguments.
func FromCommand(name string, words []string) (Server, error) {
	switch {
	case !validName(name):
		return Server{}, badName(name)
	case len(words) == 0 || words[0] == "":
		return Server{}, fmt.Errorf("server %s: no command", name)
	}
	s := DefaultServer(name)
	s.Command = words[0]
	s.Args = append([]string(nil), words[1:]...)
	return s, nil
}

func badName(name string) error {
	return fmt.Errorf("%s is no name of a server: want 1 to 64 letters, digits, dots, hyphens and underscores", quote(name))
}

func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// splitWords splits a line into words by the rules of a POSIX shell (XCU 2.2):
// single quotes keep everything, double quotes keep all but \" \\ \$ \` and a
// backslash before a newline, a backslash outside keeps the next character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i++; i == len(line) {
				return nil, errors.New("a backslash at the end of the command line")
			}
			if quote == '"' && strings.IndexByte("\"\\$`\n", line[i]) < 0 {
				word.WriteByte(c)
			}
			if line[i] != '\n' { // else the line goes on
				word.WriteByte(line[i])
				in = true
			}
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case c == 0:
			return nil, errors.New("a NUL in the command line")
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("no closing %c in the command line", quote)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
