// Command mcp-bridge puts MCP servers behind a typed RPC service, and speaks to
// such a service from the command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/mcpbridge/mcp-bridge/internal/cli"
	"github.com/mcpbridge/mcp-bridge/internal/guard"
)

type commands struct {
	Serve   serveCmd    `cmd:"" help:"Serve MCP servers as a typed RPC service."`
	Servers cli.Servers `cmd:"" help:"List the servers behind a bridge."`
	Tools   cli.Tools   `cmd:"" help:"List tools, or describe one."`
	Call    cli.Call    `cmd:"" help:"Call a tool."`
	Watch   cli.Watch   `cmd:"" help:"Print what servers send unasked, one event a line."`
	Check   checkCmd    `cmd:"" help:"Check a configuration: start every server and say what each has."`
	Demo    demoCmd     `cmd:"" name:"demo-server" help:"Be the built-in MCP server, on standard input and output or over HTTP."`
	Version versionCmd  `cmd:"" help:"Print the version."`
	Guard   guardCmd    `cmd:"" hidden:"" help:"End the children of a bridge that was killed."`
}

const description = `Puts any MCP server behind a typed RPC service: gRPC, gRPC-Web and Connect on one port.

Try it:
  mcp-bridge serve                     the built-in demo server, on 127.0.0.1:8080
  mcp-bridge call echo message=hi      in another terminal
  mcp-bridge serve -- npx -y @modelcontextprotocol/server-everything`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run parses the command line and runs the subcommand; it returns the exit
// status: 0; 1 the tool or server said no; 2 wrong usage.
func run(args []string, in *os.File, out, errOut *os.File) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &cli.Context{
		Ctx: ctx, Stdin: in, Stdout: out, Stderr: errOut, Env: os.Getenv,
		IsTerminal: term.IsTerminal(int(out.Fd())), ErrIsTerminal: term.IsTerminal(int(errOut.Fd())),
		OneShot: cli.OneShot{CallOnce: callOnce},
	}
	if w, _, err := term.GetSize(int(out.Fd())); err == nil {
		c.Width = w
	}
	var root commands
	exited := -1
	parser, err := kong.New(&root, kong.Name("mcp-bridge"), kong.Description(description),
		kong.Writers(out, errOut), kong.UsageOnError(), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		cli.Report(c, err)
		return cli.StatusUsage
	}
	args, root.Serve.Command = splitCommand(args)
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		return wrongUsage(errOut, err)
	}
	err = parsed.Run(c)
	cli.Report(c, err)
	return cli.ExitStatus(err)
}

// splitCommand takes the server's own command line, behind "--", out of that of
// serve: its flags are not ours.
func splitCommand(args []string) (ours, command []string) {
	if len(args) == 0 || args[0] != "serve" {
		return args, nil
	}
	for i, a := range args {
		if a == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

func wrongUsage(w io.Writer, err error) int {
	var pe *kong.ParseError
	if errors.As(err, &pe) && pe.Context != nil {
		_ = pe.Context.PrintUsage(true)
	}
	fmt.Fprintf(w, "error: %v\n", err) //nolint:errcheck // nobody to tell
	return cli.StatusUsage
}

type guardCmd struct{}

// Run is the guard process: it lives until the bridge that started it is gone.
func (guardCmd) Run(c *cli.Context) error {
	if guard.Main(c.Stdin) != 0 {
		return &cli.FailedError{}
	}
	return nil
}
