package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Config is a checked configuration. The keys of a file stand in the tags.
type Config struct {
	File     string    // where it was read; empty: nowhere
	Warnings []Warning // what in it has no effect
	Disabled []string  // servers that it switches off
	Servers  []Server  // the others, in the file's order

	Listen        string        `key:"listen"`
	AdminListen   string        `key:"admin_listen"` // empty: as Listen
	TLS           TLS           `key:"tls"`
	WatchBuffer   int           `key:"watch_buffer"`  // events a watcher
	ReplayBuffer  int           `key:"replay_buffer"` // events a session
	MaxPages      int           `key:"max_pages"`
	MaxItems      int           `key:"max_items"`
	MaxParkedAll  int           `key:"max_parked_total"` // parked calls of all sessions
	ShutdownGrace time.Duration `key:"shutdown_grace"`
	StateKey      StateKey      `key:"state_key"`
	Compression   string        `key:"compression"` // "off" or "auto"
	AllowedHosts  []string      `key:"allowed_hosts"`
	CORS          CORS          `key:"cors"`
}

// TLS are the files of a certificate. With neither the listener speaks plain text.
type TLS struct {
	CertFile string `key:"cert_file"`
	KeyFile  string `key:"key_file"`
}

// CORS says which pages of other origins may use the bridge.
type CORS struct {
	AllowedOrigins []string `key:"allowed_origins"`
}

// A StateKey is what instances share that understand each other's input_state:
// the name of a file that holds it, or the key itself where the configuration
// says ${file:…} or ${NAME}. With neither it is random.
type StateKey struct {
	File string
	Key  Secret
}

// A Server is one MCP server.
type Server struct {
	Name string
	Kind Kind `key:"type" link:"yes"`
	// SSEFirst starts with HTTP+SSE, the older form of the HTTP transport.
	SSEFirst bool `key:"type" link:"yes"`

	Command    string            `key:"command" link:"yes"`
	Args       []string          `key:"args" link:"yes"`
	Env        map[string]Secret `key:"env" link:"yes"`
	EnvInherit []string          `key:"env_inherit" link:"yes"` // names; a * at the end stands for any rest
	Dir        string            `key:"cwd" link:"yes"`         // absolute; empty: the bridge's own

	URL     string            `key:"url" link:"yes"`
	Headers map[string]Secret `key:"headers" link:"yes"`

	Protocol           string          `key:"protocol" link:"yes"`            // auto, legacy, modern, or a revision
	ClientCapabilities json.RawMessage `key:"client_capabilities" link:"yes"` // an object; nil: nothing
	Eager              bool            `key:"eager"`

	Timeout            time.Duration `key:"timeout"`
	MaxTimeout         time.Duration `key:"max_timeout"` // 0: none
	StartTimeout       time.Duration `key:"start_timeout"`
	ProbeTimeout       time.Duration `key:"probe_timeout"`
	StaleAfter         time.Duration `key:"stale_after"`
	SessionIdleTimeout time.Duration `key:"session_idle_timeout"` // 0: never
	ParkTimeout        time.Duration `key:"park_timeout"`
	StopGrace          time.Duration `key:"stop_grace" link:"yes"` // after the end of input, and again after SIGTERM

	MaxMessageBytes int64 `key:"max_message_bytes" link:"yes"`
	MaxQueueBytes   int64 `key:"max_queue_bytes" link:"yes"`
	MaxInFlight     int   `key:"max_in_flight"`
	MaxSessions     int   `key:"max_sessions"`
	MaxParked       int   `key:"max_parked"` // a session

	Restart          Restart `key:"restart"`
	TrustAnnotations bool    `key:"trust_annotations"`
	ValidateOutput   string  `key:"validate_output"` // "off", "warn" or "enforce"
	ExposeStderr     *bool   `key:"expose_stderr"`   // nil: while the listener is loopback

	secrets []string // values to be kept out of texts
}

// Kind is a kind of transport.
type Kind uint8

const (
	// Stdio is a child process, spoken to over its standard input and output.
	Stdio Kind = iota
	// HTTP is Streamable HTTP, or HTTP+SSE where the server knows only that.
	HTTP
)

func (k Kind) String() string {
	switch k {
	case Stdio:
		return "stdio"
	case HTTP:
		return "http"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Restart says when a server that went away is started again.
type Restart struct {
	Initial time.Duration `key:"initial"` // before the first try
	Max     time.Duration `key:"max"`
	Factor  float64       `key:"factor"`
	Jitter  float64       `key:"jitter"` // the share of a wait that is random: 0 to 1
	// GiveUpAfter is how many starts may fail in a row, RetryAfter how long a
	// server then rests.
	GiveUpAfter int           `key:"give_up_after"`
	RetryAfter  time.Duration `key:"retry_after"`
}

// Default returns what holds without a file: no servers.
func Default() *Config {
	return &Config{
		Listen:        "127.0.0.1:8080",
		WatchBuffer:   1024,
		ReplayBuffer:  1024,
		MaxPages:      1000,
		MaxItems:      100_000,
		MaxParkedAll:  256,
		ShutdownGrace: 10 * time.Second,
		Compression:   "off",
	}
}

// DefaultServer returns a server of which only the name is said.
func DefaultServer(name string) Server {
	return Server{
		Name:               name,
		EnvInherit:         []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TMPDIR", "TZ"},
		Protocol:           "auto",
		Timeout:            30 * time.Second,
		StartTimeout:       60 * time.Second,
		ProbeTimeout:       5 * time.Second,
		StaleAfter:         250 * time.Millisecond,
		SessionIdleTimeout: 30 * time.Minute,
		ParkTimeout:        10 * time.Minute,
		StopGrace:          2 * time.Second,
		MaxMessageBytes:    64 << 20,
		MaxQueueBytes:      64 << 20,
		MaxInFlight:        1024,
		MaxSessions:        100,
		MaxParked:          16,
		Restart: Restart{
			Initial:     500 * time.Millisecond,
			Max:         30 * time.Second,
			Factor:      2,
			Jitter:      0.2,
			GiveUpAfter: 5,
			RetryAfter:  5 * time.Minute,
		},
		ValidateOutput: "off",
	}
}

// Add puts a server that did not come from the file behind those that did.
func (c *Config) Add(s Server) error {
	for _, have := range c.Servers {
		if have.Name == s.Name {
			return fmt.Errorf("two servers are named %q", s.Name)
		}
	}
	c.Servers = append(c.Servers, s)
	return nil
}
