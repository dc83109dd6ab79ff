// Package httpserve serves MCP at one HTTP endpoint: Streamable HTTP of all
// revisions (2025-03-26 to 2026-07-28 §transports). An answer is JSON where it
// comes first, and an event stream where something comes before it. Streams
// within a session can be taken up again, from a bounded memory.
//
// It does not know: methods, what a session holds, tools, eras. What status a
// refusal has follows from its code.
package httpserve

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// Options bound what clients can do to us. The zero Options are good.
type Options struct {
	MaxBody        int64         // bytes of a request; 0: 64 MiB
	KeepAlive      time.Duration // a comment on a silent stream; also how long an answer may take before the reply becomes a stream; 0: 15s
	Stall          time.Duration // how long an event may take to leave before the client counts as gone; 0: 30s
	Window         int           // messages that may wait for a slow client; 0: 256
	ReplayEvents   int           // events kept of a stream; 0: 256
	ReplayBytes    int           // bytes kept of a stream; 0: 1 MiB, but always the last event
	MaxStreams     int           // streams that nobody reads but that can be taken up again; 0: 64
	AllowedOrigins []string      // browsers' origins, beside our own
	AllowedHosts   []string      // names in Host on a loopback address, beside its own

	// CutAfter ends every stream that can be taken up again after so many
	// messages, asking the client to come back after Retry; 0: never. It is the
	// polling of 2025-11-25, and a trial for clients.
	CutAfter int
	Retry    time.Duration

	Logger *slog.Logger // nil: none
}

// A Handler is the endpoint. It looks at no path.
type Handler struct {
	server  *mcp.Server
	o       Options
	log     *slog.Logger
	streams *store
	base    context.Context // of calls that outlive their request; Close ends it
	end     context.CancelFunc
}

// New makes an endpoint for s. Close it before s.
func New(s *mcp.Server, o Options) *Handler {
	o.MaxBody = cmp.Or(o.MaxBody, 64<<20)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	o.Window = cmp.Or(o.Window, 256)
	o.ReplayEvents = cmp.Or(o.ReplayEvents, 256)
	o.ReplayBytes = cmp.Or(o.ReplayBytes, 1<<20)
	o.MaxStreams = cmp.Or(o.MaxStreams, 64)
	o.Retry = cmp.Or(o.Retry, time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{server: s, o: o, log: o.Logger, streams: newStore(o.MaxStreams)}
	h.base, h.end = context.WithCancel(context.Background())
	return h
}

// Close ends all streams. The handler starts no goroutine that outlives its
// request, so there is nothing to wait for but the HTTP server.
func (h *Handler) Close() {
	h.end()
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := h.forbidden(r); reason != "" {
		http.Error(w, reason, http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.base, cancel)()
	r = r.WithContext(ctx)
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		notAllowed(w)
	}
}

func notAllowed(w http.ResponseWriter) {
	w.Header().Set("Allow", "POST, GET, DELETE")
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

// delete ends a session (2025-03-26 §transports, Session Management). Without
// one there is nothing to end, and so no such method (2026-07-28).
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	res := h.context(r)
	switch {
	case res.State == mcp.SessionUnknown:
		refuse(w, res)
	case res.SessionID == "":
		notAllowed(w)
	default:
		h.server.Terminate(res.SessionID)
		h.streams.drop(res.SessionID)
		w.WriteHeader(http.StatusNoContent)
	}
}

// context asks the server about what stands in the header.
func (h *Handler) context(r *http.Request) mcp.ContextResult {
	return h.server.CreateContext(r.Header.Get(headerSession), r.Header.Get(headerVersion))
}
