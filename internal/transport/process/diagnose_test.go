//go:build linux

package process_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport/process"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func TestDiagnose(t *testing.T) {
	transporttest.Leak(t)
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	foreign := append([]byte(nil), self[:4096]...)
	binary.LittleEndian.PutUint16(foreign[18:], 0x08) // e_machine: MIPS
	plain := file("plain", "#!/bin/sh\n", 0o644)
	tests := []struct {
		name string
		o    process.Options
		want string
	}{
		{"empty", process.Options{}, "no command"},
		{"not in PATH", process.Options{Path: "nope", Env: []string{"PATH=" + dir}}, "not found in PATH"},
		{"PATH of the child", process.Options{Path: "sh", Env: []string{"PATH=/nowhere"}}, "not found in PATH"},
		{"relative PATH", process.Options{Path: "plain", Env: []string{"PATH=.:"}, Dir: dir}, "not found in PATH"},
		{"in PATH, no permission", process.Options{Path: "plain", Env: []string{"PATH=" + dir}}, "has no execute permission"},
		{"missing", process.Options{Path: "/no/such"}, `"/no/such" does not exist`},
		{"missing, relative", process.Options{Path: "./none", Dir: dir}, `none" does not exist`},
		{"no permission", process.Options{Path: plain}, "has no execute permission"},
		{"directory", process.Options{Path: dir}, "is a directory"},
		{"no interpreter", process.Options{Path: file("script", "#! /no/node -x\n", 0o755)}, `needs "/no/node", which does not exist`},
		{"no program", process.Options{Path: file("text", "hello\n", 0o755)}, "is no program"},
		{"other machine", process.Options{Path: file("mips", string(foreign), 0o755)}, "is a program for MIPS"},
		{"no directory", process.Options{Path: "/bin/sh", Dir: "/no/dir"}, `working directory "/no/dir" does not exist`},
		{"directory is a file", process.Options{Path: "/bin/sh", Dir: plain}, "is not a directory"},
		{"too long", process.Options{Path: "/bin/sh", Args: []string{strings.Repeat("secret", 1<<20)}}, "too long"},
		{"NUL", process.Options{Path: "/bin/sh", Args: []string{"secret\x00"}}, "NUL byte"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := process.Start(tt.o)
			if err == nil {
				_ = p.Stop(t.Context())
				_ = p.Stdout.Close()
				t.Fatal("started")
			}
			var se *process.StartError
			if !errors.As(err, &se) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestLookPath(t *testing.T) {
	o := options("cat")
	dir := t.TempDir()
	if err := os.Symlink("/proc/self/exe", filepath.Join(dir, "server")); err != nil {
		t.Fatal(err)
	}
	o.Path, o.Env = "server", append(o.Env, "PATH=/nowhere:"+dir)
	p, _ := start(t, o)
	stop(t, p, t.Context())
	if e := p.Exit(); e != "exit status 0" {
		t.Error(e)
	}
}
