package rpc

import (
	"time"

	connect "connectrpc.com/connect/v2"
)

// A Context is about, for tests of the table.
type Context struct {
	Server, Method  string
	Private, Repeat bool
	Stderr, Notify  bool
	Given           time.Duration
}

func (c Context) about() about {
	return about{
		server: c.Server, method: c.Method, private: c.Private, repeatable: c.Repeat,
		exposeStderr: c.Stderr, notify: c.Notify, given: c.Given,
	}
}

// Fail makes of err what a caller gets.
func (s *Service) Fail(err error, c Context) *connect.Error {
	return s.fail(err, c.about()).(*connect.Error)
}

// Errors of this package that tests of the table need.
var ErrDraining, ErrNotStarted = errDraining, errNotStarted

func Invalid(text string) error               { return invalid("%s", text) }
func LimitError(text string) error            { return &limitError{text} }
func CapabilityError(server string) error     { return &capabilityError{server} }
func Unimplemented(text string, a bool) error { return &unimplementedError{text, a} }

// Positions.
func FormatPosition(instance string, keys []string, seqs []uint64) string {
	p := newPosition(instance)
	for i, k := range keys {
		p.set(k, seqs[i])
	}
	return p.String()
}

func ParsePosition(text, instance string) (map[string]uint64, bool, error) {
	return parsePosition(text, instance)
}

// Cut is cut.
func Cut(s string, n int) string { return cut(s, n) }
