package mcp

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// listing is one of the lists that clients page through, each entry written
// out once.
type listing struct {
	member  string
	entries [][]byte
}

func (l *listing) add(entry any) error {
	b, err := serverJSON(entry)
	if err != nil {
		return err
	}
	l.entries = append(l.entries, b)
	return nil
}

// page writes the page that a cursor names.
func (l *listing) page(params []byte, size int) ([]byte, error) {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	if e := serverRead(params, &p); e != nil {
		return nil, e
	}
	at := 0
	if p.Cursor != nil {
		var ok bool
		if at, ok = l.place(*p.Cursor); !ok {
			return nil, invalidParams("invalid cursor")
		}
	}
	end := min(at+size, len(l.entries))
	out := append(append([]byte(`{"`), l.member...), `":[`...)
	for i, e := range l.entries[at:end] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	out = append(out, ']')
	if end < len(l.entries) {
		out = append(out, `,"nextCursor":`...)
		out = jsonrpc.AppendString(out, l.cursor(end))
	}
	return append(out, '}'), nil
}

// cursor is opaque to clients. It names its list, so that a cursor of another
// list is noticed.
func (l *listing) cursor(at int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.member + ":" + strconv.Itoa(at)))
}

func (l *listing) place(cursor string) (int, bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	digits, ok := strings.CutPrefix(string(b), l.member+":")
	at, err := strconv.Atoi(digits)
	if !ok || err != nil || at <= 0 || at >= len(l.entries) {
		return 0, false
	}
	return at, true
}

// listMethod is the row of a list in an era's table.
func listMethod(offered func(*registry) bool, list func(*registry) *listing) serverMethod {
	return serverMethod{
		offered: offered,
		dress:   serverDressList,
		run: func(_ context.Context, c *serverCall) ([]byte, error) {
			return list(&c.server.has).page(c.rpc.Params, c.server.opts.PageSize)
		},
	}
}
