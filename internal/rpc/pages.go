package rpc

import (
	"fmt"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// pages follows the cursors of a list: each once, and not without end. next asks
// for the page that p says, and returns its cursor and how many items there are
// by now. A list is returned whole or not at all.
func (s *Service) pages(p *mcp.Page, next func() (*string, int, error)) error {
	seen := map[string]bool{}
	if p.HasCursor {
		seen[p.Cursor] = true
	}
	for n := 1; ; n++ {
		cursor, items, err := next()
		if err != nil {
			return err
		}
		if items > s.o.MaxItems {
			return &limitError{fmt.Sprintf("the list is longer than max_items (%d)", s.o.MaxItems)}
		}
		if cursor == nil {
			return nil
		}
		if seen[*cursor] {
			return &mcp.ProtocolError{Reason: fmt.Sprintf("the list repeats the cursor %.64q", *cursor)}
		}
		if n >= s.o.MaxPages {
			return &limitError{fmt.Sprintf("the list has more than max_pages (%d) pages", s.o.MaxPages)}
		}
		seen[*cursor] = true
		p.Cursor, p.HasCursor = *cursor, true
	}
}

// sooner is the hint that holds for two pages together: the shorter time, and
// the narrower audience.
func sooner(a, b *mcpbridgev1.CacheHint) *mcpbridgev1.CacheHint {
	if a == nil || b == nil {
		return nil
	}
	if b.Ttl.AsDuration() < a.Ttl.AsDuration() {
		a.Ttl = b.Ttl
	}
	if b.Scope != "public" {
		a.Scope = b.Scope
	}
	return a
}
