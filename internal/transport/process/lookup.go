package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// defaultPath is searched where the child's environment has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

var errNotInPath = errors.New("not found in PATH")

// lookPath finds the program for o.Path. The child's PATH counts, not ours.
// Entries that are not absolute are passed over: what runs must not depend on
// the working directory. A name that is a path stays as it is, and is understood
// from the child's working directory.
func lookPath(o Options) (string, error) {
	if strings.ContainsRune(o.Path, '/') || strings.ContainsRune(o.Path, filepath.Separator) {
		return o.Path, nil
	}
	if o.Path == "" {
		return "", errors.New("no command")
	}
	path := defaultPath
	for _, e := range o.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, o.Path)
		info, err := os.Stat(file)
		switch {
		case err != nil || info.IsDir():
		case info.Mode()&0o111 != 0:
			return file, nil
		case denied == nil:
			denied = &fs.PathError{Op: "exec", Path: file, Err: fs.ErrPermission}
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", errNotInPath
}
