package upstream

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A Set is all servers, and the private sessions with them.
type Set struct {
	instance string // begins the ids of this bridge's sessions
	servers  []*Upstream
	byName   map[string]*Upstream
}

// NewSet makes a Set of servers with different names.
func NewSet(servers []*Upstream) *Set {
	s := &Set{instance: token(instanceBytes), servers: servers, byName: map[string]*Upstream{}}
	for _, u := range servers {
		s.byName[u.Name()] = u
	}
	return s
}

// token is n random bytes as text for a header.
func token(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Instance names this life of the bridge.
func (s *Set) Instance() string { return s.instance }

// All returns the servers in the order of the configuration.
func (s *Set) All() []*Upstream { return slices.Clone(s.servers) }

// Get finds a server by name. An empty name means the only one.
func (s *Set) Get(name string) (*Upstream, error) {
	if name == "" && len(s.servers) == 1 {
		return s.servers[0], nil
	}
	if u, ok := s.byName[name]; ok {
		return u, nil
	}
	return nil, transport.NotSent(&UnknownServerError{Name: name, Known: s.Names()})
}

// Names are the servers' names in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.servers))
	for i, u := range s.servers {
		names[i] = u.Name()
	}
	return names
}

// Open opens a private session.
func (s *Set) Open(ctx context.Context, u *Upstream, spec Spec) (*Session, error) {
	return u.openSession(ctx, s.instance+"."+token(secretBytes), spec)
}

// What a session's id is made of, before it is text.
const (
	instanceBytes = 6
	secretBytes   = 24
)

// instanceOf returns whose session an id is, if it is one at all.
func instanceOf(id string) (instance string, ok bool) {
	instance, secret, _ := strings.Cut(id, ".")
	return instance, isToken(instance, instanceBytes) && isToken(secret, secretBytes)
}

func isToken(s string, n int) bool {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && len(b) == n
}

// Session finds a private session. Another caller's is as unknown as none.
func (s *Set) Session(id, principal string) (*Session, error) {
	if instance, ok := instanceOf(id); ok && instance != s.instance {
		return nil, transport.NotSent(ErrElsewhere)
	}
	for _, u := range s.servers {
		if x, ok := u.session(id); ok {
			if x.spec.Principal != principal {
				break
			}
			return x, nil
		}
	}
	return nil, transport.NotSent(ErrUnknownSession)
}

// CloseSession ends a private session.
func (s *Set) CloseSession(ctx context.Context, x *Session) {
	if x.id != "" {
		x.u.closeSession(ctx, x)
	}
}

// Close ends all servers at once.
func (s *Set) Close(ctx context.Context) {
	var wg sync.WaitGroup
	for _, u := range s.servers {
		wg.Go(func() { u.Close(ctx) })
	}
	wg.Wait()
}

// Shorten makes a session's id fit for logs: it tells sessions apart and opens
// none.
func Shorten(id string) string {
	if len(id) <= 12 {
		return id
	}
	return id[:12] + "…"
}
