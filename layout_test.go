package mcpbridge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcpbridge/mcp-bridge/"

// mayImport is the plan of the house: which room may import which. A room that is
// not in the table does not exist, and a row without a room fails as well.
// transporttest and mcptest are for tests, which may import what they like.
var mayImport = map[string][]string{
	"cmd/mcp-bridge": {"internal/cli", "internal/config", "internal/daemon", "internal/demo", "internal/guard", "internal/mcp", "internal/telemetry"},
	"internal/cli":   {"gen/go/mcpbridge/v1", "gen/go/mcpbridge/v1/mcpbridgev1connect"},
	"internal/daemon": {
		"gen/go/mcpbridge/v1/mcpbridgev1connect", "internal/config", "internal/front", "internal/guard", "internal/mcp", "internal/mcp/jsonrpc",
		"internal/rpc", "internal/transport", "internal/transport/sse", "internal/transport/stdio", "internal/transport/streamhttp", "internal/upstream",
	},
	"internal/rpc": {
		"gen/go/mcpbridge/v1", "gen/go/mcpbridge/v1/mcpbridgev1connect", "internal/fanout", "internal/jsonscan", "internal/mcp",
		"internal/mcp/jsonrpc", "internal/rpc/typed", "internal/transport", "internal/upstream",
	},
	"internal/rpc/typed": {"gen/go/mcpbridge/v1", "internal/jsonscan"},
	"internal/upstream":  {"internal/fanout", "internal/mcp", "internal/mcp/jsonrpc", "internal/transport"},

	"internal/mcp":                 {"internal/mcp/jsonrpc", "internal/transport"},
	"internal/mcp/serve":           {},
	"internal/mcp/serve/stdio":     {"internal/mcp", "internal/mcp/jsonrpc"},
	"internal/mcp/serve/httpserve": {"internal/mcp", "internal/mcp/jsonrpc", "internal/transport", "internal/transport/eventstream"},
	"internal/mcp/mcptest":         {"internal/mcp", "internal/mcp/jsonrpc", "internal/transport", "internal/transport/transporttest"},
	"internal/demo":                {"internal/mcp", "internal/mcp/jsonrpc", "internal/mcp/serve/httpserve", "internal/mcp/serve/stdio"},

	"internal/transport/stdio":         {"internal/transport", "internal/transport/process"},
	"internal/transport/streamhttp":    {"internal/transport", "internal/transport/eventstream", "internal/transport/origin"},
	"internal/transport/sse":           {"internal/transport", "internal/transport/eventstream", "internal/transport/origin"},
	"internal/transport/origin":        {"internal/transport"},
	"internal/transport/transporttest": {"internal/transport"},

	"internal/transport":             {},
	"internal/transport/process":     {},
	"internal/transport/eventstream": {},
	"internal/mcp/jsonrpc":           {},
	"internal/jsonscan":              {},
	"internal/fanout":                {},
	"internal/front":                 {},
	"internal/guard":                 {},
	"internal/config":                {},
	"internal/telemetry":             {},
}

// mustNot keeps the split real: the protocol can't see a pipe or a status, and
// the seam can't look into a frame.
var mustNot = map[string][]string{
	"internal/mcp":           {"net", "net/http", "os", "os/exec", "bufio"},
	"internal/mcp/jsonrpc":   {"net", "net/http", "os", "os/exec", "bufio"},
	"internal/transport":     {"net", "net/http", "os", "os/exec", "bufio", "encoding/json"},
	"internal/transport/sse": {"encoding/json"},
	// Only rpc and front face callers by Connect; cli is a caller itself.
	"internal/upstream": {"net/http", "os/exec", "connectrpc.com/connect/v2"},
}

func TestLayout(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(dir, file string, f *ast.File) {
		seen[dir] = true
		allowed, ok := mayImport[dir]
		if !ok {
			t.Errorf("%s: the room %s is not in the plan", file, dir)
			return
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which is not in the plan", file, ours)
			}
			if slices.Contains(mustNot[dir], imported) {
				t.Errorf("%s imports %s, which %s must not know", file, imported, dir)
			}
		}
	})
	for dir := range mayImport {
		if !seen[dir] {
			t.Errorf("the plan has a room %s that does not exist", dir)
		}
	}
}

// TestOnlyTheCommandEnds checks that no room but cmd ends the program, reads its
// environment, or runs code at start-up.
func TestOnlyTheCommandEnds(t *testing.T) {
	eachFile(t, func(dir, file string, f *ast.File) {
		if strings.HasPrefix(dir, "cmd/") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s has an init", file)
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "os" && slices.Contains([]string{"Exit", "Getenv", "LookupEnv", "Environ"}, s.Sel.Name) {
						t.Errorf("%s calls os.%s", file, s.Sel.Name)
					}
				}
			}
			return true
		})
	})
}

// mayStart are the files with a go statement: each of them also waits for what it
// starts, or says who does.
var mayStart = []string{
	"cmd/mcp-bridge/serve.go",
	"internal/daemon/daemon.go",
	"internal/guard/guard.go",
	"internal/mcp/client.go",
	"internal/mcp/serve/stdio/stdio.go",
	"internal/mcp/server_call.go",
	"internal/transport/origin/exchange.go",
	"internal/transport/process/process.go",
	"internal/transport/stdio/conn.go",
	"internal/transport/stdio/listen.go",
	"internal/transport/stdio/writer.go",
	"internal/transport/transporttest/suite.go",
	"internal/transport/transporttest/suite_ends.go",
	"internal/upstream/acquire.go",
	"internal/upstream/link.go",
	"internal/upstream/list.go",
	"internal/upstream/subscribe.go",
	"internal/upstream/upstream.go",
}

func TestGoroutinesHaveAPlace(t *testing.T) {
	starts := map[string]bool{}
	eachFile(t, func(_, file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				starts[filepath.ToSlash(file)] = true
			}
			return true
		})
	})
	for file := range starts {
		if !slices.Contains(mayStart, file) {
			t.Errorf("%s starts a goroutine, which is not in the plan", file)
		}
	}
	for _, file := range mayStart {
		if !starts[file] {
			t.Errorf("%s starts no goroutine any more: take it out of the plan", file)
		}
	}
}

// TestTestsDoNotSleep checks that tests wait for events, not for time.
func TestTestsDoNotSleep(t *testing.T) {
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s sleeps", p)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachFile parses every file of ours that is no test and not generated.
func eachFile(t *testing.T, use func(dir, file string, f *ast.File)) {
	t.Helper()
	for _, root := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			if err == nil {
				use(path.Dir(filepath.ToSlash(p)), p, f)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
