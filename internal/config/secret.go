package config

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// A Secret is a text that no log and no message shows. Reveal is for those who
// hand it on.
type Secret string

const redacted = "[redacted]"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// Format keeps the text out of every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// LogValue keeps the text out of logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the text out of JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Target says for people where the server is: its command without arguments, or
// its URL without what may be secret in it.
func (s Server) Target() string {
	if s.Kind == Stdio {
		return s.Command
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return redacted
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// String shows neither values of the environment, nor headers, nor arguments.
func (s Server) String() string {
	if s.Kind == Stdio {
		return fmt.Sprintf("%s (stdio: %s, %d arguments)", s.Name, s.Target(), len(s.Args))
	}
	return fmt.Sprintf("%s (http: %s)", s.Name, s.Target())
}

// GoString is String: %#v would show all else.
func (s Server) GoString() string { return s.String() }

// LogValue shows what String does, as attributes.
func (s Server) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("name", s.Name), slog.String("type", s.Kind.String()), slog.String("target", s.Target())}
	if s.Kind == Stdio {
		attrs = append(attrs, slog.Int("args", len(s.Args)), slog.Any("env", names(s.Env)))
	} else {
		attrs = append(attrs, slog.Any("headers", names(s.Headers)))
	}
	return slog.GroupValue(attrs...)
}

func names(m map[string]Secret) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Secrets returns the texts of s that should not appear in what its process
// writes to standard error, or in any message: what came from the environment or
// a file, and what has a telling name. The longest come first, so that one that
// holds another is found.
func (s Server) Secrets() []string {
	found := slices.Clone(s.secrets)
	for name, v := range s.Env {
		if telling(name) {
			found = append(found, v.Reveal())
		}
	}
	for name, v := range s.Headers {
		if telling(name) {
			_, credentials, _ := strings.Cut(v.Reveal(), " ") // "Bearer …"
			found = append(found, v.Reveal(), credentials)
		}
	}
	if u, err := url.Parse(s.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		found = append(found, password)
	}
	const shortest = 6 // less would blot out ordinary words
	found = slices.DeleteFunc(found, func(v string) bool { return len(v) < shortest })
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(found)
}

// telling says whether values of that name are secret as a rule.
func telling(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASS", "KEY", "AUTH", "CRED", "COOKIE", "SESSION", "DSN"},
		func(word string) bool { return strings.Contains(name, word) })
}
