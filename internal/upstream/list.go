package upstream

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// pages are pages of one list by their cursors.
type pages map[string][]byte

// List asks for one page of a list. Where the server is not ready in a moment,
// the page comes from what was last known of it, if anything is, and stale is
// set; whoever was shown such a page is told by list_changed when the real one
// differs.
func (s *Session) List(ctx context.Context, r *mcp.Request, p *mcp.Page) (res mcp.Result, stale bool, err error) {
	r.Params = p
	if s.id == "" {
		page, ok := s.u.o.Lists.Get(r.Method, p.Cursor)
		if ok && !s.readyWithin(ctx, s.u.o.StaleAfter) && s.show(r.Method, p.Cursor, page) {
			return mcp.Result{Payload: page}, true, nil
		}
	}
	res, err = s.Do(ctx, r)
	return res, false, err
}

// show notes that a page from memory is shown, to be compared with the real one.
// It reports false where that is no longer right.
func (s *Session) show(method, cursor string, page []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.liveLocked() || s.status.State == Closed {
		return false
	}
	s.shownLocked(method, cursor, page)
	return true
}

// shownLocked keeps the first that was shown: of two that differ, one is wrong.
func (s *Session) shownLocked(method, cursor string, page []byte) {
	if s.stale[method] == nil {
		s.stale[method] = pages{}
	}
	if _, ok := s.stale[method][cursor]; !ok {
		s.stale[method][cursor] = page
	}
}

// Keep remembers a page that came from the server and was found to be valid.
func (s *Session) Keep(method, cursor string, page []byte) {
	if s.id == "" && s.u.o.Lists.Put(method, cursor, page) {
		s.u.saveLists()
	}
}

// Knows reports whether the first page of a list is known from before.
func (s *Session) Knows(method string) bool {
	_, ok := s.u.o.Lists.Get(method, "")
	return ok
}

// refreshStale asks again for the lists that were shown from memory.
func (s *Session) refreshStale(l *link) {
	s.mu.Lock()
	shown := s.stale
	s.stale = map[string]pages{}
	s.mu.Unlock()
	for method, old := range shown {
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			s.refresh(l, method, old)
		}()
	}
}

// refresh tells watchers of a list that is not as it was shown, or of which that
// can't be found out. Where the link is lost meanwhile, the next one tries again.
func (s *Session) refresh(l *link, method string, shown pages) {
	ctx, cancel := context.WithTimeout(s.ctx, max(s.u.o.Timeout, time.Second))
	defer cancel()
	err := s.compare(ctx, l, method, shown)
	switch {
	case err == nil:
	case l.client.Err() != nil && !errors.Is(err, errDiffers):
		s.mu.Lock()
		defer s.mu.Unlock()
		for cursor, page := range shown {
			s.shownLocked(method, cursor, page)
		}
	default:
		s.publishListChanged(method)
	}
}

// maxCompared is how many pages of a list are asked for to compare it.
const maxCompared = 1000

var errDiffers = errors.New("the list has changed")

// compare returns nil where all pages are as they were shown, and errDiffers
// where one is not.
func (s *Session) compare(ctx context.Context, l *link, method string, shown pages) error {
	p, same := &mcp.Page{}, 0
	for range maxCompared {
		res, err := l.client.Do(ctx, &mcp.Request{Method: method, Params: p})
		l.prove(err)
		if err != nil {
			return err
		}
		next, err := readPage(&res, method)
		if err != nil {
			return err
		}
		s.Keep(method, p.Cursor, res.Payload)
		if old, ok := shown[p.Cursor]; ok {
			if !bytes.Equal(old, res.Payload) {
				return errDiffers
			}
			if same++; same == len(shown) {
				return nil
			}
		}
		if next == nil {
			return errDiffers // it has become shorter
		}
		p = &mcp.Page{Cursor: *next, HasCursor: true}
	}
	return errDiffers
}

// readPage checks that a result is a page of a list and returns the cursor of
// the next; nil: there is none.
func readPage(res *mcp.Result, method string) (next *string, err error) {
	err = res.Read(func(b []byte) error {
		var m map[string]jsontext.Value
		if err := json.Unmarshal(b, &m, jsontext.AllowDuplicateNames(true)); err != nil {
			return err
		}
		if items := m[listMember(method)]; items.Kind() != '[' {
			return errors.New("there is no list")
		}
		if v, ok := m["nextCursor"]; ok {
			return json.Unmarshal(v, &next) // null: none
		}
		return nil
	})
	return next, err
}

// listMember is where the items of a list are.
func listMember(method string) string {
	switch method {
	case "tools/list":
		return "tools"
	case "resources/list":
		return "resources"
	case "resources/templates/list":
		return "resourceTemplates"
	case "prompts/list":
		return "prompts"
	}
	return ""
}

// publishListChanged tells watchers what a server says when a list has changed.
func (s *Session) publishListChanged(method string) {
	n := ""
	switch method {
	case "tools/list":
		n = "notifications/tools/list_changed"
	case "resources/list", "resources/templates/list":
		n = "notifications/resources/list_changed"
	case "prompts/list":
		n = "notifications/prompts/list_changed"
	default:
		return
	}
	s.publish(&Event{Kind: KindListChanged, Method: n}, n)
}
