package rpc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exportedErrors lists the exported error types ("*pkg.Name") and values
// ("pkg.ErrName") of the package in dir.
func exportedErrors(t *testing.T, dir, pkg string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !isSource(e) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "Error" && d.Recv != nil {
					if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok && ast.IsExported(star.X.(*ast.Ident).Name) {
						names = append(names, "*"+pkg+"."+star.X.(*ast.Ident).Name)
					}
				}
			case *ast.GenDecl:
				names = append(names, errorValues(d, pkg)...)
			}
		}
	}
	return names
}

// isSource leaves out the server half of the protocol: no caller's request meets
// its errors.
func isSource(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") && !strings.HasPrefix(e.Name(), "server")
}

func errorValues(d *ast.GenDecl, pkg string) (names []string) {
	if d.Tok != token.VAR {
		return nil
	}
	for _, s := range d.Specs {
		for _, n := range s.(*ast.ValueSpec).Names {
			if strings.HasPrefix(n.Name, "Err") {
				names = append(names, pkg+"."+n.Name)
			}
		}
	}
	return names
}
