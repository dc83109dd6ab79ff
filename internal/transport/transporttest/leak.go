package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long what is ending may take to be gone.
const patience = 3 * time.Second

// Leak fails the test if goroutines, child processes or descriptors that came
// with it are still there when it is over. Descriptors and children belong to
// the process, so the test, and those around it, must not be parallel; Leak
// panics if they are. Call it first, so that its look comes after every other
// cleanup.
func Leak(t *testing.T) {
	t.Helper()
	t.Setenv("TRANSPORTTEST_LEAK", t.Name()) // panics in parallel tests
	fds, children := descriptors(), childProcesses()
	t.Cleanup(func() {
		await(t, "descriptors", func() []string { return without(descriptors(), fds) })
		await(t, "child processes", func() []string { return without(childProcesses(), children) })
	})
	Goroutines(t)
}

// Goroutines is the part of Leak that parallel tests may use: it looks only at
// goroutines that this test started, directly or not.
func Goroutines(t *testing.T) {
	t.Helper()
	label := fmt.Sprintf("%s@%p", t.Name(), t)
	// Labels are inherited by every goroutine that is started from here on.
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("transporttest", label)))
	t.Cleanup(func() {
		await(t, "goroutines", func() []string { return labelled(label) })
		pprof.SetGoroutineLabels(context.Background())
	})
}

// await gives the rest some time to go away. Ending is asynchronous for the
// runtime and the kernel even where the code has waited properly.
func await(t *testing.T, what string, left func() []string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(patience)
	for {
		l := left()
		if len(l) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d %s left behind:\n%s", len(l), what, strings.Join(l, "\n"))
			return
		}
		<-tick.C
	}
}

// labelled returns the stacks of all goroutines with that label but the tests' own.
func labelled(label string) []string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, g := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(g, strconv.Quote(label)) && !strings.Contains(g, "testing.tRunner") {
			found = append(found, g)
		}
	}
	return found
}

// descriptors lists the open descriptors with what they are; none where the
// system does not tell.
func descriptors() []string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var fds []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		// The runtime opens its poller when it first needs it and keeps it.
		if err != nil || strings.HasPrefix(target, "anon_inode:[event") || strings.HasSuffix(target, "/fd") {
			continue
		}
		fds = append(fds, e.Name()+" "+target)
	}
	return fds
}

// childProcesses lists our children, zombies included.
func childProcesses() []string {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	self := strconv.Itoa(os.Getpid())
	var found []string
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (comm) state ppid …; comm may hold blanks and parentheses.
		i := bytes.LastIndexByte(b, ')')
		if f := strings.Fields(string(b[i+1:])); len(f) > 1 && f[1] == self {
			found = append(found, string(b[:i+1])+" "+f[0])
		}
	}
	return found
}

// without compares by the first word, as a child's name and state may change.
func without(all, known []string) []string {
	key := func(s string) string { k, _, _ := strings.Cut(s, " "); return k }
	return slices.DeleteFunc(all, func(s string) bool {
		return slices.ContainsFunc(known, func(k string) bool { return key(k) == key(s) })
	})
}
