package mcp_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// onceDialer makes links of which each answers by method, and writes down what
// was sent.
type onceDialer struct {
	private bool
	answers map[string]string // the member after the id; "lost": the link breaks
	refuse  map[string]*transport.RefusedError
	sent    []string
	conns   []*fakeConn
	err     error
}

func (d *onceDialer) Dial(context.Context) (transport.Conn, error) {
	if d.err != nil {
		return nil, d.err
	}
	conn := &fakeConn{private: d.private}
	broken := make(chan struct{})
	conn.send = func(_ context.Context, f transport.Frame, method string, sink transport.Sink) (error, bool) {
		d.sent = append(d.sent, method)
		if r := d.refuse[method]; r != nil {
			return r, true
		}
		switch a, ok := d.answers[method]; {
		case a == "lost":
			close(broken)
			return nil, true
		case ok:
			return conn.answer(mustID(f.Body), a, sink), true
		}
		return nil, false
	}
	if !d.private {
		conn.listen = func(ctx context.Context, sink transport.Sink) error {
			for {
				select {
				case in := <-conn.in:
					_ = sink(in)
				case <-broken:
					return &transport.LostError{Exit: "exit status 101"}
				case <-conn.closed:
					return transport.ErrClosed
				}
			}
		}
	}
	d.conns = append(d.conns, conn)
	return conn, nil
}

func TestOnce(t *testing.T) {
	t.Parallel()
	const no = `"error":{"code":-32601,"message":"no"}`
	for _, c := range []struct {
		name     string
		d        onceDialer
		o        mcp.Options
		sent     []string
		envelope string
		info     string // era and revision; empty: none
		err      string // errorKind; empty: none
	}{
		{name: "modern by pin", d: onceDialer{private: true}, o: mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}},
			sent: []string{"x"}, envelope: `{"jsonrpc":"2.0","id":1,"result":{}}`, info: "modern 2026-07-28"},
		{name: "modern by pin, shared", o: mcp.Options{Protocol: mcp.Protocol{Version: "2026-07-28"}},
			sent: []string{"x"}, envelope: `{"jsonrpc":"2.0","id":1,"result":{}}`, info: "modern 2026-07-28"},
		{name: "modern by hint", d: onceDialer{private: true}, o: mcp.Options{Hint: mcp.Hint{Era: mcp.EraModern, Version: "2026-07-28"}},
			sent: []string{"x"}, envelope: `{"jsonrpc":"2.0","id":1,"result":{}}`, info: "modern 2026-07-28"},
		{name: "modern, but a legacy one is wanted", d: onceDialer{private: true}, o: mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}, MaxVersion: "2025-11-25"},
			err: "version"},
		{name: "modern by probe", d: onceDialer{private: true},
			sent: []string{"server/discover", "x"}, envelope: `{"jsonrpc":"2.0","id":2,"result":{}}`, info: "modern 2026-07-28"},
		{name: "legacy by probe", d: onceDialer{private: true, answers: map[string]string{"server/discover": no}},
			sent:     []string{"server/discover", "initialize", "notifications/initialized", "x"},
			envelope: `{"jsonrpc":"2.0","id":3,"result":{}}`, info: "legacy 2025-11-25"},
		{name: "legacy by pin", d: onceDialer{}, o: mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraLegacy}},
			sent:     []string{"initialize", "notifications/initialized", "x"},
			envelope: `{"jsonrpc":"2.0","id":2,"result":{}}`, info: "legacy 2025-11-25"},
		{name: "dies of the probe", d: onceDialer{answers: map[string]string{"server/discover": "lost"}},
			sent:     []string{"server/discover", "initialize", "notifications/initialized", "x"},
			envelope: `{"jsonrpc":"2.0","id":2,"result":{}}`, info: "legacy 2025-11-25"},
		{name: "an error", d: onceDialer{private: true, answers: map[string]string{"x": no}}, o: mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}},
			sent: []string{"x"}, envelope: `{"jsonrpc":"2.0","id":1,` + no + `}`, info: "modern 2026-07-28", err: "server"},
		{name: "an error where a null result was expected", d: onceDialer{private: true, answers: map[string]string{"x": `"result":null,` + no}}, o: mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}},
			sent: []string{"x"}, envelope: `{"jsonrpc":"2.0","id":1,"result":null,` + no + `}`, info: "modern 2026-07-28", err: "server"},
		{name: "an error with a status", d: onceDialer{private: true, refuse: map[string]*transport.RefusedError{"x": {Status: 404, Body: []byte(`{"id":1,` + no + `}`)}}},
			o:    mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}},
			sent: []string{"x"}, envelope: `{"id":1,` + no + `}`, info: "modern 2026-07-28", err: "server"},
		{name: "a status", d: onceDialer{private: true, refuse: map[string]*transport.RefusedError{"x": {Status: 502, Body: []byte(`<html>`)}}},
			o:    mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}},
			sent: []string{"x"}, info: "modern 2026-07-28", err: "status"},
		{name: "broken", d: onceDialer{private: true, answers: map[string]string{"x": `"result":{"a"`}}, o: mcp.Options{Protocol: mcp.Protocol{Era: mcp.EraModern}},
			sent: []string{"x"}, info: "modern 2026-07-28", err: "protocol"},
		{name: "not opened", d: onceDialer{private: true, refuse: map[string]*transport.RefusedError{"server/discover": {Status: 401}}},
			sent: []string{"server/discover"}, err: "status"},
		{name: "not dialled", d: onceDialer{err: transport.NotSent(&transport.LostError{})}, err: "lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			envelope, info, err := mcp.Once(t.Context(), &c.d, c.o, &mcp.Request{Method: "x"})
			if string(envelope) != c.envelope {
				t.Errorf("the envelope is %s", envelope)
			}
			got := ""
			if info != nil {
				got = info.Era.String() + " " + info.Version
			}
			if got != c.info {
				t.Errorf("the server is %s", got)
			}
			if (err == nil) != (c.err == "") || err != nil && errorKind(err) != c.err {
				t.Errorf("got %v", err)
			}
			if d := cmp.Diff(c.sent, c.d.sent); d != "" {
				t.Errorf("sent (-want +got)\n%s", d)
			}
			if c.d.err != nil && !errors.Is(err, transport.ErrNotSent) {
				t.Error("what was not dialled was not sent")
			}
			if i := slices.IndexFunc(c.d.conns, func(f *fakeConn) bool {
				select {
				case <-f.closed:
					return false
				default:
					return true
				}
			}); i >= 0 {
				t.Errorf("link %d is open", i)
			}
		})
	}
}
