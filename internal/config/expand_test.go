package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

func TestExpansion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"${TOKEN}", "s3cr3t-token"},
		{"a${TOKEN}b${MAX}c", "as3cr3t-tokenb7c"},
		{"${EMPTY}", ""},
		{"${EMPTY:-x}", "x"},
		{"${NONE:-}", ""},
		{"${NONE:-a:-b}", "a:-b"},
		{"${NONE:-${ALSO:-${MAX}}}!", "7!"},
		{"${MAX:-${NONE}}", "7"}, // a default that is not needed is not looked at
		{"${file:/run/key}", "0123456789abcdef"},
		{"${file:../../run/key}", "0123456789abcdef"}, // from the folder of the configuration
		{"$${TOKEN}", "${TOKEN}"},
		{"pa$$word $HOME $(x) $", "pa$$word $HOME $(x) $"},
		{"{${MAX}}", "{7}"},
		{"${env:MAX}", "7"},
		{"${userHome}/x", "/home/me/x"},
		{"${workspaceFolder}${/}x", "/etc/mcp/x"},
		{"${workspaceFolderBasename}", "mcp"},
		{"${input:api-key}", "from-env"},
	} {
		text := fmt.Sprintf("servers: {a: {command: %q}}\n", "x"+c.in)
		cfg := mustParse(t, "/etc/mcp/x.yaml", text)
		if got := cfg.Servers[0].Command; got != "x"+c.want {
			t.Errorf("%s became %q, want %q", c.in, got, "x"+c.want)
		}
	}
}

func TestExpansionNeverChangesTheStructure(t *testing.T) {
	t.Parallel()
	o := options()
	o.LookupEnv = func(string) (string, bool) { return "y\n    url: http://evil/\n    args: [\"${TOKEN}\"]", true }
	c, err := config.Parse("x.yaml", []byte("servers:\n  a:\n    command: ${X}\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	want := server("a", func(s *config.Server) { s.Command = "y\n    url: http://evil/\n    args: [\"${TOKEN}\"]" })
	if diff := cmp.Diff(want, c.Servers[0], ignoreSecrets); diff != "" {
		t.Error(diff)
	}
}

func TestExpansionIsBounded(t *testing.T) {
	t.Parallel()
	o := options()
	o.LookupEnv = func(string) (string, bool) { return strings.Repeat("x", 1<<19), true }
	_, err := config.Parse("x.yaml", []byte("servers: {a: {command: '${A}${A}${A}'}}\n"), o)
	if got, want := errText(err), "x.yaml:1:24: servers.a.command: more than 1048576 bytes"; got != want {
		t.Errorf("got %q", got)
	}
	_, err = config.Parse("x.yaml", []byte("servers: {a: {command: '"+strings.Repeat("${N:-", 50)+strings.Repeat("}", 50)+"'}}\n"), options())
	if got, want := errText(err), "x.yaml:1:24: servers.a.command: defaults nested more than 8 deep"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "x.yaml", `
servers:
  a:
    command: ${HOME}/bin/x
    args: [--token, "${TOKEN}", --in, "${HOME}/data"]
    env: {API_KEY: hunter22, MODE: production, SHORT_KEY: abc, OTHER: "p-${TOKEN}"}
  b:
    url: http://me:passw0rd@host/path?key=query-secret
    headers: {Authorization: Bearer abcdefgh, X-Mode: production}
`)
	a, b := c.Servers[0], c.Servers[1]
	if diff := cmp.Diff([]string{"s3cr3t-token", "hunter22"}, a.Secrets()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Bearer abcdefgh", "abcdefgh", "passw0rd"}, b.Secrets()); diff != "" {
		t.Error(diff)
	}
	var logged strings.Builder
	for _, s := range []config.Server{a, b} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&logged, format+"\n", s)
			fmt.Fprintf(&logged, format+"\n", s.Env)
			fmt.Fprintf(&logged, format+"\n", s.Headers["Authorization"])
		}
		newLogger(&logged).Info("server", "server", s, "env", s.Env, "one", s.Headers["Authorization"])
	}
	fmt.Fprintf(&logged, "%+v", *c)
	for _, secret := range append(append(a.Secrets(), b.Secrets()...), "production", "query-secret", "me:", "p-s3") {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("%q is shown in\n%s", secret, logged.String())
		}
	}
	for _, shown := range []string{"API_KEY", "Authorization", "a (stdio: /home/me/bin/x, 4 arguments)", "b (http: http://host/path)", "target=http://host/path"} {
		if !strings.Contains(logged.String(), shown) {
			t.Errorf("%q is not shown in\n%s", shown, logged.String())
		}
	}
}
