package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

func TestErrorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		// syntax
		{"x.yaml", "a: [1,\n", "x.yaml:1:4: not valid YAML: sequence end token ']' not found"},
		{"x.yaml", "a:\n\tb: 1\n", "x.yaml:2:1: not valid YAML: found character '\t' that cannot start any token"},
		{"x.yaml", "listen: :1\n---\nlisten: :2\n", "x.yaml:3:1: a second document: a configuration is one"},
		{"x.yaml", "servers: *none\n", `x.yaml:1:10: no anchor "none" before this alias`},
		{"x.yaml", "listen: !!binary aGk=\n", `x.yaml:1:9: tag "!!binary": not understood here`},
		{"x.yaml", "- a\n", "x.yaml:1:1: want a map, not a list"},
		{"x.yaml", strings.Repeat("[", 100), "x.yaml:1:65: nested more than 64 deep"},
		{"x.yaml", strings.Repeat("- ", 100), "x.yaml:1:129: nested more than 64 deep"},
		{"x.json", "{\n\t\"servers\": {,}}", `x.json:2:14: unexpected ",": want a key in double quotes`},
		{"x.json", `{"a" 1}`, `x.json:1:6: unexpected "1": want a colon after key "a"`},
		{"x.json", `{"a": [1 2]}`, `x.json:1:10: unexpected "2": want a comma or ']'`},
		{"x.json", `{"é": yes}`, `x.json:1:7: "yes" is no value: texts stand in double quotes`},
		{"x.json", `{"é": 01}`, `x.json:1:7: "01" is no value: texts stand in double quotes`},
		{"x.json", `{"a": "b`, "x.json:1:7: text without closing quote"},
		{"x.json", `{"a": "\q"}`, `x.json:1:7: not a valid text: invalid character 'q' in string escape code`},
		{"x.json", `{} x`, `x.json:1:4: unexpected "x" after the end`},
		{"x.json", "{ /* x", "x.json:1:3: comment without end"},
		{"x.json", "", "x.json:1:1: unexpected end of file"},
		{"x.json", strings.Repeat("[", 100), "x.json:1:66: nested more than 64 deep"},
		// keys
		{"x.yaml", "lisen: :1\n", `x.yaml:1:1: unknown key "lisen": did you mean "listen"?`},
		{"x.yaml", "colour: red\n", `x.yaml:1:1: unknown key "colour"`},
		{"x.yaml", "listen: :1\nlisten: :2\n", `x.yaml:2:1: duplicate key "listen", first in line 1`},
		{"x.json", "{\"servers\": {\"a\": {\"command\": \"x\",\n  \"comand\": 1}}}", `x.json:2:3: unknown key "comand" in servers.a: did you mean "command"?`},
		{"x.yaml", "servers:\n  a:\n    command: x\n    maxSessions: 1\n", `x.yaml:4:5: unknown key "maxSessions" in servers.a: did you mean "max_sessions"?`},
		{"x.yaml", "servers:\n  a: {command: x, restart: {intial: 1s}}\n", `x.yaml:2:29: unknown key "intial" in servers.a.restart: did you mean "initial"?`},
		{"x.yaml", "servers:\n  a: {command: x}\n  a: {command: y}\n", `x.yaml:3:3: servers: two servers are named "a", the first in line 2`},
		{"x.yaml", "servers:\n  a: {command: x}\nmcpServers:\n  a: {command: y}\n", `x.yaml:4:3: mcpServers: two servers are named "a", the first in line 2`},
		{"x.yaml", "servers:\n  a b: {command: x}\n", `x.yaml:2:3: servers: "a b" is no name: want 1 to 64 letters, digits, dots, hyphens and underscores`},
		{"x.yaml", "servers: {a: {command: x, env: {A: '1', A: '2'}}}\n", `x.yaml:1:41: servers.a.env: duplicate key "A", first in line 1`},
		// types
		{"x.yaml", "servers: [a]\n", "x.yaml:1:10: servers: want a map of servers by name, not a list"},
		{"x.yaml", "servers:\n  a: npx\n", `x.yaml:2:6: servers.a: want a map, not the text "npx"`},
		{"x.yaml", "servers:\n  a:\n", "x.yaml:2:6: servers.a: want a map, not null"},
		{"x.yaml", "servers: {a: {command: 5}}\n", `x.yaml:1:24: servers.a.command: want a text, not the number 5: write "5"`},
		{"x.yaml", "servers: {a: {command: x, args: -y}}\n", `x.yaml:1:33: servers.a.args: want a list of texts, not the text "-y": write ["-y"]`},
		{"x.yaml", "servers: {a: {command: x, args: [a, 8080]}}\n", `x.yaml:1:37: servers.a.args[1]: want a text, not the number 8080: write "8080"`},
		{"x.yaml", "servers: {a: {command: x, env: {DEBUG: true}}}\n", `x.yaml:1:40: servers.a.env.DEBUG: want a text, not true: write "true"`},
		{"x.yaml", "servers: {a: {command: x, eager: 'yes'}}\n", `x.yaml:1:34: servers.a.eager: want a boolean such as true, not the text "yes"`},
		{"x.yaml", "watch_buffer: many\n", `x.yaml:1:15: watch_buffer: want a number such as 1024, not the text "many"`},
		{"x.yaml", "watch_buffer: 0\n", `x.yaml:1:15: watch_buffer: want a whole number from 1 to 2147483647, not "0"`},
		{"x.yaml", "watch_buffer: 1.5\n", `x.yaml:1:15: watch_buffer: want a whole number from 1 to 2147483647, not "1.5"`},
		// values
		{"x.yaml", "listen: localhost\n", `x.yaml:1:9: listen: want host:port such as 127.0.0.1:8080, not "localhost"`},
		{"x.yaml", "listen: :99999\n", `x.yaml:1:9: listen: want a port from 0 (any free one) to 65535, not "99999"`},
		{"x.yaml", "shutdown_grace: 10\n", `x.yaml:1:17: shutdown_grace: want a time with its unit: write "10s" or "10ms", not 10`},
		{"x.yaml", "shutdown_grace: ten\n", `x.yaml:1:17: shutdown_grace: want a time such as "60s", "500ms" or "1h30m", not "ten"`},
		{"x.yaml", "shutdown_grace: -1s\n", `x.yaml:1:17: shutdown_grace: want at least 0s, not "-1s"`},
		{"x.yaml", "compression: gzip\n", `x.yaml:1:14: compression: want one of off, auto, not "gzip"`},
		{"x.yaml", "tls: {cert_file: x}\n", "x.yaml:1:6: tls: want both cert_file and key_file"},
		{"x.yaml", "cors: {allowed_origins: [app.example.com]}\n", `x.yaml:1:25: cors.allowed_origins: want an origin such as https://app.example.com, not "app.example.com"`},
		{"x.yaml", "state_key: ${TOKEN}\n", "x.yaml:1:12: state_key: want at least 16 bytes, not 12"},
		{"x.yaml", "servers: {a: {command: x, max_queue_bytes: 12 stones}}\n", `x.yaml:1:44: servers.a.max_queue_bytes: want a size such as "64MiB" or a number of bytes, not "12 stones"`},
		{"x.yaml", "servers: {a: {command: x, max_queue_bytes: 9GiB}}\n", `x.yaml:1:44: servers.a.max_queue_bytes: want 1024 bytes to 2GiB, not "9GiB"`},
		{"x.yaml", "servers: {a: {command: x, protocol: newest}}\n", `x.yaml:1:37: servers.a.protocol: want auto, legacy, modern or a revision such as 2025-06-18, not "newest"`},
		{"x.yaml", "servers: {a: {command: x, protocol: 2031-01-01}}\n", `x.yaml:1:37: servers.a.protocol: unknown revision "2031-01-01"`},
		{"x.yaml", "servers: {a: {command: x, env_inherit: [A*B]}}\n", `x.yaml:1:40: servers.a.env_inherit: want a name such as PATH, or the beginning of names such as LC_*, not "A*B"`},
		{"x.yaml", "servers: {a: {command: x, restart: {factor: 0.5}}}\n", `x.yaml:1:45: servers.a.restart.factor: want a number from 1 to 100, not "0.5"`},
		{"x.yaml", "servers: {a: {url: 'ftp://x'}}\n", "x.yaml:1:20: servers.a.url: want a URL that begins with http:// or https://"},
		{"x.yaml", "servers: {a: {url: 'http://u:secret@h:x/'}}\n", `x.yaml:1:20: servers.a.url: not a valid URL: invalid port ":x" after host`},
		{"x.yaml", "servers: {a: {url: 'http://:80/'}}\n", "x.yaml:1:20: servers.a.url: the URL names no host"},
		{"x.yaml", "servers: {a: {url: 'http://x/', headers: {A: \"x\\r\\nB: y\"}}}\n", `x.yaml:1:46: servers.a.headers: the value of "A" holds a control character, such as a line's end`},
		{"x.yaml", "servers: {a: {url: 'http://x/', headers: {'A:': x}}}\n", `x.yaml:1:49: servers.a.headers: "A:" is no name of a header`},
		// together
		{"x.yaml", "servers:\n  a: {}\n", "x.yaml:2:3: servers.a: neither command nor url: a server has one of them"},
		{"x.yaml", "servers:\n  a: {command: x, url: 'http://x/'}\n", "x.yaml:2:3: servers.a: both command and url: a server has one of them"},
		{"x.yaml", "servers:\n  a: {type: ws, url: 'http://x/'}\n", `x.yaml:2:3: servers.a: unknown type "ws": want stdio, http or sse`},
		{"x.yaml", "servers:\n  a: {command: x, max_timeout: 5s}\n", "x.yaml:2:3: servers.a: timeout (30s) is over max_timeout (5s)"},
		{"x.yaml", "servers:\n  a: {command: x, restart: {initial: 1h}}\n", "x.yaml:2:3: servers.a: restart.initial (1h) is over restart.max (30s)"},
		// expansion
		{"x.yaml", "servers: {a: {command: '${NONE}'}}\n", "x.yaml:1:24: servers.a.command: the environment variable NONE is not set (${NONE:-default} has a default)"},
		{"x.yaml", "servers: {a: {command: 'x${NONE'}}\n", `x.yaml:1:24: servers.a.command: "${NONE" has no closing brace (write $${ for the characters ${)`},
		{"x.yaml", "servers: {a: {command: '${a b}'}}\n", `x.yaml:1:24: servers.a.command: "${a b}" is no variable: want ${NAME}, ${NAME:-default} or ${file:/path} (write $${ for the characters ${)`},
		{"x.yaml", "servers: {a: {command: '${file:/none}'}}\n", "x.yaml:1:24: servers.a.command: ${file:}: open /none: file does not exist"},
		{"x.yaml", "servers: {a: {command: '${file:/bad}'}}\n", "x.yaml:1:24: servers.a.command: ${file:/bad}: not a text"},
		{"x.yaml", "servers: {a: {command: '${input:pass}'}}\n", "x.yaml:1:24: servers.a.command: ${input:pass}: nobody can be asked here: set the environment variable INPUT_PASS"},
		{"x.yaml", "watch_buffer: ${TOKEN}\n", `x.yaml:1:15: watch_buffer: want a whole number from 1 to 2147483647, not "s3cr3t-token"`},
	} {
		_, err := config.Parse(c.name, []byte(c.text), options())
		if got := errText(err); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
		var errs config.Errors
		if !errors.As(err, &errs) || len(errs) != 1 {
			t.Errorf("%s\nthe error is a %T", c.text, err)
		}
	}
}

func TestAllErrorsAreToldInOrder(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("x.yaml", []byte(`listen: here
servers:
  a: {command: x, timeout: 5, foo: 1}
  b: {}
nope: 1
`), options())
	want := `x.yaml:1:9: listen: want host:port such as 127.0.0.1:8080, not "here"
x.yaml:3:28: servers.a.timeout: want a time with its unit: write "5s" or "5ms", not 5
x.yaml:3:31: unknown key "foo" in servers.a
x.yaml:4:3: servers.b: neither command nor url: a server has one of them
x.yaml:5:1: unknown key "nope"`
	if got := errText(err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var one *config.Error
	if !errors.As(err, &one) || one.Line != 1 || one.Col != 9 || one.File != "x.yaml" {
		t.Errorf("the first is %+v", one)
	}
}

func TestManyErrorsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "key%d: 1\n", i)
	}
	_, err := config.Parse("x.yaml", []byte(text.String()), options())
	lines := strings.Split(errText(err), "\n")
	if len(lines) != 21 || lines[20] != "… and 480 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestAliasesCannotMakeAFileLarge(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("servers:\n  a:\n    command: x\n    client_capabilities:\n      l0: &l0 [aaaaaaaaaa, aaaaaaaaaa]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&text, "      l%d: &l%d [*l%d, *l%d]\n", i, i, i-1, i-1)
	}
	_, err := config.Parse("x.yaml", []byte(text.String()), options())
	if got, want := errText(err), "x.yaml:5:7: servers.a.client_capabilities: more than 65536 bytes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	text.Reset()
	text.WriteString("m0: &m0 {a: 1}\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&text, "m%d: &m%d {<<: [*m%d, *m%d], k%d: 1}\nl%d: {<<: [[*m%d, *m%d], [*m%d]]}\n", i, i, i-1, i-1, i, i, i, i, i)
	}
	if _, err = config.Parse("x.yaml", []byte(text.String()), options()); err == nil {
		t.Error("no error")
	}
}
