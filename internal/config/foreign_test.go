package config_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func warnings(c *config.Config) []string {
	var out []string
	for _, w := range c.Warnings {
		out = append(out, w.String())
	}
	return out
}

func TestDesktopFile(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "/home/me/claude_desktop_config.json", `{
	"globalShortcut": "Ctrl+Space",
	"mcpServers": {
		// the first
		"filesystem": {
			"command": "npx",
			"args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/Desktop"],
			"autoApprove": ["read_file"],
			"alwaysAllow": [],
			"timeout": 60,
		},
		"off": {"command": "x", "disabled": true, "autoApprove": [], "env": {"A": "${NEVER_SET:-}"}},
		"off2": {"command": "x", "enabled": false},
		"remote": {"type": "streamableHttp", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}", "Accept": "application/json"}, "autoApprove": []},
		"windsurf": {"serverUrl": "https://x/sse", "env": null, "command": ""},
		"cline": {"transportType": "sse", "url": "https://x/sse", "brandNew": 1},
	},
}`)
	want := []config.Server{
		server("filesystem", func(s *config.Server) {
			s.Command, s.Args = "npx", []string{"-y", "@modelcontextprotocol/server-filesystem", "/home/me/Desktop"}
		}),
		server("remote", func(s *config.Server) {
			s.Kind, s.URL = config.HTTP, "https://mcp.example.com/mcp"
			s.Headers = map[string]config.Secret{"Authorization": "Bearer s3cr3t-token"}
		}),
		server("windsurf", func(s *config.Server) { s.Kind, s.URL = config.HTTP, "https://x/sse" }),
		server("cline", func(s *config.Server) { s.Kind, s.SSEFirst, s.URL = config.HTTP, true, "https://x/sse" }),
	}
	if diff := cmp.Diff(want, c.Servers, ignoreSecrets); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"off", "off2"}, c.Disabled); diff != "" {
		t.Error(diff)
	}
	const f = "/home/me/claude_desktop_config.json:"
	if diff := cmp.Diff([]string{
		f + `2:2: "globalShortcut" means nothing here and is ignored`,
		f + `8:4: "autoApprove" means nothing here and is ignored (filesystem, off, remote)`,
		f + `9:4: "alwaysAllow" means nothing here and is ignored (filesystem)`,
		f + `10:4: mcpServers.filesystem.timeout: 60 of what? Some clients mean seconds, others milliseconds: ignored; write "60s" or "60ms"`,
		f + `14:3: mcpServers.remote: header "Accept" is the bridge's own: ignored`,
		f + `16:61: "brandNew" means nothing here and is ignored (cline)`,
	}, warnings(c)); diff != "" {
		t.Error(diff)
	}
}

func TestVSCodeFile(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "/src/app/.vscode/mcp.json", `{
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "Key", "password": true},
    {"type": "pickString", "id": "mode", "options": ["a", "b"], "default": "a"}
  ],
  "servers": {
    "local": {
      "type": "stdio",
      "command": "node",
      "args": ["${workspaceFolder}/server.js", "${input:mode}"],
      "env": {"KEY": "${input:api-key}", "A": "own"},
      "envFile": "/etc/mcp/x.env",
      "dev": {"watch": "src/**"}
    },
    "remote": {"type": "http", "url": "https://api.example.com/mcp", "gallery": true},
    "older": {"type": "sse", "url": "https://api.example.com/sse"}
  }
}`)
	want := []config.Server{
		server("local", func(s *config.Server) {
			s.Command, s.Args = "node", []string{"/src/app/server.js", "a"}
			s.Env = map[string]config.Secret{"KEY": "from-env", "A": "own", "B": "two words", "TOKEN": "abcdefgh"}
		}),
		server("remote", func(s *config.Server) { s.Kind, s.URL = config.HTTP, "https://api.example.com/mcp" }),
		server("older", func(s *config.Server) { s.Kind, s.SSEFirst, s.URL = config.HTTP, true, "https://api.example.com/sse" }),
	}
	if diff := cmp.Diff(want, c.Servers, ignoreSecrets); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`/src/app/.vscode/mcp.json:13:7: "dev" means nothing here and is ignored (local)`,
		`/src/app/.vscode/mcp.json:15:70: "gallery" means nothing here and is ignored (remote)`,
	}, warnings(c)); diff != "" {
		t.Error(diff)
	}
}

func TestOurOwnFileStaysStrict(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "x.yaml", "servers:\n  a: {command: x, autoApprove: [y], disabled: false}\n  b: {command: x, disabled: true}\n")
	if diff := cmp.Diff([]string{`x.yaml:2:19: "autoApprove" means nothing here and is ignored (a)`}, warnings(c)); diff != "" {
		t.Error(diff)
	}
	if len(c.Servers) != 1 || len(c.Disabled) != 1 {
		t.Errorf("%d servers, %d disabled", len(c.Servers), len(c.Disabled))
	}
}

func TestFileWithoutAName(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{\n\t\"servers\": {\"a\": {\"command\": \"x\"}}}", // JSON with tabs
		"{servers: {a: {command: x}}}",                     // YAML that looks like it
		"\xef\xbb\xbfservers:\n  a:\n    command: x\n",     // a byte order mark
		"x: &x {command: x}\n",                             // refused below
	} {
		c, err := config.Parse("mcp.conf", []byte(text), options())
		if text[0] == 'x' {
			if err == nil {
				t.Error("an unknown key is no error")
			}
			continue
		}
		if err != nil || len(c.Servers) != 1 || c.Servers[0].Command != "x" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestYAMLFeatures(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "x.yaml", `# comment
servers:
  base: &base
    command: x
    timeout: 5s
    env: {A: !!str 1}
    args:
      - |
        two
        lines
      - 'it''s'
      - "tab\t"
  derived:
    <<: *base
    timeout: 6s
  third: {<<: [*base], command: "y"}
`)
	args := []string{"two\nlines\n", "it's", "tab\t"}
	for i, want := range []struct{ command, timeout string }{{"x", "5s"}, {"x", "6s"}, {"y", "5s"}} {
		s := c.Servers[i]
		if s.Command != want.command || s.Timeout.String() != want.timeout || s.Env["A"].Reveal() != "1" || !cmp.Equal(s.Args, args) {
			t.Errorf("%s: %q, %s, %q, %q", s.Name, s.Command, s.Timeout, s.Env["A"].Reveal(), s.Args)
		}
	}
}
