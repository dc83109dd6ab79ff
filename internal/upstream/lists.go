package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what is kept of one server's lists.
const (
	maxListsBytes = 16 << 20
	maxListsFile  = 4 * maxListsBytes // text in text grows
)

// Lists keeps the last known pages of a server's lists, in memory and, where it
// has a file, across restarts. They are shown while the server is starting. Its
// methods may be called from many goroutines.
type Lists struct {
	file string

	saving sync.Mutex // one at a time

	mu      sync.Mutex
	loaded  bool
	pages   map[string][]byte // by method and cursor: the result's JSON text
	bytes   int
	unsaved bool
}

// NewLists keeps lists in file; an empty name keeps them in memory only.
func NewLists(file string) *Lists { return &Lists{file: file} }

// pageKey has the method first: no method holds a newline.
func pageKey(method, cursor string) string { return method + "\n" + cursor }

// Get returns a page.
func (l *Lists) Get(method, cursor string) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loadLocked()
	p, ok := l.pages[pageKey(method, cursor)]
	return p, ok
}

// Put remembers a page, and reports whether it is news. A first page that differs
// makes the others void: their cursors belong to the list as it was. What would
// be over the bounds is not kept.
func (l *Lists) Put(method, cursor string, page []byte) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loadLocked()
	key := pageKey(method, cursor)
	old, known := l.pages[key]
	if known && bytes.Equal(old, page) {
		return false
	}
	l.unsaved = true
	l.dropLocked(key)
	if cursor == "" {
		for k := range l.pages {
			if strings.HasPrefix(k, key) {
				l.dropLocked(k)
			}
		}
	}
	l.addLocked(key, bytes.Clone(page))
	return true
}

func (l *Lists) addLocked(key string, page []byte) {
	if size := len(key) + len(page); l.bytes+size <= maxListsBytes {
		l.pages[key] = page
		l.bytes += size
	}
}

func (l *Lists) dropLocked(key string) {
	if page, ok := l.pages[key]; ok {
		l.bytes -= len(key) + len(page)
		delete(l.pages, key)
	}
}

// loadLocked reads the file when it is first needed. One that can't be read, or
// holds something else, is as good as none.
func (l *Lists) loadLocked() {
	if l.loaded {
		return
	}
	l.loaded = true
	l.pages = map[string][]byte{}
	if l.file == "" {
		return
	}
	f, err := os.Open(l.file)
	if err != nil {
		return
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() > maxListsFile {
		return
	}
	b, err := io.ReadAll(io.LimitReader(f, maxListsFile)) // it may be growing
	if err != nil {
		return
	}
	var m map[string]string
	if json.Unmarshal(b, &m) != nil {
		return
	}
	for k, v := range m {
		page := []byte(v)
		if jsontext.Value(page).IsValid(jsontext.AllowDuplicateNames(true)) {
			l.addLocked(k, page)
		}
	}
}

// Save writes what has changed to the file.
func (l *Lists) Save() error {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	if l.file == "" || !l.unsaved {
		l.mu.Unlock()
		return nil
	}
	l.unsaved = false
	m := make(map[string]string, len(l.pages))
	for k, v := range l.pages {
		m[k] = string(v)
	}
	l.mu.Unlock()
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeWhole(l.file, b)
}

// writeWhole replaces a file as a whole, readable for its owner only: lists may
// be private.
func writeWhole(file string, b []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".lists-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
