package httpserve

import (
	"context"
	"net/http"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// get opens a session's stream for what belongs to no call, or takes a broken
// stream up again (2025-03-26 §transports). Outside a session there is neither
// (2026-07-28).
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	res := h.context(r)
	switch {
	case res.State == mcp.SessionUnknown, res.State == mcp.VersionUnsupported:
		refuse(w, res)
	case res.SessionID == "":
		notAllowed(w)
	case !accepts(r.Header.Values("Accept"), typeStream):
		http.Error(w, "the client must accept "+typeStream, http.StatusNotAcceptable)
	case r.Header.Get(headerLast) != "":
		h.resume(w, r, res)
	default:
		s := h.newStream(-1, res.SessionID, true)
		h.streams.add(s)
		h.listen(w, r, res, s, 0)
	}
}

// resume goes on after the event that the client saw last.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request, res mcp.ContextResult) {
	s, after, ok := h.streams.find(r.Header.Get(headerLast), res.SessionID)
	if !ok {
		// Not 404, which would mean the session.
		http.Error(w, "unknown or forgotten event", http.StatusBadRequest)
		return
	}
	h.listen(w, r, res, s, after)
}

// listen writes a stream from an event on. For a stream that is no exchange it
// also lets the server speak on it, for as long as the client is there.
func (h *Handler) listen(w http.ResponseWriter, r *http.Request, res mcp.ContextResult, s *stream, after uint64) {
	me, ok := s.attach(after)
	if !ok {
		h.streams.rest(s)
		http.Error(w, "unknown or forgotten event", http.StatusBadRequest)
		return
	}
	defer h.leave(s, me)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	out := h.open(w, s, res)
	defer out.close()
	if out.prime(after) != nil {
		return
	}
	if s.isExchange() {
		h.copy(r, out, s, me)
		return
	}
	var own sync.WaitGroup
	own.Go(func() {
		defer cancel()
		err := h.server.HandleListen(res.Attach(ctx), s)
		h.log.Debug("listening ended", "err", err)
	})
	h.copy(r, out, s, me)
	cancel()
	s.detach(me) // releases a Send that waits for us
	own.Wait()
}
