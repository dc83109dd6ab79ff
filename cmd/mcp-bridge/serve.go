package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/mcpbridge/mcp-bridge/internal/cli"
	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/daemon"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/telemetry"
)

// logging are the flags of the log.
type logging struct {
	LogFormat string `enum:"text,json" default:"text" help:"Form of the log on standard error: text or json."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"The least severe messages to log: debug, info, warn or error."`
}

func (l logging) logger(c *cli.Context) *slog.Logger {
	return telemetry.NewLogger(c.Stderr, l.LogFormat, l.LogLevel)
}

type serveCmd struct {
	logging   `embed:""`
	Config    string   `short:"c" placeholder:"FILE" help:"Configuration, YAML or JSON; files of other MCP clients are understood."`
	Listen    string   `short:"l" placeholder:"HOST:PORT" help:"Listen here; port 0 picks a free one. Default: 127.0.0.1:8080."`
	Server    []string `short:"s" sep:"none" placeholder:"NAME=TARGET" help:"Serve this too: a URL, or a command line. May be repeated."`
	ReadyFile string   `placeholder:"FILE" help:"Write the base URL to this file once everything is listening."`
	Command   []string `kong:"-"`
}

// Help is shown by --help.
func (*serveCmd) Help() string {
	return `Everything behind "--" is the command line of one server, named "default".
With no server at all, the built-in demo server is served as "demo".

Examples:
  mcp-bridge serve
  mcp-bridge serve -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve --server files="npx -y @modelcontextprotocol/server-filesystem /srv" --server search=https://mcp.example.com/mcp
  mcp-bridge serve --config bridge.yaml --listen 0.0.0.0:8080

SIGTERM and SIGINT drain; a second one ends at once. Neither leaves a child behind.`
}

// Run serves until a signal comes.
func (s *serveCmd) Run(c *cli.Context) error {
	log := s.logger(c)
	tuneCollector(c.Env)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	conf, err := s.load(log, exe)
	if err != nil {
		return err
	}
	now, stop := secondSignal(c.Ctx)
	defer stop()
	return daemon.Run(c.Ctx, now, daemon.Options{
		Config: conf, ReadyFile: s.ReadyFile, Version: version(), Exe: exe,
		Environ: os.Environ(), CacheDir: cacheDir(), Log: log,
	})
}

// gcPercent lets the heap grow to five times what is alive before it is
// collected: a bridge keeps little alive, and by the default it would collect
// hundreds of times a second.
const gcPercent = 400

// tuneCollector trades a few megabytes for a quarter of the CPU time, unless the
// environment says otherwise.
func tuneCollector(env func(string) string) {
	if env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// load puts the configuration together from file and flags.
func (s *serveCmd) load(log *slog.Logger, exe string) (*config.Config, error) {
	conf, err := loadConfig(s.Config, log)
	if err != nil {
		return nil, err
	}
	for _, arg := range s.Server {
		srv, err := config.ParseNamed(arg)
		if err != nil {
			return nil, &cli.UsageError{Text: "--server: " + err.Error()}
		}
		if err := conf.Add(srv); err != nil {
			return nil, &cli.UsageError{Text: "--server: " + err.Error()}
		}
	}
	if len(s.Command) > 0 {
		srv, err := config.FromCommand("default", s.Command)
		if err == nil {
			err = conf.Add(srv)
		}
		if err != nil {
			return nil, &cli.UsageError{Text: err.Error()}
		}
	}
	if s.Listen != "" {
		if err := config.CheckAddress(s.Listen); err != nil {
			return nil, &cli.UsageError{Text: "--listen: " + err.Error()}
		}
		conf.Listen = s.Listen
	}
	if len(conf.Servers) == 0 {
		srv, err := config.FromCommand("demo", []string{exe, "demo-server"})
		if err != nil {
			return nil, err
		}
		conf.Servers = append(conf.Servers, srv)
		log.Info("no server is configured: serving the built-in demo server", "server", "demo")
	}
	return conf, nil
}

// loadConfig reads a file; without one, the defaults hold.
func loadConfig(file string, log *slog.Logger) (*config.Config, error) {
	if file == "" {
		return config.Default(), nil
	}
	conf, err := config.Load(file, config.Options{LookupEnv: os.LookupEnv, KnownRevision: mcp.KnownVersion})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &cli.UsageError{Text: err.Error()}
	}
	if err != nil {
		return nil, &cli.UsageError{Text: "the configuration is not usable:\n" + err.Error()}
	}
	for _, w := range conf.Warnings {
		log.Warn("configuration", "note", w.String())
	}
	if len(conf.Disabled) > 0 {
		log.Info("servers switched off by the configuration", "servers", strings.Join(conf.Disabled, " "))
	}
	return conf, nil
}

// secondSignal is a context that ends with the second signal; the first ends ctx.
func secondSignal(ctx context.Context) (context.Context, func()) {
	now, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-now.Done():
			return
		}
		// The first signal may have come to this channel as well, before or after.
		for n := 0; n < 2; n++ {
			select {
			case <-signals:
			case <-now.Done():
				return
			}
		}
		cancel()
	}()
	return now, func() {
		cancel()
		signal.Stop(signals)
		<-done
	}
}

// cacheDir is where lists are kept across restarts; empty where there is no
// such place.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mcp-bridge")
}
