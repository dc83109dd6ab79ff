package rpc

import (
	"sync"
	"sync/atomic"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// hints remember which tools their servers call harmless to repeat, from the
// lists that went by. No list is ever fetched for them.
type hints struct {
	mu     sync.Mutex // of those who learn
	byName sync.Map   // *upstream.Upstream → *atomic.Pointer[toolSet]
}

// A toolSet holds names of tools. It never changes.
type toolSet map[string]struct{}

func (h *hints) of(u *upstream.Upstream) *atomic.Pointer[toolSet] {
	if p, ok := h.byName.Load(u); ok {
		return p.(*atomic.Pointer[toolSet])
	}
	p, _ := h.byName.LoadOrStore(u, new(atomic.Pointer[toolSet]))
	return p.(*atomic.Pointer[toolSet])
}

// repeatable reports whether a tool is known to be read-only or idempotent.
func (h *hints) repeatable(u *upstream.Upstream, tool string) bool {
	set := h.of(u).Load()
	if set == nil {
		return false
	}
	_, ok := (*set)[tool]
	return ok
}

// learn takes up what a page says of the tools on it. whole: there are no others.
// most bounds what is remembered.
func (h *hints) learn(u *upstream.Upstream, page []*mcpbridgev1.Tool, whole bool, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.of(u)
	old := p.Load()
	set := toolSet{}
	if old != nil && !whole && len(*old)+len(page) <= most {
		for name := range *old {
			set[name] = struct{}{}
		}
	}
	for _, t := range page {
		if t.GetAnnotations().GetReadOnlyHint() || t.GetAnnotations().GetIdempotentHint() {
			set[t.GetName()] = struct{}{}
		} else {
			delete(set, t.GetName())
		}
	}
	p.Store(&set)
}
