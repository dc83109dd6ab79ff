package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// list asks for a page of tools, and keeps it as who has checked it does.
func (r *rig) list(s *upstream.Session, cursor string) (page string, stale bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := &mcp.Page{Cursor: cursor, HasCursor: cursor != ""}
	res, stale, err := s.List(ctx, &mcp.Request{Method: "tools/list"}, p)
	if err == nil && !stale {
		s.Keep("tools/list", cursor, res.Payload)
	}
	return string(res.Payload), stale, err
}

func (r *rig) wantList(cursor, want string, wantStale bool) {
	r.t.Helper()
	page, stale, err := r.list(r.u.Shared(), cursor)
	if err != nil || page != want || stale != wantStale {
		r.t.Errorf("page %q: %s, stale %v, %v\n want: %s, stale %v", cursor, page, stale, err, want, wantStale)
	}
}

const (
	toolsA  = `{"tools":[{"name":"a"}]}`
	toolsB  = `{"tools":[{"name":"b"}]}`
	toolsA1 = `{"tools":[{"name":"a"}],"nextCursor":"1"}`
)

// known are lists that have the pages.
func known(pages map[string]string) *upstream.Lists {
	l := upstream.NewLists("")
	l.Put("tools/list", "", []byte(pages[""]))
	for cursor, page := range pages {
		l.Put("tools/list", cursor, []byte(page))
	}
	return l
}

func TestAStalePageIsFollowedByListChangedIfItWasWrong(t *testing.T) {
	for _, c := range []struct {
		name        string
		known, real map[string]string
		show        []string // cursors
		changes     string
	}{
		{"the same", map[string]string{"": toolsA}, map[string]string{"": toolsA}, []string{""}, ""},
		{"shown often", map[string]string{"": toolsA}, map[string]string{"": toolsA}, []string{"", "", ""}, ""},
		{"another", map[string]string{"": toolsA}, map[string]string{"": toolsB}, []string{""}, "tools"},
		{"the second page", map[string]string{"": toolsA1, "1": toolsA}, map[string]string{"": toolsA1, "1": toolsB}, []string{"", "1"}, "tools"},
		{"the second page only", map[string]string{"": toolsA1, "1": toolsA}, map[string]string{"": toolsA1, "1": toolsB}, []string{"1"}, "tools"},
		{"a second page that was not shown", map[string]string{"": toolsA1, "1": toolsA}, map[string]string{"": toolsA1, "1": toolsB}, []string{""}, ""},
		{"both pages the same", map[string]string{"": toolsA1, "1": toolsA}, map[string]string{"": toolsA1, "1": toolsA}, []string{"", "1"}, ""},
		{"shorter", map[string]string{"": toolsA1, "1": toolsA}, map[string]string{"": toolsB}, []string{"1"}, "tools"},
		{"without end", map[string]string{"": toolsA, "x": toolsA}, map[string]string{"": toolsA1, "1": toolsA1}, []string{"x"}, "tools"},
		{"no longer readable", map[string]string{"": toolsA}, map[string]string{"": `{"tools":7}`}, []string{""}, "tools"},
		{"refused", map[string]string{"": toolsA}, nil, []string{""}, "tools"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(always(mode{slow: 10 * time.Second}))
			f.tools = c.real
			inBubble(t, f, func(o *upstream.Options) { o.Lists = known(c.known) }, func(r *rig) {
				for _, cursor := range c.show {
					r.took(250*time.Millisecond, func() { r.wantList(cursor, c.known[cursor], true) })
				}
				if got := r.changes(); got != "" {
					t.Errorf("too early: %s", got)
				}
				wait(10 * time.Second)
				if got := r.changes(); got != c.changes {
					t.Errorf("changes: %q, want %q", got, c.changes)
				}
				if page, ok := c.real[""]; ok {
					r.wantList("", page, false)
				}
				r.wantDials(1)
			})
		})
	}
}

// A caller who lists as soon as the server is ready does not hide the change
// from the one who was shown the page before.
func TestAListMeanwhileDoesNotHideTheChange(t *testing.T) {
	f := newFake(always(mode{slow: 10 * time.Second}))
	f.tools = map[string]string{"": toolsB}
	inBubble(t, f, func(o *upstream.Options) { o.Lists = known(map[string]string{"": toolsA}); o.StaleAfter = time.Second }, func(r *rig) {
		r.wantList("", toolsA, true)
		wait(8500 * time.Millisecond)
		r.wantList("", toolsB, false) // waits half a second
		if got := r.changes(); got != "tools" {
			t.Errorf("changes: %q", got)
		}
	})
}

// Whether the server is ready in the very moment or not: nobody is shown a wrong
// page without being told.
func TestAListInTheMomentTheServerIsReady(t *testing.T) {
	for range 100 {
		f := newFake(always(mode{slow: 250 * time.Millisecond}))
		f.tools = map[string]string{"": toolsB}
		inBubble(t, f, func(o *upstream.Options) { o.Lists = known(map[string]string{"": toolsA}) }, func(r *rig) {
			_, stale, err := r.list(r.u.Shared(), "")
			wait(time.Second)
			if got := r.changes(); err != nil || stale != (got == "tools") {
				t.Fatalf("stale %v, changes %q, %v", stale, got, err)
			}
		})
	}
}

func TestAListOfAServerThatFails(t *testing.T) {
	f := newFake(each(mode{dial: errRefused}, mode{}))
	f.tools = map[string]string{"": toolsB}
	inBubble(t, f, func(o *upstream.Options) { o.Lists = known(map[string]string{"": toolsA}) }, func(r *rig) {
		r.took(0, func() { r.wantList("", toolsA, true) }) // at once: it won't be ready so soon
		r.took(0, func() { r.wantList("", toolsA, true) })
		wait(500 * time.Millisecond)
		if got := r.changes(); got != "tools" {
			t.Errorf("changes: %q", got)
		}
		r.wantList("", toolsB, false)
		r.u.Close(context.Background())
		if _, _, err := r.list(r.u.Shared(), ""); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// Where the link is lost before the lists could be compared, the next one does it.
func TestComparingIsTakenUpAgain(t *testing.T) {
	f := newFake(each(mode{slow: time.Second, crash: true}, mode{}))
	f.tools = map[string]string{"": toolsB}
	inBubble(t, f, func(o *upstream.Options) { o.Lists = known(map[string]string{"": toolsA}) }, func(r *rig) {
		r.wantList("", toolsA, true)
		wait(time.Minute)
		r.wantDials(2)
		if got := r.changes(); got != "tools" {
			t.Errorf("changes: %q", got)
		}
	})
}

func TestListsThatAreNotKnownWaitForTheServer(t *testing.T) {
	f := newFake(always(mode{slow: 10 * time.Second}))
	f.tools = map[string]string{"": toolsA}
	inBubble(t, f, func(o *upstream.Options) { o.Lists = known(map[string]string{"": toolsB}) }, func(r *rig) {
		if !r.u.Shared().Knows("tools/list") || r.u.Shared().Knows("prompts/list") {
			t.Error("it does not know what it knows")
		}
		r.took(10*time.Second, func() {
			_, _, err := r.list(r.u.Shared(), "other")
			if !errors.As(err, new(*mcp.ServerError)) {
				t.Errorf("%v", err)
			}
		})
		s := r.openPrivate(upstream.Spec{}) // lists of its own
		r.last().peer.Break(errors.New("died"))
		synctest.Wait()
		page, stale, err := r.list(s, "")
		if page != toolsA || stale || err != nil {
			t.Errorf("%s, %v, %v", page, stale, err)
		}
		r.u.Shared().Keep("tools/list", "", []byte(toolsA))
		s.Keep("tools/list", "", []byte(toolsB))
		r.wantList("", toolsA, false)
	})
}

func TestListsOutliveTheBridge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "b.json")
	tune := func(o *upstream.Options) { o.Lists = upstream.NewLists(file) }
	f := newFake(always(mode{}))
	f.tools = map[string]string{"": toolsA1, "1": toolsB}
	inBubble(t, f, tune, func(r *rig) {
		r.wantList("", toolsA1, false)
		wait(2 * time.Second) // written by now
		if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", fi, err)
		}
		r.wantList("1", toolsB, false) // written by Close
	})
	inBubble(t, newFake(always(mode{slow: time.Minute})), tune, func(r *rig) {
		r.wantList("", toolsA1, true)
		r.wantList("1", toolsB, true)
	})
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestListsFilesThatAreNoGood(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{", "another shape": `{"tools/list\n":[1]}`, "a list": "[]",
		"a page that is no JSON": `{"tools/list\n":"{"}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "lists.json")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			l := upstream.NewLists(file)
			if page, ok := l.Get("tools/list", ""); ok {
				t.Errorf("%.80s", page)
			}
			l.Put("tools/list", "", []byte(toolsA))
			if err := l.Save(); err != nil {
				t.Fatal(err)
			}
			if page, _ := upstream.NewLists(file).Get("tools/list", ""); string(page) != toolsA {
				t.Errorf("%.80s", page)
			}
		})
	}
	large := filepath.Join(t.TempDir(), "lists.json")
	text := `{"tools/list\n":"{}"}` + strings.Repeat(" ", 65<<20)
	if err := os.WriteFile(large, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := upstream.NewLists(large).Get("tools/list", ""); ok {
		t.Error("a file of any size is read")
	}
	dir := t.TempDir()
	l := upstream.NewLists(dir) // a directory is in the way
	l.Put("tools/list", "", []byte(toolsA))
	if err := l.Save(); err == nil {
		t.Error("no error")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".lists-*")); len(left) > 0 {
		t.Errorf("%v left", left)
	}
}

func TestListsAreBounded(t *testing.T) {
	l := upstream.NewLists("")
	page := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	kept := func() (n int) {
		for i := range 100 {
			if _, ok := l.Get("tools/list", fmt.Sprint(i)); ok {
				n++
			}
		}
		return n
	}
	l.Put("prompts/list", "1", []byte("{}"))
	for i := range 100 {
		l.Put("tools/list", fmt.Sprint(i), page)
	}
	if n := kept(); n != 15 {
		t.Errorf("%d MiB are kept, want 15 and a bit", n)
	}
	// A first page that differs makes the rest of its list void, and no other.
	if !l.Put("tools/list", "", []byte(toolsA)) || kept() != 0 {
		t.Error("pages of a list that is no longer so are kept")
	}
	if _, ok := l.Get("prompts/list", "1"); !ok {
		t.Error("another list is void, too")
	}
	if l.Put("tools/list", "", []byte(toolsA)) || !l.Put("tools/list", "0", page) || kept() != 1 {
		t.Error("the same page is no news, and another is")
	}
	got, _ := l.Get("tools/list", "")
	if diff := cmp.Diff(toolsA, string(got)); diff != "" {
		t.Error(diff)
	}
}
