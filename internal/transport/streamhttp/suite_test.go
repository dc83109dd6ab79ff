package streamhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

func TestContractWithEventStreams(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Peer { return open(t, true) })
}

func TestContractWithJSON(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Peer { return open(t, false) })
}

// open makes a link to a server that does what the suite says. Answers are event
// streams, or, where there is only one frame to say, JSON.
func open(t *testing.T, stream bool) transporttest.Peer {
	say := make(chan []byte)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		far := &far{w: w, r: r, stream: stream}
		switch r.Method {
		case http.MethodGet:
			if !stream {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			far.begin()
			for {
				select {
				case b := <-say:
					far.Reply(b)
				case <-r.Context().Done():
					return
				}
			}
		case http.MethodPost:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			verb := transporttest.Word(body)
			far.stream = stream || len(verb) > 5 && verb[:5] == "flood" || verb == "hold"
			if verb == "note well" {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			if err := transporttest.Obey(body, far); err != nil && r.Context().Err() == nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(srv.Close)
	c, err := streamhttp.New(streamhttp.Options{URL: srv.URL + "/mcp", MaxMessageBytes: transporttest.MaxMessageBytes})
	if err != nil {
		t.Fatal(err)
	}
	p := transporttest.Peer{Conn: c, Frame: transporttest.JSON}
	if stream {
		p.Say = func(b []byte) { say <- b }
	}
	return p
}

type far struct {
	w      http.ResponseWriter
	r      *http.Request
	stream bool
	events *eventstream.Writer
}

func (f *far) begin() {
	f.w.Header().Set("Content-Type", "text/event-stream")
	f.w.WriteHeader(http.StatusOK)
	f.w.(http.Flusher).Flush()
	f.events = eventstream.NewWriter(f.w)
}

func (f *far) Reply(b []byte) error {
	if !f.stream {
		f.w.Header().Set("Content-Type", "application/json")
		_, err := f.w.Write(b)
		return err
	}
	if f.events == nil {
		f.begin()
	}
	err := f.events.Write(eventstream.Event{Data: b})
	f.w.(http.Flusher).Flush()
	return err
}

func (f *far) End() {
	if f.stream && f.events == nil {
		f.begin()
	}
}

func (f *far) Break() { panic(http.ErrAbortHandler) }

func (f *far) Hold() { <-f.r.Context().Done() }
