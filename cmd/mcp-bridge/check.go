package main

import (
	"os"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/cli"
	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/daemon"
)

type checkCmd struct {
	logging `embed:""`
	Config  string        `short:"c" placeholder:"FILE" help:"The configuration to check."`
	Server  []string      `short:"s" sep:"none" placeholder:"NAME=TARGET" help:"Check this server too. May be repeated."`
	Timeout time.Duration `default:"60s" help:"How long a server may take."`
	JSON    bool          `name:"json" help:"Print the result as JSON."`
}

// Help is shown by --help.
func (*checkCmd) Help() string {
	return `Parses the configuration, starts every server and says what each has. The exit status is 1 if one fails.

Examples:
  mcp-bridge check --config bridge.yaml
  mcp-bridge check --server e="npx -y @modelcontextprotocol/server-everything"`
}

// Run checks all servers side by side.
func (s *checkCmd) Run(c *cli.Context) error {
	if s.LogLevel == "info" {
		s.LogLevel = "warn" // the result is what counts
	}
	log := s.logger(c)
	conf, err := loadConfig(s.Config, log)
	if err != nil {
		return err
	}
	for _, arg := range s.Server {
		srv, err := config.ParseNamed(arg)
		if err == nil {
			err = conf.Add(srv)
		}
		if err != nil {
			return &cli.UsageError{Text: "--server: " + err.Error()}
		}
	}
	if len(conf.Servers) == 0 {
		return &cli.UsageError{Text: "nothing to check: say --config FILE or --server NAME=TARGET"}
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	findings, err := daemon.Check(c.Ctx, s.Timeout, daemon.Options{
		Config: conf, Version: version(), Exe: exe, Environ: os.Environ(), Log: log,
	})
	if err != nil {
		return err
	}
	shown := make([]cli.Finding, len(findings))
	for i, f := range findings {
		shown[i] = cli.Finding(f)
	}
	return cli.PrintFindings(c, shown, s.JSON)
}
