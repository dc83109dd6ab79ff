package httpserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// post takes one message, or a batch where the session has them.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != typeJSON {
		http.Error(w, "content type must be "+typeJSON, http.StatusUnsupportedMediaType)
		return
	}
	if !accepts(r.Header.Values("Accept"), typeJSON, typeStream) {
		http.Error(w, "the client must accept "+typeJSON+" and "+typeStream, http.StatusNotAcceptable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "reading the body: "+err.Error(), status)
		return
	}
	res := h.context(r)
	messages, batch, err := split(body, res.Batches)
	if err != nil {
		h.unreadable(w, r, err)
		return
	}
	h.deliver(w, r, res, messages, batch)
}

// maxBatch bounds the messages of one body.
const maxBatch = 100

// split reads the messages of a body.
func split(body []byte, batches bool) (messages []jsonrpc.Message, batch bool, err error) {
	members, batch, err := jsonrpc.ParseBatch(body)
	switch {
	case err != nil:
		return nil, batch, err
	case batch && (!batches || len(members) == 0 || len(members) > maxBatch):
		return nil, batch, fmt.Errorf("%w: an array, which the revision has not, or of no or too many messages", jsonrpc.ErrNotMessage)
	case !batch:
		members = [][]byte{body}
	}
	messages = make([]jsonrpc.Message, len(members))
	for i, text := range members {
		if messages[i], err = jsonrpc.Parse(text); err != nil {
			return nil, batch, err
		}
	}
	return messages, batch, nil
}

// unreadable answers bytes that are no message, in the server's words.
func (h *Handler) unreadable(w http.ResponseWriter, r *http.Request, err error) {
	s := h.newStream(1, "", false)
	me, _ := s.attach(0)
	h.server.HandleUnreadable(r.Context(), err, s)
	h.reply(w, r, s, me, mcp.ContextResult{}, false)
}

// deliver hands the messages over. Where there are calls among them, the reply
// is their exchange; else it is the acceptance.
func (h *Handler) deliver(w http.ResponseWriter, r *http.Request, res mcp.ContextResult, messages []jsonrpc.Message, batch bool) {
	ctx := r.Context() // hanging up cancels (2026-07-28) …
	if res.SessionID != "" {
		// … but not within a session (2025-03-26 §transports, Sending Messages).
		ctx = h.base
	}
	ctx = mcp.ContextWithLabels(res.Attach(ctx), labels(r.Header))
	var calls []*jsonrpc.Call
	for _, m := range messages {
		switch m := m.(type) {
		case *jsonrpc.Call:
			calls = append(calls, m)
		case *jsonrpc.Notification:
			if res.State == mcp.Valid {
				h.server.HandleNotification(ctx, *m)
			}
		case *jsonrpc.Response:
			if res.SessionID == "" && res.State == mcp.Valid {
				// A response belongs to a question, and that to a session.
				res = h.server.CreateContext("", "")
			}
			if res.State == mcp.Valid {
				h.server.HandleResponse(ctx, *m)
			}
		}
	}
	switch {
	case len(calls) > 0:
		h.exchange(ctx, w, r, res, calls, batch)
	case res.State != mcp.Valid:
		refuse(w, res)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// exchange lets the server answer.
func (h *Handler) exchange(ctx context.Context, w http.ResponseWriter, r *http.Request, res mcp.ContextResult, calls []*jsonrpc.Call, batch bool) {
	s := h.newStream(len(calls), res.SessionID, res.SessionID != "")
	s.emit = func(e mcp.SessionInitialized) { w.Header().Set(headerSession, e.ID) }
	if s.id != "" {
		h.streams.add(s)
	}
	me, _ := s.attach(0)
	for _, c := range calls {
		h.server.HandleCall(ctx, *c, s)
	}
	h.reply(w, r, s, me, res, batch)
}

// statuses of an answer that is an error (2026-07-28
// §transports/streamable-http, Status codes). Those of the older era come with
// 200 within a session.
var (
	modernStatuses = map[int64]int{
		jsonrpc.HeaderMismatch:             http.StatusBadRequest,
		jsonrpc.MissingCapability:          http.StatusBadRequest,
		jsonrpc.UnsupportedProtocolVersion: http.StatusBadRequest,
	}
	outsideStatuses = map[int64]int{
		jsonrpc.ParseError:     http.StatusBadRequest,
		jsonrpc.InvalidRequest: http.StatusBadRequest,
		jsonrpc.InvalidParams:  http.StatusBadRequest,
		jsonrpc.MethodNotFound: http.StatusNotFound,
	}
)

// status is that of a reply whose first message is a response.
func status(r *jsonrpc.Response, res mcp.ContextResult) int {
	if r.Error == nil {
		return http.StatusOK
	}
	if s := cmp.Or(refusal(res.State), modernStatuses[r.Error.Code]); s != 0 {
		return s
	}
	if res.SessionID == "" {
		return cmp.Or(outsideStatuses[r.Error.Code], http.StatusOK)
	}
	return http.StatusOK
}

// refusal is the status of a message that may not go on; 0: it may.
func refusal(s mcp.ContextState) int {
	switch s {
	case mcp.SessionUnknown:
		return http.StatusNotFound
	case mcp.SessionRequired, mcp.VersionUnsupported:
		return http.StatusBadRequest
	}
	return 0
}

func refuse(w http.ResponseWriter, res mcp.ContextResult) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(refusal(res.State))
	_, _ = w.Write(jsonrpc.Append(nil, &jsonrpc.Response{Error: res.Err}))
}
