package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/mcpbridge/mcp-bridge/internal/cli"
)

// release is set by the linker for releases.
var release = "0.1.0-dev"

// version is the release, and the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	commit, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+"
			}
		}
	}
	if commit == "" {
		return release
	}
	return release + " (" + commit + modified + ")"
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(c *cli.Context) error {
	_, err := fmt.Fprintf(c.Stdout, "mcp-bridge %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
