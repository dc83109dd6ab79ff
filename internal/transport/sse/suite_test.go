package sse_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/sse"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func TestContract(t *testing.T) {
	transporttest.Run(t, open)
}

// open makes a link to a server that does what the suite says.
func open(t *testing.T) transporttest.Peer {
	far := &far{ended: make(chan struct{}), gone: make(chan struct{}), broken: make(chan struct{})}
	srv := httptest.NewServer(far)
	t.Cleanup(srv.Close)
	c, err := sse.Dialer{Options: sse.Options{URL: srv.URL + "/sse", MaxMessageBytes: transporttest.MaxMessageBytes}}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return transporttest.Peer{Conn: c, Frame: transporttest.JSON, Say: func(b []byte) { far.Reply(b) }}
}

// far is the server of one link.
type far struct {
	ended, broken chan struct{} // the stream is to end
	gone          chan struct{} // the near side has hung up

	reading sync.Mutex // held while a frame is read and obeyed
	mu      sync.Mutex
	w       http.ResponseWriter
	events  *eventstream.Writer
}

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		f.reading.Lock()
		defer f.reading.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.WriteHeader(http.StatusAccepted)
		w.(http.Flusher).Flush()
		_ = transporttest.Obey(body, f)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	f.mu.Lock()
	f.w, f.events = w, eventstream.NewWriter(w)
	f.events.Write(eventstream.Event{Type: "endpoint", Data: []byte("/messages?session=1")})
	w.(http.Flusher).Flush()
	f.mu.Unlock()
	defer close(f.gone)
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events = nil
	}()
	select {
	case <-r.Context().Done():
	case <-f.ended:
	case <-f.broken:
		panic(http.ErrAbortHandler)
	}
}

func (f *far) Reply(b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.events == nil {
		return errors.New("the stream is over")
	}
	err := f.events.Write(eventstream.Event{Data: b})
	f.w.(http.Flusher).Flush()
	return err
}

func (f *far) End()   { close(f.ended) }
func (f *far) Break() { close(f.broken) }
func (f *far) Hold()  { <-f.gone }
