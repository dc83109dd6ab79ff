package httpserve

import (
	"errors"
	"net/http"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
)

// reply writes an exchange: as JSON if the only answer comes first, and soon;
// else as events. me is the reader.
func (h *Handler) reply(w http.ResponseWriter, r *http.Request, s *stream, me uint64, res mcp.ContextResult, batch bool) {
	defer h.leave(s, me)
	first, ok, err := h.next(r, s, me)
	switch {
	case errors.Is(err, errEnded): // its session has ended: there is no answer
		h.open(w, s, res)
		return
	case err != nil:
		return
	}
	if m, isResponse := first.m.(*jsonrpc.Response); ok && isResponse && !batch {
		h.streams.forget(s)
		w.Header().Set("Content-Type", typeJSON)
		w.WriteHeader(status(m, res))
		_, _ = w.Write(first.data)
		return
	}
	out := h.open(w, s, res)
	defer out.close()
	if out.prime(0) != nil || ok && out.message(first) != nil {
		return
	}
	h.copy(r, out, s, me)
}

// next waits for an event; ok is false where it is time for a sign of life.
func (h *Handler) next(r *http.Request, s *stream, me uint64) (e event, ok bool, err error) {
	timer := time.NewTimer(h.o.KeepAlive)
	defer timer.Stop()
	return s.take(r.Context(), me, timer.C)
}

// leave ends the reading; what can be taken up again is kept.
func (h *Handler) leave(s *stream, me uint64) {
	s.detach(me)
	if s.id != "" {
		h.streams.rest(s)
	}
}

// copy writes events until the stream or the client has come to its end.
func (h *Handler) copy(r *http.Request, out *output, s *stream, me uint64) {
	for {
		if out.cut() {
			return
		}
		e, ok, err := h.next(r, s, me)
		switch {
		case err != nil:
			return
		case !ok:
			err = out.comment()
		default:
			err = out.message(e)
		}
		if err != nil {
			return
		}
	}
}

// output is an event stream on its way to a client.
type output struct {
	w      *eventstream.Writer
	ctl    *http.ResponseController
	stall  time.Duration
	s      *stream
	primes bool
	limit  int // messages; 0: any
	retry  time.Duration
	wrote  int
}

// open begins an event stream. Proxies must not gather its events.
func (h *Handler) open(w http.ResponseWriter, s *stream, res mcp.ContextResult) *output {
	w.Header().Set("Content-Type", typeStream)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	o := &output{w: eventstream.NewWriter(w), ctl: http.NewResponseController(w), stall: h.o.Stall, s: s, primes: res.Primes && s.id != "", retry: h.o.Retry}
	if s.id != "" {
		o.limit = h.o.CutAfter
	}
	return o
}

// prime names a place in the stream before there is an event, so that a client
// can come back to it (2025-11-25 §transports). n is the last event it has. It
// also makes the header leave.
func (o *output) prime(n uint64) error {
	if !o.primes {
		return o.ctl.Flush()
	}
	return o.write(eventstream.Event{ID: o.s.eventID(n), HasID: true, Data: []byte{}, Retry: o.retry, HasRetry: o.limit > 0})
}

func (o *output) message(e event) error {
	ev := eventstream.Event{Type: "message", Data: e.data}
	if o.s.id != "" {
		ev.ID, ev.HasID = o.s.eventID(e.n), true
		ev.Retry, ev.HasRetry = o.retry, o.limit > 0
	}
	o.wrote++
	return o.write(ev)
}

func (o *output) write(ev eventstream.Event) error {
	o.hurry()
	if err := o.w.Write(ev); err != nil {
		return err
	}
	return o.ctl.Flush()
}

func (o *output) comment() error {
	o.hurry()
	if err := o.w.Comment("keep-alive"); err != nil {
		return err
	}
	return o.ctl.Flush()
}

// hurry gives the next write a deadline, so that a client that has stopped
// reading can't keep a stream for ever. Not every writer can do that.
func (o *output) hurry() { _ = o.ctl.SetWriteDeadline(time.Now().Add(o.stall)) }

// close lets the connection be used for other requests.
func (o *output) close() { _ = o.ctl.SetWriteDeadline(time.Time{}) }

// cut tells that it is time to end the reply, though not the stream.
func (o *output) cut() bool { return o.limit > 0 && o.wrote >= o.limit }
