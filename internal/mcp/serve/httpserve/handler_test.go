package httpserve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/httpserve"
)

func TestAnAnswerThatComesFirstIsJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	status, body, header := f.send("POST", call("7", "steps", `{"n":0}`), modern("tools/call", "steps")...)
	if status != 200 || header.Get("Content-Type") != "application/json" || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":7,"result":{`) || header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v %s", status, header, body)
	}
}

func TestWhatComesBeforeTheAnswerMakesAStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	_, body, header := f.send("POST", call("7", "steps", `{"n":2}`), modern("tools/call", "steps")...)
	if header.Get("Content-Type") != "text/event-stream" || header.Get("X-Accel-Buffering") != "no" || header.Get("Cache-Control") != "no-store" {
		t.Error(header)
	}
	if strings.Count(body, "\n\n") != 3 || strings.Contains(body, "id: ") || strings.Contains(body, "event:") || !strings.Contains(body, "data: {\"jsonrpc\":\"2.0\",\"id\":7,") {
		t.Errorf("%q", body) // events of 2026-07-28 have no ids
	}

	sid := f.session("2025-11-25")
	_, body, _ = f.send("POST", legacyCall("7", "steps", `{"n":2}`), "Mcp-Session-Id", sid)
	if strings.Count(body, "id: ") != 4 || !strings.Contains(body, "data: \n\n") {
		t.Errorf("%q", body) // with an event that has only an id at first
	}
	sid = f.session("2025-06-18")
	_, body, _ = f.send("POST", legacyCall("7", "steps", `{"n":2}`), "Mcp-Session-Id", sid)
	if strings.Count(body, "id: ") != 3 || strings.Contains(body, "data: \n\n") {
		t.Errorf("%q", body) // which older clients would take for a message
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{MaxBody: 4096})
	sid := f.session("2025-11-25")
	batching := f.session("2025-03-26")
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	answer := `{"jsonrpc":"2.0","id":1,"result":{}}`
	tests := []struct {
		name    string
		method  string
		body    string
		headers []string
		status  int
		want    string // in the body
	}{
		{"modern", "POST", list, modern("tools/list", ""), 200, `"resultType"`},
		{"modern, a session is ignored", "POST", list, modern("tools/list", "", "Mcp-Session-Id", "x"), 200, `"resultType"`},
		{"modern, no headers", "POST", list, nil, 400, `-32020`},
		{"modern, no headers, in a session", "POST", list, []string{"Mcp-Session-Id", sid}, 400, `-32020`},
		{"modern, no method", "POST", list, []string{"MCP-Protocol-Version", "2026-07-28"}, 400, `-32020`},
		{"modern, two methods", "POST", list, modern("tools/list, tools/list", ""), 400, `-32020`},
		{"modern, no meta", "POST", legacy, modern("tools/list", ""), 400, `-32602`},
		{"modern, unknown method", "POST", strings.Replace(list, "tools/list", "tools/x", 1), modern("tools/x", ""), 404, `-32601`},
		{"modern, another revision", "POST", strings.Replace(list, "2026-07-28", "2027-01-01", 1), modern("tools/list", "", "MCP-Protocol-Version", "2027-01-01"), 400, `"id":1,"error":{"code":-32022`},
		{"modern, a name in Base64", "POST", call("1", "steps", `{"n":0}`), modern("tools/call", "=?base64?c3RlcHM=?="), 200, `"resultType"`},
		{"modern, broken Base64", "POST", call("1", "steps", `{"n":0}`), modern("tools/call", "=?base64?c3RlcHM?="), 400, `-32020`},
		{"modern, a repeated argument", "POST", call("1", "mirror", `{"r":" ü"}`), modern("tools/call", "mirror", "Mcp-Param-R", "=?base64?IMO8?="), 200, `"resultType"`},
		{"modern, another argument", "POST", call("1", "mirror", `{"r":"a"}`), modern("tools/call", "mirror", "mcp-param-r", "b"), 400, `-32020`},
		{"modern, a notification", "POST", note, modern("notifications/initialized", ""), 202, ``},
		{"modern, a response", "POST", answer, modern("", ""), 400, `-32000`},
		{"modern, a batch", "POST", `[` + list + `]`, modern("tools/list", ""), 400, `-32600`},
		{"no session", "POST", legacy, nil, 400, `"id":1,"error":{"code":-32000`},
		{"no session, a notification", "POST", note, nil, 400, `"id":null,"error":{"code":-32000`},
		{"no session, a response", "POST", answer, nil, 400, `-32000`},
		{"unknown session", "POST", legacy, []string{"Mcp-Session-Id", "x"}, 404, `"id":1,"error":{"code":-32001`},
		{"unknown session, a notification", "POST", note, []string{"Mcp-Session-Id", "x"}, 404, `-32001`},
		{"another revision than agreed on", "POST", legacy, []string{"Mcp-Session-Id", sid, "MCP-Protocol-Version", "2025-06-18"}, 400, `-32022`},
		{"legacy", "POST", legacy, []string{"Mcp-Session-Id", sid, "MCP-Protocol-Version", "2025-11-25"}, 200, `"tools":[`},
		{"legacy, an error", "POST", strings.Replace(legacy, "tools/list", "x", 1), []string{"Mcp-Session-Id", sid}, 200, `-32601`},
		{"legacy, a response", "POST", answer, []string{"Mcp-Session-Id", sid}, 202, ``},
		{"legacy, a batch", "POST", `[` + legacy + `]`, []string{"Mcp-Session-Id", sid}, 400, `-32600`},
		{"2025-03-26, a batch", "POST", `[` + legacy + `,` + note + `,` + strings.Replace(legacy, `"id":1`, `"id":2`, 1) + `]`, []string{"Mcp-Session-Id", batching}, 200, `"id":2,"result"`},
		{"2025-03-26, a batch of one", "POST", `[` + legacy + `]`, []string{"Mcp-Session-Id", batching}, 200, `data: {"jsonrpc":"2.0","id":1,"result"`},
		{"2025-03-26, a batch without calls", "POST", `[` + note + `]`, []string{"Mcp-Session-Id", batching}, 202, ``},
		{"2025-03-26, an empty batch", "POST", `[]`, []string{"Mcp-Session-Id", batching}, 400, `-32600`},
		{"2025-03-26, a huge batch", "POST", `[` + strings.Repeat(`{"id":1,"result":1},`, 100) + note + `]`, []string{"Mcp-Session-Id", batching}, 400, `-32600`},
		{"no JSON", "POST", `{`, nil, 400, `"id":null,"error":{"code":-32700`},
		{"no message", "POST", `{"id":1}`, nil, 400, `-32600`},
		{"too large", "POST", strings.Repeat(" ", 4097), nil, 413, ``},
		{"not JSON by name", "POST", list, []string{"Content-Type", "text/plain"}, 415, ``},
		{"JSON with a charset", "POST", list, modern("tools/list", "", "Content-Type", "application/json; charset=utf-8"), 200, `"resultType"`},
		{"JSON only", "POST", list, modern("tools/list", "", "Accept", "application/json"), 406, ``},
		{"anything", "POST", list, modern("tools/list", "", "Accept", "*/*"), 200, `"resultType"`},
		{"anything but streams", "POST", list, modern("tools/list", "", "Accept", "application/json, text/event-stream;q=0"), 406, ``},
		{"GET without a session", "GET", "", nil, 405, ``},
		{"GET, modern", "GET", "", modern("", ""), 405, ``},
		{"GET, unknown session", "GET", "", []string{"Mcp-Session-Id", "x"}, 404, `-32001`},
		{"GET, no stream", "GET", "", []string{"Mcp-Session-Id", sid, "Accept", "application/json"}, 406, ``},
		{"GET, unknown event", "GET", "", []string{"Mcp-Session-Id", sid, "Last-Event-ID", "x-1"}, 400, ``},
		{"GET, no event", "GET", "", []string{"Mcp-Session-Id", sid, "Last-Event-ID", "x"}, 400, ``},
		{"DELETE without a session", "DELETE", "", nil, 405, ``},
		{"DELETE, modern", "DELETE", "", modern("", "", "Mcp-Session-Id", sid), 405, ``},
		{"DELETE, unknown session", "DELETE", "", []string{"Mcp-Session-Id", "x"}, 404, ``},
		{"PUT", "PUT", list, nil, 405, ``},
		{"another origin", "POST", list, modern("tools/list", "", "Origin", "https://evil.example"), 403, ``},
		{"no origin at all", "POST", list, modern("tools/list", "", "Origin", "null"), 403, ``},
		{"our own origin", "POST", list, modern("tools/list", "", "Origin", f.url), 200, `"resultType"`},
		{"another host", "POST", list, modern("tools/list", "", "Host", "evil.example"), 403, ``},
		{"another host that names itself", "POST", list, modern("tools/list", "", "Host", "evil.example", "Origin", "http://evil.example"), 403, ``},
		{"localhost", "POST", list, modern("tools/list", "", "Host", "localhost:1"), 200, `"resultType"`},
		{"IPv6", "POST", list, modern("tools/list", "", "Host", "[::1]:80"), 200, `"resultType"`},
	}
	for _, tt := range tests {
		status, body, header := f.send(tt.method, tt.body, tt.headers...)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
		if status == 405 && header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", tt.name)
		}
	}
}

func TestAllowedOriginsAndHosts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{AllowedOrigins: []string{"https://app.example"}, AllowedHosts: []string{"mcp.example"}})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	if status, body, _ := f.send("POST", list, modern("tools/list", "", "Host", "mcp.example:8080", "Origin", "https://app.example")...); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

func TestTheEndOfASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	sid := f.session("2025-11-25")
	get := f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid))
	post := f.do(f.request(t.Context(), "POST", legacyCall("1", "hold", `{}`), "Mcp-Session-Id", sid))
	within(t, f.started)
	if status, body, _ := f.send("DELETE", "", "Mcp-Session-Id", sid); status != 204 || body != "" {
		t.Fatalf("%d %s", status, body)
	}
	if within(t, f.ended) == nil {
		t.Error("a call outlived its session")
	}
	for _, resp := range []*http.Response{get, post} { // both end
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
	}
	if status, _, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", sid); status != 404 {
		t.Error(status)
	}
}

func TestHangingUpCancels(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.do(f.request(ctx, "POST", call("1", "hold", `{}`), modern("tools/call", "hold")...))
	within(t, f.started)
	cancel()
	if within(t, f.ended) == nil {
		t.Error("the call went on")
	}
}

func TestHangingUpWithinASessionDoesNotCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	sid := f.session("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := f.do(f.request(ctx, "POST", legacyCall("1", "hold", `{}`), "Mcp-Session-Id", sid))
	within(t, f.started)
	r := events(resp)
	prime, err := r.Next()
	if err != nil || len(prime.Data) != 0 || !prime.HasID {
		t.Fatal(prime, err)
	}
	first, err := r.Next()
	if err != nil || !strings.Contains(string(first.Data), `"progress":1`) {
		t.Fatal(first, err)
	}
	for len(f.left) > 0 {
		<-f.left
	}
	cancel()
	within(t, f.left) // now the server knows
	select {
	case err := <-f.ended:
		t.Fatalf("the call was cancelled: %v", err)
	case f.release <- struct{}{}:
	}
	if err := within(t, f.ended); err != nil {
		t.Fatalf("the call was cancelled: %v", err)
	}
	for _, from := range []string{first.ID, prime.ID} { // once more, and from the beginning
		again := events(f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid, "Last-Event-ID", from)))
		var got []string
		for {
			e, err := again.Next()
			if err != nil {
				break
			}
			if len(e.Data) > 0 {
				got = append(got, string(e.Data))
			}
		}
		want := 2
		if from == prime.ID {
			want = 3
		}
		if len(got) != want || !strings.Contains(got[len(got)-1], `"id":1,"result"`) || !strings.Contains(got[len(got)-2], `"progress":2`) {
			t.Errorf("from %s: %q", from, got)
		}
	}
	other := f.session("2025-11-25")
	if status, _, _ := f.send("GET", "", "Mcp-Session-Id", other, "Last-Event-ID", first.ID); status != 400 {
		t.Errorf("another session took the stream up: %d", status)
	}
}

// TestCutAfterEachEvent: a client that comes back gets each message once, and
// the call is carried out once.
func TestCutAfterEachEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{CutAfter: 1, Retry: 10 * time.Millisecond})
	sid := f.session("2025-11-25")
	const n = 20
	resp := f.do(f.request(t.Context(), "POST", legacyCall("1", "steps", fmt.Sprintf(`{"n":%d}`, n)), "Mcp-Session-Id", sid))
	var got []string
	replies := 0
	for ; len(got) <= n && replies < 100; replies++ {
		r, last := events(resp), ""
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			if last = e.ID; !e.HasRetry || e.Retry != 10*time.Millisecond {
				t.Fatalf("no retry: %+v", e)
			}
			if len(e.Data) > 0 {
				got = append(got, string(e.Data))
			}
		}
		resp = f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid, "Last-Event-ID", last))
	}
	for i, text := range got {
		if want := fmt.Sprintf(`"progress":%d,`, i+1); i < n && !strings.Contains(text, want) {
			t.Fatalf("message %d is %.100s", i, text)
		}
	}
	if len(got) != n+1 || !strings.Contains(got[n], `"result"`) || replies != n+1 || f.calls.Load() != 1 {
		t.Errorf("%d messages in %d replies, %d calls", len(got), replies, f.calls.Load())
	}
}

func TestTheReplayIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{ReplayEvents: 10, MaxStreams: 1})
	sid := f.session("2025-11-25")
	_, body, _ := f.send("POST", legacyCall("1", "steps", `{"n":50}`), "Mcp-Session-Id", sid)
	if n := strings.Count(body, "\ndata: {"); n != 51 {
		t.Fatalf("%d messages", n)
	}
	id := strings.TrimPrefix(body[:strings.IndexByte(body, '\n')], "id: ")
	stream, _, _ := strings.Cut(id, "-")
	for from, want := range map[int]int{0: 400, 40: 400, 41: 200, 50: 200, 51: 200, 52: 400} {
		status, text, _ := f.send("GET", "", "Mcp-Session-Id", sid, "Last-Event-ID", fmt.Sprintf("%s-%d", stream, from))
		if status != want {
			t.Errorf("from %d: %d", from, status)
		}
		if n := strings.Count(text, "\ndata: {"); status == 200 && n != 51-from {
			t.Errorf("from %d: %d messages", from, n)
		}
	}
	f.send("POST", legacyCall("2", "steps", `{"n":1}`), "Mcp-Session-Id", sid) // the next takes the only place
	if status, _, _ := f.send("GET", "", "Mcp-Session-Id", sid, "Last-Event-ID", stream+"-50"); status != 400 {
		t.Errorf("a stream was kept over the bound: %d", status)
	}
}

// TestASlowClientHoldsTheHandlerBack: what was said is heard, none of it lost,
// and never more than a window of it is held in memory.
func TestASlowClientHoldsTheHandlerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t}
		f.core = newCore(t, f)
		h := httpserve.New(f.core, httpserve.Options{Window: 16})
		defer h.Close()
		f.url = "http://127.0.0.1/"
		const n = 1000
		w := &slowWriter{ResponseRecorder: httptest.NewRecorder(), allow: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			h.ServeHTTP(w, f.request(t.Context(), "POST", call("1", "steps", fmt.Sprintf(`{"n":%d}`, n)), modern("tools/call", "steps")...))
			close(done)
		}()
		for read := range n {
			synctest.Wait() // all that can go on has gone on
			if said := f.said.Load(); said > int64(read)+16+1 {
				t.Fatalf("%d said when %d were read", said, read)
			}
			w.allow <- struct{}{}
		}
		w.allow <- struct{}{} // the answer
		<-done
		if got := strings.Count(w.Body.String(), "data: "); got != n+1 {
			t.Errorf("%d of %d", got, n+1)
		}
	})
}

// slowWriter takes an event each time it is allowed to.
type slowWriter struct {
	*httptest.ResponseRecorder
	allow chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.allow
	return w.ResponseRecorder.Write(b)
}

// TestAClientThatDoesNotReadIsGivenUp: the call ends though the connection
// stands.
func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{Stall: 200 * time.Millisecond})
	f.do(f.request(t.Context(), "POST", call("1", "steps", `{"n":1000000}`), modern("tools/call", "steps")...))
	within(t, f.left)
}

func TestNewsOnTheStreamOfASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	sid := f.session("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	r := events(f.do(f.request(ctx, "GET", "", "Mcp-Session-Id", sid)))
	prime, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	f.core.Changed(mcp.ServerTools)
	first, err := r.Next()
	if err != nil || !strings.Contains(string(first.Data), "tools/list_changed") {
		t.Fatal(first, err)
	}
	cancel()
	f.core.Log("error", "", []byte(`"between"`)) // while nobody listens
	again := events(f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid, "Last-Event-ID", prime.ID)))
	var got []string
	for len(got) < 2 {
		e, err := again.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Data) > 0 {
			got = append(got, string(e.Data))
		}
	}
	if !strings.Contains(got[0], "tools/list_changed") || !strings.Contains(got[1], "between") {
		t.Errorf("%q", got)
	}
}

func TestANewReaderTakesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	sid := f.session("2025-11-25")
	old := f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid))
	prime, err := events(old).Next()
	if err != nil {
		t.Fatal(err)
	}
	r := events(f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid, "Last-Event-ID", prime.ID)))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(old.Body); err != nil { // it ends
		t.Error(err)
	}
	f.core.Changed(mcp.ServerTools)
	if e, err := r.Next(); err != nil || !strings.Contains(string(e.Data), "list_changed") {
		t.Error(e, err)
	}
}

func TestCloseEndsStreams(t *testing.T) {
	t.Parallel()
	f := newFixture(t, httpserve.Options{})
	sid := f.session("2025-11-25")
	get := f.do(f.request(t.Context(), "GET", "", "Mcp-Session-Id", sid))
	post := f.do(f.request(t.Context(), "POST", call("1", "hold", `{}`), modern("tools/call", "hold")...))
	within(t, f.started)
	f.h.Close()
	if within(t, f.ended) == nil {
		t.Error("a call outlived the endpoint")
	}
	for _, resp := range []*http.Response{get, post} {
		if _, err := io.ReadAll(resp.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
}

// TestASilentReplyBecomesAStream: virtual time, so without a socket.
func TestASilentReplyBecomesAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, started: make(chan error, 10), ended: make(chan error, 10), release: make(chan struct{})}
		f.core = newCore(t, f)
		h := httpserve.New(f.core, httpserve.Options{KeepAlive: 10 * time.Second})
		defer h.Close()
		f.url = "http://127.0.0.1/"
		body := strings.Replace(call("1", "hold", `{}`), `"progressToken":1`, `"x":1`, 1) // says nothing
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			h.ServeHTTP(w, f.request(t.Context(), "POST", body, modern("tools/call", "hold")...))
			close(done)
		}()
		<-time.After(35 * time.Second)
		f.release <- struct{}{}
		<-done
		if got := w.Body.String(); w.Header().Get("Content-Type") != "text/event-stream" || strings.Count(got, ": keep-alive\n\n") != 2 || !strings.Contains(got, `data: {"jsonrpc":"2.0","id":1,"result"`) {
			t.Errorf("%v %q", w.Header(), got)
		}
	})
}
