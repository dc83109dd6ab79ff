package main

import (
	"net"

	"github.com/mcpbridge/mcp-bridge/internal/cli"
	"github.com/mcpbridge/mcp-bridge/internal/demo"
)

type demoCmd struct {
	logging `embed:""`
	HTTP    string `name:"http" placeholder:"HOST:PORT" help:"Serve Streamable HTTP here, at /mcp, instead of standard input and output."`
}

// Run serves until the input ends, or a signal comes.
func (d *demoCmd) Run(c *cli.Context) error {
	if d.HTTP == "" {
		d.LogLevel = "warn" // standard error is the client's to show
	}
	log := d.logger(c)
	if d.HTTP == "" {
		return demo.ServeStdio(c.Ctx, c.Stdin, c.Stdout, log)
	}
	l, err := net.Listen("tcp", d.HTTP)
	if err != nil {
		return err
	}
	log.Info("listening", "url", "http://"+l.Addr().String()+"/mcp")
	return demo.ServeHTTP(c.Ctx, l, log)
}
