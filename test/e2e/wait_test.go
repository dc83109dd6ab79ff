//go:build unix

package e2e_test

import (
	"context"
	"testing"
	"time"
)

// patience bounds every wait for something that takes no time on an idle machine.
const patience = 20 * time.Second

// within returns a context that ends after d, or with the test.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until ok holds, which only the outside world can tell: files
// that appear, processes that go.
func eventually(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	if !until(d, ok) {
		t.Errorf("after %v still not so: %s", d, what)
	}
}

func until(d time.Duration, ok func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); !ok(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// quickly fails the test where do took longer than d.
func quickly(t *testing.T, d time.Duration, what string, do func()) {
	t.Helper()
	begun := time.Now()
	do()
	if took := time.Since(begun); took > d {
		t.Errorf("%s took %v, want at most %v", what, took.Round(time.Millisecond), d)
	}
}
