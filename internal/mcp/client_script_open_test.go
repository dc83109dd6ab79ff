package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// The verbs of a script that open a session, and the names of errors.

// Open opens the session: protocol=…, max=…, hint=…, caps=….
func (s *script) Open(arg string) {
	ctx := s.t.Context()
	for _, kv := range strings.Fields(arg) {
		k, v, _ := strings.Cut(kv, "=")
		era := map[string]mcp.Era{"legacy": mcp.EraLegacy, "modern": mcp.EraModern}
		switch k {
		case "protocol":
			s.o.Protocol.Era = era[v]
		case "version":
			s.o.Protocol.Version = v
		case "max":
			s.o.MaxVersion = v
		case "hint":
			s.o.Hint.Era = era[v]
		case "caps":
			s.o.Capabilities = func(string) []byte { return []byte(v) }
		case "within":
			d, err := time.ParseDuration(v)
			s.must(err)
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			s.t.Cleanup(cancel)
		default:
			s.fail("unknown option")
		}
	}
	go func() {
		defer close(s.opened)
		s.client, s.err = mcp.Open(ctx, s.conn, s.o)
	}()
}

func (s *script) awaitOpen() {
	synctest.Wait()
	select {
	case <-s.opened:
	default:
		s.fail("Open has not returned")
	}
}

// Opened checks how the session was opened: era, revision, and "provisional".
func (s *script) Opened(want string) {
	s.awaitOpen()
	if s.err != nil {
		s.fail("Open: %v", s.err)
	}
	i := s.client.Info()
	got := i.Era.String() + " " + i.Version
	if i.Verdict.Provisional {
		got += " provisional"
	}
	if got != want {
		s.fail("opened as %s", got)
	}
	if i.Verdict.Era != i.Era {
		s.fail("the verdict is %v", i.Verdict)
	}
}

// Failed checks Open's error: type, "notsent" or "-", and a part of the text.
func (s *script) Failed(want string) {
	s.awaitOpen()
	s.checkError(s.err, want)
	if s.client != nil {
		s.fail("there is a client all the same")
	}
	select {
	case <-s.peer.Closed():
	default:
		s.fail("the link was left open")
	}
}

func (s *script) checkError(err error, want string) {
	if err == nil {
		s.fail("no error")
	}
	f := strings.SplitN(want, " ", 3)
	kind := errorKind(err)
	if kind != f[0] || errors.Is(err, transport.ErrNotSent) != (f[1] == "notsent") || len(f) > 2 && !strings.Contains(err.Error(), f[2]) {
		s.fail("got %s, not sent: %v, %v", kind, errors.Is(err, transport.ErrNotSent), err)
	}
}

// errorKind names the outermost of the errors that callers tell apart.
func errorKind(err error) string {
	var ie *mcp.InterruptedError
	switch {
	case errors.As(err, new(*mcp.ProbeCrashError)):
		return "crash"
	case errors.As(err, new(*mcp.WrongBindingError)):
		return "binding"
	case errors.Is(err, mcp.ErrGone):
		return "gone"
	case errors.As(err, &ie):
		return "interrupted:" + ie.Phase
	case errors.As(err, new(*mcp.ServerError)):
		return "server"
	case errors.As(err, new(*mcp.StatusError)):
		return "status"
	case errors.As(err, new(*mcp.ProtocolError)):
		return "protocol"
	case errors.As(err, new(*mcp.VersionError)):
		return "version"
	case errors.As(err, new(*mcp.NotOfferedError)):
		return "offered"
	case errors.As(err, new(*transport.NoReplyError)):
		return "noreply"
	case errors.As(err, new(*transport.TooLargeError)):
		return "toolarge"
	case errors.As(err, new(*transport.LostError)):
		return "lost"
	case errors.Is(err, transport.ErrClosed):
		return "closed"
	}
	return "other"
}
