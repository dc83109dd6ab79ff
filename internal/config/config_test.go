package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

// options have a small environment and two files.
func options() config.Options {
	env := map[string]string{"TOKEN": "s3cr3t-token", "EMPTY": "", "HOME": "/home/me", "MAX": "7", "ON": "true", "INPUT_API_KEY": "from-env"}
	files := map[string]string{"/run/key": "0123456789abcdef\n", "/etc/mcp/x.env": "# vars\nA=1\nexport B='two words'\n\nTOKEN=\"abcdefgh\"\n", "/bad": "a\x00b"}
	return config.Options{
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(path string, limit int64) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		KnownRevision: func(v string) bool { return v == "2025-06-18" || v == "2025-11-25" },
	}
}

func mustParse(t *testing.T, file, text string) *config.Config {
	t.Helper()
	c, err := config.Parse(file, []byte(text), options())
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return c
}

// server is a server with the defaults, changed.
func server(name string, change func(*config.Server)) config.Server {
	s := config.DefaultServer(name)
	change(&s)
	return s
}

var ignoreSecrets = cmpopts.IgnoreUnexported(config.Server{})

func TestEveryKey(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "/etc/mcp/bridge.yaml", `
listen: 0.0.0.0:9000
admin_listen: "[::1]:0"
tls: {cert_file: /c.pem, key_file: k.pem}
watch_buffer: 10
replay_buffer: 0
max_pages: 5
max_items: 1_000
max_parked_total: 9
shutdown_grace: 1m
state_key: ${file:/run/key}
compression: auto
allowed_hosts: [bridge.example.com]
cors: {allowed_origins: ["https://app.example.com", "*"]}
servers:
  files:                             # a comment
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem", /srv/data]
    env: {NODE_OPTIONS: --max-old-space-size=256}
    cwd: ../srv
    env_inherit: [PATH, NODE_*]
    eager: true
    expose_stderr: false
    client_capabilities: {roots: {}, extensions: {x: [1, 0x10, 1.50, null, "é<"]}}
  search:
    type: http
    url: https://mcp.example.com/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    timeout: 90s
    max_timeout: 1h30m
    start_timeout: 1m
    probe_timeout: 500ms
    stale_after: 0s
    session_idle_timeout: 0s
    park_timeout: 5m
    stop_grace: 1s
    protocol: 2025-06-18
    max_message_bytes: 1.5MiB
    max_queue_bytes: 2048
    max_in_flight: 1
    max_sessions: "${MAX}"
    max_parked: 0
    restart: {initial: 1s, max: 2s, factor: 1.5, jitter: 0, give_up_after: 3, retry_after: 1m}
    trust_annotations: ${ON}
    validate_output: enforce
  old: {type: sse, url: "http://localhost:1/sse"}
`)
	no := false
	want := config.Default()
	want.File = "/etc/mcp/bridge.yaml"
	want.Listen, want.AdminListen = "0.0.0.0:9000", "[::1]:0"
	want.TLS = config.TLS{CertFile: "/c.pem", KeyFile: "/etc/mcp/k.pem"}
	want.WatchBuffer, want.ReplayBuffer, want.MaxPages, want.MaxItems, want.MaxParkedAll = 10, 0, 5, 1000, 9
	want.ShutdownGrace = time.Minute
	want.StateKey.Key = "0123456789abcdef"
	want.Compression = "auto"
	want.AllowedHosts = []string{"bridge.example.com"}
	want.CORS.AllowedOrigins = []string{"https://app.example.com", "*"}
	want.Servers = []config.Server{
		server("files", func(s *config.Server) {
			s.Command = "npx"
			s.Args = []string{"-y", "@modelcontextprotocol/server-filesystem", "/srv/data"}
			s.Env = map[string]config.Secret{"NODE_OPTIONS": "--max-old-space-size=256"}
			s.Dir = "/etc/srv"
			s.EnvInherit = []string{"PATH", "NODE_*"}
			s.Eager = true
			s.ExposeStderr = &no
			s.ClientCapabilities = []byte(`{"roots":{},"extensions":{"x":[1,16,1.50,null,"é<"]}}`)
		}),
		server("search", func(s *config.Server) {
			s.Kind, s.URL = config.HTTP, "https://mcp.example.com/mcp"
			s.Headers = map[string]config.Secret{"Authorization": "Bearer s3cr3t-token"}
			s.Timeout, s.MaxTimeout, s.StartTimeout, s.ProbeTimeout = 90*time.Second, 90*time.Minute, time.Minute, 500*time.Millisecond
			s.StaleAfter, s.SessionIdleTimeout, s.ParkTimeout, s.StopGrace = 0, 0, 5*time.Minute, time.Second
			s.Protocol = "2025-06-18"
			s.MaxMessageBytes, s.MaxQueueBytes, s.MaxInFlight, s.MaxSessions, s.MaxParked = 3<<19, 2048, 1, 7, 0
			s.Restart = config.Restart{Initial: time.Second, Max: 2 * time.Second, Factor: 1.5, GiveUpAfter: 3, RetryAfter: time.Minute}
			s.TrustAnnotations = true
			s.ValidateOutput = "enforce"
		}),
		server("old", func(s *config.Server) { s.Kind, s.SSEFirst, s.URL = config.HTTP, true, "http://localhost:1/sse" }),
	}
	if diff := cmp.Diff(want, c, ignoreSecrets); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsAreTheContracts(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "x.yaml", "# nothing\nservers:\n  a: {command: x}\n")
	s := c.Servers[0]
	got := map[string]any{
		"listen": c.Listen, "watch_buffer": c.WatchBuffer, "replay_buffer": c.ReplayBuffer, "max_pages": c.MaxPages, "max_items": c.MaxItems,
		"shutdown_grace": c.ShutdownGrace, "compression": c.Compression, "max_parked_total": c.MaxParkedAll, "state_key": c.StateKey,
		"timeout": s.Timeout, "max_timeout": s.MaxTimeout, "start_timeout": s.StartTimeout, "probe_timeout": s.ProbeTimeout, "stale_after": s.StaleAfter,
		"max_message_bytes": s.MaxMessageBytes, "max_queue_bytes": s.MaxQueueBytes, "max_in_flight": s.MaxInFlight, "max_sessions": s.MaxSessions,
		"session_idle_timeout": s.SessionIdleTimeout, "park_timeout": s.ParkTimeout, "max_parked": s.MaxParked, "stop_grace": s.StopGrace,
		"restart": s.Restart.Initial, "restart.max": s.Restart.Max, "restart.factor": s.Restart.Factor, "restart.give_up_after": s.Restart.GiveUpAfter,
		"restart.retry_after": s.Restart.RetryAfter, "env_inherit": strings.Join(s.EnvInherit, " "), "protocol": s.Protocol,
		"trust_annotations": s.TrustAnnotations, "validate_output": s.ValidateOutput, "expose_stderr": s.ExposeStderr == nil, "eager": s.Eager,
	}
	want := map[string]any{
		"listen": "127.0.0.1:8080", "watch_buffer": 1024, "replay_buffer": 1024, "max_pages": 1000, "max_items": 100000,
		"shutdown_grace": 10 * time.Second, "compression": "off", "max_parked_total": 256, "state_key": config.StateKey{},
		"timeout": 30 * time.Second, "max_timeout": time.Duration(0), "start_timeout": 60 * time.Second, "probe_timeout": 5 * time.Second, "stale_after": 250 * time.Millisecond,
		"max_message_bytes": int64(64 << 20), "max_queue_bytes": int64(64 << 20), "max_in_flight": 1024, "max_sessions": 100,
		"session_idle_timeout": 30 * time.Minute, "park_timeout": 10 * time.Minute, "max_parked": 16, "stop_grace": 2 * time.Second,
		"restart": 500 * time.Millisecond, "restart.max": 30 * time.Second, "restart.factor": 2.0, "restart.give_up_after": 5,
		"restart.retry_after": 5 * time.Minute, "env_inherit": "PATH HOME USER LOGNAME SHELL LANG LC_* TERM TMPDIR TZ", "protocol": "auto",
		"trust_annotations": false, "validate_output": "off", "expose_stderr": true, "eager": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSelectTransport(t *testing.T) {
	t.Parallel()
	const command, url = 1, 2
	for _, c := range []struct {
		typ  string
		has  int
		want config.Transport
		err  string
	}{
		{"", command, config.Transport{Kind: config.Stdio}, ""},
		{"stdio", command, config.Transport{Kind: config.Stdio}, ""},
		{"http", url, config.Transport{Kind: config.HTTP}, ""},
		{"sse", url, config.Transport{Kind: config.HTTP, SSEFirst: true}, ""},
		{"streamable-http", url, config.Transport{Kind: config.HTTP}, ""},
		{"streamableHttp", url, config.Transport{Kind: config.HTTP}, ""},
		{"", url, config.Transport{Kind: config.HTTP}, ""},
		{"websocket", url, config.Transport{}, `unknown type "websocket": want stdio, http or sse`},
		// what the eight rows leave open
		{"", command | url, config.Transport{}, "both command and url: a server has one of them"},
		{"stdio", 0, config.Transport{}, "neither command nor url: a server has one of them"},
		{"stdio", url, config.Transport{}, `type "stdio" wants a command, not a url`},
		{"sse", command, config.Transport{}, `type "sse" wants a url, not a command`},
	} {
		got, err := config.SelectTransport(c.typ, c.has&command > 0, c.has&url > 0)
		if text := errText(err); text != c.err || err == nil && got != c.want {
			t.Errorf("%q with %d: %+v, %q; want %+v, %q", c.typ, c.has, got, text, c.want, c.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLoadReadsFromDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "bridge.yaml")
	write(t, filepath.Join(dir, "token"), "abc\n")
	write(t, file, "servers: {a: {url: 'http://x/', headers: {X-Key: '${file:token}'}}}\n")
	c, err := config.Load(file, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Servers[0].Headers["X-Key"].Reveal(); got != "abc" {
		t.Errorf("header is %q", got)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadWithoutFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), config.Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "read configuration: open ") {
		t.Errorf("got %v", err)
	}
}

func TestAddRefusesASecondServerOfAName(t *testing.T) {
	t.Parallel()
	c := config.Default()
	if err := errors.Join(c.Add(config.DefaultServer("a")), c.Add(config.DefaultServer("b"))); err != nil {
		t.Fatal(err)
	}
	if got, want := errText(c.Add(config.DefaultServer("a"))), `two servers are named "a"`; got != want || len(c.Servers) != 2 {
		t.Errorf("got %q and %d servers", got, len(c.Servers))
	}
}
