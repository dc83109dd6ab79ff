// Package demo is the built-in MCP server: something to talk to before one has
// a server of one's own, and something to test clients with. It has tools,
// resources, prompts, completion, subscriptions and questions, in both eras.
//
// It does not know: how its clients reach it, except for the two functions that
// serve it.
package demo

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// Options say how the demo server is to be. The zero Options are good.
type Options struct {
	Version  string        // of the program; empty: "dev"
	Versions []string      // protocol revisions offered; nil: all
	PageSize int           // 0: the default
	Clock    func() string // the text of demo://clock; nil: the time of day
	Logger   *slog.Logger  // nil: none
}

const instructions = `This is the demo server of mcp-bridge. Nothing in it does harm or costs anything.
Start with the tool "echo"; "add" shows structured results, "sleep" progress and cancellation,
"ask" a question to the user, "stats" what was called so far. The resource demo://clock changes
every second: subscribe to it. The prompt "greet" completes its argument "style".`

// server is the demo's own memory: what was called.
type server struct {
	mcp   *mcp.Server
	calls counts
	clock func() string
}

// New makes a demo server. Close it when it is no longer served.
func New(o Options) (*mcp.Server, error) {
	d := &server{clock: o.Clock, calls: counts{tools: map[string]*count{}}}
	if d.clock == nil {
		d.clock = func() string { return time.Now().UTC().Format(time.RFC3339Nano) }
	}
	var err error
	d.mcp, err = mcp.NewServer(mcp.ServerOptions{
		Name:         "mcp-bridge-demo",
		Title:        "mcp-bridge demo",
		Version:      cmp.Or(o.Version, "dev"),
		Instructions: instructions,
		Tools:        d.tools(),
		Resources:    d.resources(),
		Templates:    templates(),
		Prompts:      prompts(),
		Versions:     o.Versions,
		PageSize:     o.PageSize,
		ListTTL:      time.Minute,
		Logger:       o.Logger,
	})
	return d.mcp, err
}

// Tick tells subscribers every second that the clock has changed, until ctx
// ends.
func Tick(ctx context.Context, s *mcp.Server) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.Updated(clockURI)
		}
	}
}
