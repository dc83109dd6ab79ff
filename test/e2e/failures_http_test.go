//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// A scriptedHTTP is the scripted server on Streamable HTTP.
type scriptedHTTP struct {
	url  string
	mu   sync.Mutex
	seen []string
}

func newScriptedHTTP(t *testing.T) *scriptedHTTP {
	t.Helper()
	s := &scriptedHTTP{}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/mcp"
	return s
}

func (s *scriptedHTTP) messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *scriptedHTTP) record(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, what)
}

func (s *scriptedHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m := &message{}
	if json.Unmarshal(body, m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.record(m.Method)
	answer := common(m)
	switch {
	case answer != "":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	case m.Method == "tools/call":
		s.tool(w, r, m)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// tool does what the tool's name says.
func (s *scriptedHTTP) tool(w http.ResponseWriter, r *http.Request, m *message) {
	body := func(contentType, format string, args ...any) {
		w.Header().Set("Content-Type", contentType)
		_, _ = fmt.Fprintf(w, format, args...)
	}
	const (
		asJSON  = "application/json"
		asEvent = "text/event-stream"
	)
	if status, err := strconv.Atoi(m.Params.Name); err == nil {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "it broke")
		return
	}
	switch m.Params.Name {
	case "ok":
		body(asJSON, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, okResult)
	case "noise": // on a stream: lines that are no fields, and events that are no messages
		body(asEvent, "garbage\n\nevent: other\ndata: {broken\n\n: comment\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, okResult)
	case "badjson":
		body(asJSON, `{"jsonrpc":"2.0","id":%s,"result":{"content":[oops`, m.ID)
	case "badevent":
		body(asEvent, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{oops\n\n", m.ID)
	case "badresult":
		body(asJSON, `{"jsonrpc":"2.0","id":%s,"result":42}`, m.ID)
	case "rpcerror":
		body(asJSON, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken inside"}}`, m.ID)
	case "sseend":
		body(asEvent, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
	case "empty":
		w.Header().Set("Content-Type", asJSON)
	case "end":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	case "silent":
		w.Header().Set("Content-Type", asEvent)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		s.record("left")
	}
}
