package eventstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
)

const noLimit = 1 << 30

// all reads r to its end.
func all(t testing.TB, r io.Reader, limit int) []eventstream.Event {
	t.Helper()
	var evs []eventstream.Event
	rd := eventstream.NewReader(r, limit)
	for {
		ev, err := rd.Next()
		if err == io.EOF {
			if !rd.AtEnd() {
				t.Error("end of stream, but AtEnd is false")
			}
			return evs
		}
		if err != nil {
			t.Fatalf("after %d events: %v", len(evs), err)
		}
		evs = append(evs, ev)
	}
}

// diff compares data as a whole: go-cmp looks at every byte, which takes seconds.
func diff[T any](want, got T) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b []byte) bool {
		return bytes.Equal(a, b) && (a == nil) == (b == nil)
	}))
}

func message(data string) eventstream.Event {
	return eventstream.Event{Type: "message", Data: []byte(data)}
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		in   string
		want []eventstream.Event
	}{
		"empty":                      {"", nil},
		"one":                        {"data: a\n\n", []eventstream.Event{message("a")}},
		"CR":                         {"data: a\r\rdata: b\r\r", []eventstream.Event{message("a"), message("b")}},
		"CRLF":                       {"data: a\r\n\r\ndata: b\r\n\r\n", []eventstream.Event{message("a"), message("b")}},
		"mixed ends":                 {"data: a\rdata: b\ndata: c\r\n\n", []eventstream.Event{message("a\nb\nc")}},
		"CR CR LF is two ends":       {"data: a\r\r\ndata: b\n\n", []eventstream.Event{message("a"), message("b")}},
		"byte order mark":            {"\xEF\xBB\xBFdata: a\n\n", []eventstream.Event{message("a")}},
		"two marks":                  {"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\ndata: b\n\n", []eventstream.Event{message("b")}},
		"half a mark":                {"\xEF\xBB", nil},
		"mark is not first":          {"data: a\n\xEF\xBB\xBFdata: b\n\n", []eventstream.Event{message("a")}},
		"no space":                   {"data:a\n\n", []eventstream.Event{message("a")}},
		"one space only":             {"data:  a\n\n", []eventstream.Event{message(" a")}},
		"a tab is no space":          {"data:\ta\n\n", []eventstream.Event{message("\ta")}},
		"comments":                   {": hi\n:\ndata: a\n: there\n\n:\n\n", []eventstream.Event{message("a")}},
		"unknown fields":             {"foo: 1\nbar\nDATA: x\n data: y\ndata : z\ndata: a\n\n", []eventstream.Event{message("a")}},
		"lines are joined":           {"data: a\ndata:\ndata\ndata: b\n\n", []eventstream.Event{message("a\n\n\nb")}},
		"empty data":                 {"data\n\n", []eventstream.Event{message("")}},
		"unfinished is dropped":      {"data: a\n\ndata: b\n", []eventstream.Event{message("a")}},
		"unfinished line":            {"data: a\n\ndata: b", []eventstream.Event{message("a")}},
		"blank lines":                {"\n\r\n\r\n\ndata: a\n\n\n\n", []eventstream.Event{message("a")}},
		"colon in value":             {"data: {\"a\":1}\n\n", []eventstream.Event{message(`{"a":1}`)}},
		"type":                       {"event: endpoint\ndata: /m\n\ndata: a\n\n", []eventstream.Event{{Type: "endpoint", Data: []byte("/m")}, message("a")}},
		"empty type":                 {"event: x\nevent\ndata: a\n\n", []eventstream.Event{message("a")}},
		"id persists":                {"id: 7\ndata: a\n\ndata: b\n\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true, Data: []byte("a")}, {Type: "message", ID: "7", Data: []byte("b")}}},
		"id is taken back":           {"id: 7\n\nid\n\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true}, {Type: "message", HasID: true}}},
		"id with NUL":                {"id: 7\n\nid: 8\x00\ndata: a\n\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true}, {Type: "message", ID: "7", Data: []byte("a")}}},
		"unfinished id":              {"id: 7\ndata: a\n\nid: 8\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true, Data: []byte("a")}}},
		"id only":                    {"id: 7\n\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true}}},
		"priming event":              {"id: 7\nretry: 500\ndata: \n\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true, Data: []byte{}, HasRetry: true, Retry: 500 * time.Millisecond}}},
		"retry only":                 {"retry: 0\n\n", []eventstream.Event{{Type: "message", HasRetry: true}}},
		"retry is digits":            {"retry: -1\nretry: 1.5\nretry: 5s\nretry:\nretry: +3\n\n", nil},
		"retry is huge":              {"retry: 99999999999999999999999999\n\n", []eventstream.Event{{Type: "message", HasRetry: true, Retry: 24 * time.Hour}}},
		"long data":                  {"data: " + long + "\ndata: b\n\ndata: c\n\n", []eventstream.Event{message(long + "\nb"), message("c")}},
		"long data, CRLF":            {"data:" + long + "\r\ndata:" + long + "\r\n\r\n", []eventstream.Event{message(long + "\n" + long)}},
		"long comment":               {":" + long + "\ndata: a\n\n", []eventstream.Event{message("a")}},
		"long name":                  {"data" + long + ": x\ndata: a\n\n", []eventstream.Event{message("a")}},
		"long id is ignored":         {"id: 7\n\nid: " + long + "\ndata: a\n\nid:" + long[:4097] + "\n\n", []eventstream.Event{{Type: "message", ID: "7", HasID: true}, {Type: "message", ID: "7", Data: []byte("a")}}},
		"long type stays a stranger": {"event: " + long + "\ndata: a\n\n", []eventstream.Event{{Type: long[:4096], Data: []byte("a")}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"at once":       strings.NewReader(c.in),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(c.in)),
				"end with data": iotest.DataErrReader(strings.NewReader(c.in)),
				"by halves":     iotest.HalfReader(strings.NewReader(c.in)),
			} {
				if d := diff(c.want, all(t, r, noLimit)); d != "" {
					t.Errorf("%s (-want +got):\n%s", how, d)
				}
			}
		})
	}
}

// A server that pauses after the CR of a CRLF has finished its event.
func TestReaderDoesNotWaitForTheLineFeed(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	defer pr.Close()
	rd := eventstream.NewReader(pr, noLimit)
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(pw, "data: a\r\n\r")
		wrote <- err
	}()
	if ev, err := rd.Next(); err != nil || string(ev.Data) != "a" {
		t.Fatalf("%+v, %v", ev, err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	go io.WriteString(pw, "\ndata: b\n\n")
	if ev, err := rd.Next(); err != nil || string(ev.Data) != "b" {
		t.Fatalf("%+v, %v", ev, err)
	}
}

func TestReaderPassesErrorsOnAfterWhatCameBefore(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset by peer")
	rd := eventstream.NewReader(iotest.DataErrReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken))), noLimit)
	if ev, err := rd.Next(); err != nil || string(ev.Data) != "a" {
		t.Fatalf("%+v, %v", ev, err)
	}
	for range 2 {
		if _, err := rd.Next(); err != broken {
			t.Fatalf("got %v, want the source's error", err)
		}
	}
	if rd.AtEnd() {
		t.Error("AtEnd after an error")
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

func TestReaderGivesUpOnASourceThatGivesNothing(t *testing.T) {
	t.Parallel()
	if _, err := eventstream.NewReader(nothing{}, noLimit).Next(); err != io.ErrNoProgress {
		t.Fatalf("got %v", err)
	}
}

func TestReaderLimit(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	for name, data := range map[string]string{
		"one line":       "HEAD" + strings.Repeat("x", limit) + "TAIL",
		"just over":      "HEAD" + strings.Repeat("x", limit-7) + "TAIL",
		"many lines":     "HEAD" + strings.Repeat("\n0123456789", limit/5) + "TAIL",
		"one line feed":  strings.Repeat("HEAD", limit/4) + "\nTAIL",
		"ends with many": "HEAD" + strings.Repeat("x", limit) + strings.Repeat("\n", 9000) + "TAIL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire, err := eventstream.Append(nil, eventstream.Event{ID: "9", HasID: true, Data: []byte(data)})
			if err != nil {
				t.Fatal(err)
			}
			wire = append(wire, "data: next\n\n"...)
			for how, r := range map[string]io.Reader{"at once": bytes.NewReader(wire), "byte by byte": iotest.OneByteReader(bytes.NewReader(wire))} {
				rd := eventstream.NewReader(r, limit)
				_, err := rd.Next()
				var tl *eventstream.TooLargeError
				if !errors.As(err, &tl) || tl.Limit != limit || !strings.HasPrefix(string(tl.Head), "HEAD") {
					t.Fatalf("%s: got %v", how, err)
				}
				size, tail, err := rd.Skip()
				if err != nil || size != int64(len(data)) || !strings.HasSuffix(data, string(tail)) || len(tail) != 4<<10 {
					t.Fatalf("%s: Skip: size %d, want %d; %d bytes of tail, %v", how, size, len(data), len(tail), err)
				}
				if ev, err := rd.Next(); err != nil || string(ev.Data) != "next" || ev.ID != "9" {
					t.Fatalf("%s: then %+v, %v", how, ev, err)
				}
			}
			rd := eventstream.NewReader(bytes.NewReader(wire), limit)
			rd.Next()
			if ev, err := rd.Next(); err != nil || string(ev.Data) != "next" {
				t.Fatalf("without Skip: %+v, %v", ev, err)
			}
		})
	}
	if evs := all(t, strings.NewReader("data: "+strings.Repeat("x", limit)+"\n\n"), limit); len(evs) != 1 {
		t.Errorf("an event of exactly the limit: %d events", len(evs))
	}
}

// An endless event must not fill the memory, and must be told at once.
func TestReaderTellsAnEndlessEvent(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 100, 1 << 20} {
		// The server says no more than what is over the limit, and hangs.
		pr, pw := io.Pipe()
		go io.WriteString(pw, "data: a\ndata: "+strings.Repeat("x", limit))
		rd := eventstream.NewReader(pr, limit)
		var tl *eventstream.TooLargeError
		if _, err := rd.Next(); !errors.As(err, &tl) || tl.Limit != limit {
			t.Fatalf("got %v", err)
		}
		pr.Close()
	}
}

func TestReaderOwnershipAndReset(t *testing.T) {
	t.Parallel()
	rd := eventstream.NewReader(strings.NewReader("id: 1\ndata: aaaa\n\ndata: bbbb\n\ndata: cc"), noLimit)
	a, _ := rd.Next()
	b, _ := rd.Next()
	copy(a.Data, "XXXX")
	if string(b.Data) != "bbbb" {
		t.Errorf("events share bytes: %s", b.Data)
	}
	rd.Reset(strings.NewReader("\xEF\xBB\xBFdata: d\n\n"), noLimit)
	if d := diff(message("d"), first(rd.Next())); d != "" {
		t.Error(d)
	}
}

func first[T any](v T, _ error) T { return v }

// naive does what the standard says, in the plainest way there is.
func naive(in string) (evs []eventstream.Event) {
	in = strings.TrimPrefix(in, "\xEF\xBB\xBF")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n")
	var id string
	var ev eventstream.Event
	some := false
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if ev.HasID {
				id = ev.ID
			}
			ev.ID = id
			if ev.Type == "" {
				ev.Type = "message"
			}
			if some {
				evs = append(evs, ev)
			}
			ev, some = eventstream.Event{}, false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			ev.Type, some = value, true
		case "data":
			if ev.Data != nil {
				ev.Data = append(ev.Data, '\n')
			} else {
				ev.Data = []byte{}
			}
			ev.Data, some = append(ev.Data, value...), true
		case "id":
			if !strings.Contains(value, "\x00") {
				ev.ID, ev.HasID, some = value, true, true
			}
		case "retry":
			if ms, ok := digits(value); ok {
				ev.Retry, ev.HasRetry, some = min(ms, 24*time.Hour), true, true
			}
		}
	}
	return evs
}

func digits(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	if s = strings.TrimLeft(s, "0"); len(s) > 9 {
		s = "999999999"
	}
	var ms time.Duration
	fmt.Sscan(s, &ms)
	return ms * time.Millisecond, true
}

// chunks gives the bytes in pieces whose sizes the fuzzer chooses.
type chunks struct {
	b     []byte
	sizes []byte
	i     int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := len(c.b)
	if len(c.sizes) > 0 {
		n = min(n, int(c.sizes[c.i%len(c.sizes)])) // 0 is a Read without bytes
		if c.i++; c.i%len(c.sizes) == 0 {
			n = max(n, 1)
		}
	}
	n = copy(p, c.b[:n])
	c.b = c.b[n:]
	return n, nil
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "\xEF\xBB\xBFid: 1\r\nretry: 10\r\ndata: a\r\ndata: b\r\n\r\n", "event: x\rdata\r\rid\x00: 3\n\n",
		"data:" + strings.Repeat("x", 70_000) + "\r\n\r\n", "id: " + strings.Repeat("7", 4000) + "\n\n:\n", "retry: 00012\n\n", "\xEF\xBB\n\n",
	} {
		f.Add(s, []byte{1}, uint16(1<<15))
		f.Add(s, []byte{3, 0, 200}, uint16(2))
	}
	f.Fuzz(func(t *testing.T, in string, sizes []byte, limit uint16) {
		for _, line := range strings.FieldsFunc(in, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if len(line) > 4<<10 && !strings.HasPrefix(line, "data") {
				t.Skip("bounded fields are the reader's own")
			}
		}
		if d := diff(naive(in), all(t, &chunks{b: []byte(in), sizes: sizes}, noLimit)); d != "" {
			t.Errorf("(-naive +got):\n%s", d)
		}
		limited(t, in, sizes, int(limit))
	})
}

// limited checks that a limit takes away the events over it, and nothing else.
func limited(t *testing.T, in string, sizes []byte, limit int) {
	t.Helper()
	rd := eventstream.NewReader(&chunks{b: []byte(in), sizes: sizes}, limit)
	for _, want := range naive(in) {
		got, err := rd.Next()
		if len(want.Data) <= limit {
			if d := diff(want, got); d != "" || err != nil {
				t.Fatalf("%v\n%s", err, d)
			}
			continue
		}
		var tl *eventstream.TooLargeError
		if !errors.As(err, &tl) || !bytes.HasPrefix(want.Data, tl.Head) {
			t.Fatalf("got %v for %d bytes with limit %d", err, len(want.Data), limit)
		}
		size, tail, err := rd.Skip()
		if err != nil || size != int64(len(want.Data)) || !bytes.HasSuffix(want.Data, tail) {
			t.Fatalf("Skip: %d, %v; want %d", size, err, len(want.Data))
		}
	}
}
