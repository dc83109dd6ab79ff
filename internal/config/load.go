package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options are what a configuration may look at besides its own text.
type Options struct {
	// LookupEnv returns environment variables, as os.LookupEnv does; nil: none is
	// set.
	LookupEnv func(name string) (string, bool)
	// ReadFile returns a file that the configuration names; nil: from the disk.
	ReadFile func(path string, limit int64) ([]byte, error)
	// KnownRevision says whether a protocol revision is one; nil: all dates are.
	KnownRevision func(string) bool
}

// Load reads a file.
func Load(file string, o Options) (*Config, error) {
	data, err := readFile(file, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(file, data, o)
}

// Parse checks the contents of a file. Its error is of type Errors.
func Parse(file string, data []byte, o Options) (*Config, error) {
	d := &decoder{notes: notes{file: file}, known: o.KnownRevision}
	d.expand = expander{lookup: o.LookupEnv, read: o.ReadFile, dir: filepath.Dir(file)}
	if abs, err := filepath.Abs(d.expand.dir); err == nil {
		d.expand.dir = abs
	}
	if d.expand.read == nil {
		d.expand.read = readFile
	}
	if len(data) > maxFileBytes {
		d.errorf(pos{}, "more than %d bytes", maxFileBytes)
		_, err := d.done()
		return nil, err
	}
	root, err := parse(file, data)
	if err != nil {
		var syntax *syntaxError
		if errors.As(err, &syntax) {
			d.errorf(syntax.at, "%s", syntax.text)
		} else {
			d.errorf(pos{}, "%v", err)
		}
		_, err = d.done()
		return nil, err
	}
	c := Default()
	c.File = file
	d.config(c, root)
	if c.Warnings, err = d.done(); err != nil {
		return nil, err
	}
	return c, nil
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, nil
}

// config takes the whole file.
func (d *decoder) config(c *Config, root *node) {
	if root.kind == isNull {
		return // nothing but comments
	}
	foreign := looksForeign(root)
	d.takeInputs(root)
	servers := map[string]pos{}
	keys := map[string]func(*node){
		"listen":           func(n *node) { d.address(&c.Listen, "listen")(n) },
		"admin_listen":     func(n *node) { d.address(&c.AdminListen, "admin_listen")(n) },
		"tls":              func(n *node) { d.tls(&c.TLS, n) },
		"watch_buffer":     d.count(&c.WatchBuffer, "watch_buffer", 1),
		"replay_buffer":    d.count(&c.ReplayBuffer, "replay_buffer", 0),
		"max_pages":        d.count(&c.MaxPages, "max_pages", 1),
		"max_items":        d.count(&c.MaxItems, "max_items", 1),
		"max_parked_total": d.count(&c.MaxParkedAll, "max_parked_total", 0),
		"shutdown_grace":   d.duration(&c.ShutdownGrace, "shutdown_grace", 0),
		"state_key":        func(n *node) { d.stateKey(&c.StateKey, n) },
		"compression":      d.word(&c.Compression, "compression", "off", "auto"),
		"allowed_hosts":    d.texts(&c.AllowedHosts, "allowed_hosts"),
		"cors":             func(n *node) { d.cors(&c.CORS, n) },
		"servers":          func(n *node) { d.servers(c, "servers", n, foreign, servers) },
		"mcpServers":       func(n *node) { d.servers(c, "mcpServers", n, true, servers) },
	}
	d.fields(root, "", func(p pair) {
		if foreign || foreignTopKeys[p.key] {
			if !handledTopKeys[p.key] {
				d.ignore(p.key, p.at, "")
			}
			return
		}
		d.unknown(p, "", sortedKeys(keys))
	}, func(key string) func(*node) { return keys[key] })
}

func (d *decoder) tls(t *TLS, n *node) {
	keys := map[string]func(*node){"cert_file": d.path(&t.CertFile, "tls.cert_file"), "key_file": d.path(&t.KeyFile, "tls.key_file")}
	d.section("tls", n, keys)
	if (t.CertFile == "") != (t.KeyFile == "") {
		d.errorf(n.at, "tls: want both cert_file and key_file")
	}
}

func (d *decoder) cors(c *CORS, n *node) {
	keys := map[string]func(*node){"allowed_origins": d.origins(&c.AllowedOrigins, "cors.allowed_origins")}
	d.section("cors", n, keys)
}

// section takes a map of which all keys are ours.
func (d *decoder) section(path string, n *node, keys map[string]func(*node)) {
	d.fields(n, path, func(p pair) { d.unknown(p, path, sortedKeys(keys)) }, func(key string) func(*node) { return keys[key] })
}

// path takes the name of a file or folder, which is meant from the folder of the
// configuration.
func (d *decoder) path(to *string, path string) func(*node) {
	return func(n *node) {
		s, ok := d.str(n, path)
		switch {
		case !ok:
		case s == "":
			d.errorf(n.at, "%s: want a path, not nothing", path)
		case filepath.IsAbs(s):
			*to = filepath.Clean(s)
		default:
			*to = filepath.Join(d.expand.dir, s)
		}
	}
}

func (d *decoder) stateKey(k *StateKey, n *node) {
	before := len(d.put)
	s, ok := d.str(n, "state_key")
	if !ok {
		return
	}
	if len(d.put) > before { // what was put in is the key itself
		k.Key = Secret(s)
		if len(s) < 16 {
			d.errorf(n.at, "state_key: want at least 16 bytes, not %d", len(s))
		}
		return
	}
	d.path(&k.File, "state_key")(n)
}
