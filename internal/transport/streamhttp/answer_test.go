package streamhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	note := `{"jsonrpc":"2.0","method":"n"}`
	for name, c := range map[string]struct {
		status     int
		typ, body  string
		want       []string
		noReply    bool
		unreadable bool
	}{
		"JSON":              {200, "application/json", answer, []string{answer}, false, false},
		"charset":           {200, "Application/JSON; Charset=UTF-8; x=y", answer, []string{answer}, false, false},
		"plus JSON":         {200, "application/problem+json", answer, []string{answer}, false, false},
		"text":              {200, "text/plain", answer, []string{answer + " (HTTP 200 text/plain)"}, false, false},
		"no type":           {200, "", answer, []string{answer + " (HTTP 200 without a content type)"}, false, false},
		"HTML":              {200, "text/html; charset=x", "<html>", []string{"<html> (HTTP 200 text/html)"}, false, false},
		"accepted, JSON":    {202, "application/json", answer, []string{answer}, false, false},
		"accepted":          {202, "", "", nil, true, false},
		"no content":        {204, "", "", nil, true, false},
		"empty":             {200, "application/json", "", nil, true, false},
		"not the answer":    {200, "application/json", note, []string{note}, true, false},
		"stream":            {200, "text/event-stream", "data: " + answer + "\n\n", []string{answer}, false, false},
		"stream, charset":   {200, "Text/Event-Stream;charset=utf-8", "data:" + answer + "\r\n\r\n", []string{answer}, false, false},
		"interleaved":       {200, "text/event-stream", "data: " + note + "\n\nevent: message\ndata: " + note + "\n\ndata: " + answer + "\n\ndata: " + note + "\n\n", []string{note, note, answer}, false, false},
		"lines":             {200, "text/event-stream", "data: " + strings.ReplaceAll(answer, ",", ",\ndata: ") + "\n\ndata: " + answer + "\n\n", []string{strings.ReplaceAll(answer, ",", ",\n"), answer}, false, false},
		"noise around":      {200, "text/event-stream", ": ping\n\nevent: heartbeat\ndata: tick\n\nid: 7\n\ndata\n\ndata:  \n\nretry: 5\n\ndata: " + answer + "\n\n", []string{answer}, false, false},
		"stream ends":       {200, "text/event-stream", "data: " + note + "\n\n", []string{note}, true, false},
		"unfinished event":  {200, "text/event-stream", "data: " + answer + "\n", nil, true, false},
		"empty stream":      {200, "text/event-stream", "", nil, true, false},
		"no JSON":           {200, "text/event-stream", "data: " + note + "\n\ndata: oops\n\ndata: " + answer + "\n\n", []string{note}, false, true},
		"nearly JSON":       {200, "text/event-stream", "data: nullify\n\n", nil, false, true},
		"JSON, no message":  {200, "text/event-stream", "data: null\n\ndata: 42\n\ndata:  [1]\n\ndata: " + answer + "\n\n", []string{"null", "42", " [1]", answer}, false, false},
		"begins like JSON":  {200, "text/event-stream", "data: {oops\n\ndata: " + answer + "\n\n", []string{"{oops", answer}, false, false},
		"ids do not matter": {200, "text/event-stream", "id: 1\nretry: 0\ndata:\n\nid: 2\ndata: " + answer + "\n\n", []string{answer}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cn := conn(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.typ != "" {
					w.Header().Set("Content-Type", c.typ)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			got, err := ask(t, cn, call(transport.LinkNone))
			switch {
			case c.unreadable:
				want[*transport.UnreadableError](t, err)
				err = nil
			case c.noReply:
				if e := want[*transport.NoReplyError](t, err); e.Status != c.status || e.Err != nil {
					t.Errorf("%+v", e)
				}
				err = nil
			}
			wantAnswer(t, got, err, append([]string{}, c.want...)...)
		})
	}
}

func TestNoAnswerExpected(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"202":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) },
		"204":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"200 and null": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "null") },
		"endless stream": func(w http.ResponseWriter, r *http.Request) {
			swallow(r)
			begin(w)
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conn(t, h)
			if err := c.Send(t.Context(), transport.Frame{Body: []byte("{}")}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	c := conn(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 400) })
	err := c.Send(t.Context(), transport.Frame{Body: []byte("{}")}, nil)
	if e := want[*transport.RefusedError](t, err); e.Status != 400 || e.Text != "Bad Request: no" {
		t.Errorf("%+v", e)
	}
}

func TestStreamCutInTheMiddle(t *testing.T) {
	t.Parallel()
	c := conn(t, func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		emit(w, "data: {}\n\n")
		hangUp()
	})
	got, err := ask(t, c, call(transport.LinkWithin)) // no event id: nothing to resume from
	want[*transport.LostError](t, err)
	wantAnswer(t, got, nil, "{}")
}

func TestOversize(t *testing.T) {
	t.Parallel()
	stats := new(transport.Stats)
	c := conn(t, func(w http.ResponseWriter, r *http.Request) {
		switch swallow(r) {
		case `"length"`:
			w.Header().Set("Content-Length", "101")
			_, _ = io.WriteString(w, strings.Repeat("x", 101))
		case `"chunks"`:
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, strings.Repeat("x", 101))
		case `"stream"`:
			begin(w)
			emit(w, "data: %s", strings.Repeat("1", 101)) // and no end
			<-r.Context().Done()
		}
	}, func(o *streamhttp.Options) { o.MaxMessageBytes, o.Stats = 100, stats })
	for i, how := range []string{"length", "chunks", "stream"} {
		_, err := ask(t, c, transport.Frame{Body: []byte(`"` + how + `"`), Expects: true})
		if e := want[*transport.TooLargeError](t, err); !e.Inbound || e.Limit != 100 {
			t.Errorf("%s: %+v", how, e)
		}
		if n := stats.TooLarge.Load(); n != int64(i+1) {
			t.Errorf("%s: counted %d", how, n)
		}
	}
	_, err := ask(t, c, transport.Frame{Body: make([]byte, 101), Expects: true})
	if e, ok := errors.AsType[*transport.TooLargeError](err); !ok || e.Inbound || e.Size != 101 || !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("outbound: %v", err)
	}
}

func TestSinkErrorEndsTheExchange(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	c := conn(t, func(w http.ResponseWriter, r *http.Request) {
		swallow(r)
		begin(w)
		emit(w, "id: 1\ndata: {}\n\n")
		<-r.Context().Done()
		close(gone)
	})
	// Not even an error that looks like a broken stream makes it be resumed.
	weary := &transport.LostError{Err: errors.New("weary")}
	err := c.Send(t.Context(), call(transport.LinkWithin), func(transport.Inbound) error { return weary })
	if err != weary {
		t.Errorf("got %v", err)
	}
	<-gone
}

// Hanging up is the signal that a call is cancelled.
func TestCancelHangsUp(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	c := conn(t, func(w http.ResponseWriter, r *http.Request) {
		swallow(r)
		begin(w)
		emit(w, "data: {}\n\n")
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	weary := errors.New("weary")
	err := c.Send(ctx, call(transport.LinkWithin), func(transport.Inbound) error { cancel(weary); return nil })
	if err != weary {
		t.Errorf("got %v", err)
	}
	<-gone
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	body := `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}`
	c := conn(t, func(w http.ResponseWriter, r *http.Request) {
		if swallow(r) == `"open"` {
			w.Header().Set("Mcp-Session-Id", "s")
			_, _ = io.WriteString(w, answer)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Www-Authenticate", "Bearer x")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, body)
	})
	_, err := ask(t, c, call(transport.LinkWithin))
	if e := want[*transport.RefusedError](t, err); e.Status != 404 || e.Session || string(e.Body) != body || e.Type != "application/json" || e.WWWAuthenticate != "Bearer x" {
		t.Errorf("without a session: %+v", e)
	}
	if _, err := ask(t, c, transport.Frame{Body: []byte(`"open"`), Expects: true, Link: transport.LinkOpen}); err != nil {
		t.Fatal(err)
	}
	for link, session := range map[transport.Link]bool{transport.LinkNone: false, transport.LinkOpen: false, transport.LinkWithin: true} {
		_, err = ask(t, c, call(link))
		if e := want[*transport.RefusedError](t, err); e.Session != session {
			t.Errorf("link %d: %+v", link, e)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	stats := new(transport.Stats)
	c := conn(t, func(w http.ResponseWriter, r *http.Request) {
		begin(w)
		emit(w, "data: {}\n\ndata: %s\n\n", answer)
	}, func(o *streamhttp.Options) { o.Stats = stats })
	f := call(transport.LinkNone)
	if _, err := ask(t, c, f); err != nil {
		t.Fatal(err)
	}
	if stats.FramesOut.Load() != 1 || stats.BytesOut.Load() != int64(len(f.Body)) || stats.Writes.Load() != 1 ||
		stats.FramesIn.Load() != 2 || stats.BytesIn.Load() != int64(2+len(answer)) {
		t.Errorf("%+v", stats)
	}
}

func TestDialChecksItsOptions(t *testing.T) {
	t.Parallel()
	if _, err := (streamhttp.Dialer{Options: streamhttp.Options{URL: "mcp.example"}}).Dial(t.Context()); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("got %v", err)
	}
	c, err := (streamhttp.Dialer{Options: streamhttp.Options{URL: "https://u:p@mcp.example/mcp?key=secret"}}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if b := c.Binding(); b != (transport.Binding{Name: "streamable-http", Peer: "https://mcp.example/mcp"}) {
		t.Errorf("%+v", b)
	}
}
