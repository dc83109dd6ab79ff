package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want []string // command and arguments
		err  string
	}{
		{in: "a=npx -y server /srv/data", want: []string{"npx", "-y", "server", "/srv/data"}},
		{in: `a=sh -c 'echo "$HOME" | cat'`, want: []string{"sh", "-c", `echo "$HOME" | cat`}},
		{in: `a=x "a b" "" '' c\ d "e\"\\\$\n" 'f\' g""h`, want: []string{"x", "a b", "", "", "c d", `e"\$\n`, `f\`, "gh"}},
		{in: "a=\t x\n y\\\nz $NOT * ; & > ", want: []string{"x", "yz", "$NOT", "*", ";", "&", ">"}},
		{in: "a=env X=http://y x", want: []string{"env", "X=http://y", "x"}},
		{in: `a=C:\\x`, want: []string{`C:\x`}},
		{in: `a=x 'y`, err: "server a: no closing ' in the command line"},
		{in: `a=x "y\"`, err: `server a: no closing " in the command line`},
		{in: `a=x \`, err: "server a: a backslash at the end of the command line"},
		{in: "a=", err: "server a: no command"},
		{in: "a=''", err: "server a: no command"},
		{in: "a=x \x00", err: "server a: a NUL in the command line"},
		{in: "npx", err: `want NAME=TARGET, not "npx"`},
		{in: "=x", err: `"" is no name of a server: want 1 to 64 letters, digits, dots, hyphens and underscores`},
		{in: "a/b=http://x/", err: `"a/b" is no name of a server: want 1 to 64 letters, digits, dots, hyphens and underscores`},
		{in: "a=http:///x", err: "server a: the URL names no host"},
	} {
		s, err := config.ParseNamed(c.in)
		if got := errText(err); got != c.err {
			t.Errorf("%s: %q, want %q", c.in, got, c.err)
		}
		if err == nil && !cmp.Equal(append([]string{s.Command}, s.Args...), c.want) {
			t.Errorf("%s: %q %q, want %q", c.in, s.Command, s.Args, c.want)
		}
	}
	got, err := config.ParseNamed("a.b-c_1=HTTPS://x.example/mcp?k=v")
	want := server("a.b-c_1", func(s *config.Server) { s.Kind, s.URL = config.HTTP, "HTTPS://x.example/mcp?k=v" })
	if diff := cmp.Diff(want, got, ignoreSecrets); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestChildEnv(t *testing.T) {
	t.Parallel()
	s := config.DefaultServer("a")
	s.Env = map[string]config.Secret{"B": "own", "HOME": "/own"}
	got := s.ChildEnv([]string{"PATH=/bin", "PATH=/usr/bin", "HOME=/home/me", "LC_ALL=C", "LC_=x", "LCX=no", "SECRET=no", "LANG=", "=C:=x", "broken", "TERM=a=b"})
	if diff := cmp.Diff([]string{"B=own", "HOME=/own", "LANG=", "LC_=x", "LC_ALL=C", "PATH=/usr/bin", "TERM=a=b"}, got); diff != "" {
		t.Error(diff)
	}
	s.EnvInherit = []string{"*"}
	if got := s.ChildEnv([]string{"X=1"}); !cmp.Equal(got, []string{"B=own", "HOME=/own", "X=1"}) {
		t.Errorf("* inherits %q", got)
	}
	s.EnvInherit, s.Env = nil, nil
	if got := s.ChildEnv([]string{"PATH=/bin"}); len(got) != 0 {
		t.Errorf("nothing inherits %q", got)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	before := mustParse(t, "x.yaml", `
watch_buffer: 5
servers:
  same: {command: x, env: {A: "1"}}
  gone: {command: x}
  limits: {command: x}
  secret: {command: x, env: {A: "1"}}
  moved: {url: "http://a/"}
`)
	after := mustParse(t, "y.yaml", `
watch_buffer: 6
cors: {allowed_origins: []}
servers:
  moved: {type: sse, url: "http://b/"}
  new: {command: x}
  secret: {command: x, env: {A: "2"}, timeout: 1s}
  limits: {command: x, timeout: 1s, max_sessions: 5, restart: {max: 1m}}
  same: {command: x, args: [], env: {A: "${NONE:-1}"}}
`)
	want := config.Changes{
		Global:  []string{"watch_buffer"},
		Added:   []string{"new"},
		Removed: []string{"gone"},
		Changed: []config.ServerChange{
			{Name: "moved", Keys: []string{"type", "url"}, Relink: true},
			{Name: "secret", Keys: []string{"env", "timeout"}, Relink: true},
			{Name: "limits", Keys: []string{"max_sessions", "restart", "timeout"}},
		},
	}
	if diff := cmp.Diff(want, config.Diff(before, after)); diff != "" {
		t.Error(diff)
	}
	if same := config.Diff(before, before); !same.Empty() || config.Diff(before, after).Empty() {
		t.Errorf("Empty is wrong: %+v", same)
	}
}
