package eventstream_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport/eventstream"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ev   eventstream.Event
		want string
	}{
		{eventstream.Event{Data: []byte(`{"a":1}`)}, "data: {\"a\":1}\n\n"},
		{eventstream.Event{Type: "message", Data: []byte{}}, "data: \n\n"},
		{eventstream.Event{Type: "endpoint", Data: []byte("/m?s=1")}, "event: endpoint\ndata: /m?s=1\n\n"},
		{eventstream.Event{ID: "7", HasID: true, HasRetry: true, Retry: 1500 * time.Millisecond}, "id: 7\nretry: 1500\n\n"},
		{eventstream.Event{ID: "7"}, "\n"},
		{eventstream.Event{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
	} {
		got, err := eventstream.Append(nil, c.ev)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.ev, got, err, c.want)
		}
	}
	for _, bad := range []eventstream.Event{{Type: "a\nb"}, {ID: "a\rb", HasID: true}, {ID: "\x00", HasID: true}} {
		if got, err := eventstream.Append([]byte("x"), bad); err != eventstream.ErrField || string(got) != "x" {
			t.Errorf("%+v: %q, %v", bad, got, err)
		}
	}
}

type counted struct {
	bytes.Buffer
	writes int
	err    error
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes++
	if c.err != nil {
		return 0, c.err
	}
	return c.Buffer.Write(b)
}

func TestWriterWritesAnEventAtOnce(t *testing.T) {
	t.Parallel()
	var out counted
	w := eventstream.NewWriter(&out)
	for _, err := range []error{
		w.Write(eventstream.Event{ID: "1", HasID: true, Data: []byte("a\nb")}),
		w.Comment("still here\nand here"),
		w.Comment(""),
		w.Write(message("c")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out.writes != 4 {
		t.Errorf("%d writes for 4 things", out.writes)
	}
	if want := "id: 1\ndata: a\ndata: b\n\n: still here\n: and here\n\n:\n\ndata: c\n\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.err = errors.New("gone")
	if err := w.Write(message("d")); err != out.err {
		t.Errorf("got %v", err)
	}
	if err := w.Write(eventstream.Event{Type: "\n"}); err != eventstream.ErrField {
		t.Errorf("got %v", err)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("endpoint", "1", "a\nb")
	f.Add("", "", "\r\n\r")
	f.Fuzz(func(t *testing.T, typ, id, data string) {
		ev := eventstream.Event{Type: typ, ID: id, HasID: true, Data: []byte(data)}
		wire, err := eventstream.Append(nil, ev)
		if err != nil || len(typ) > 4096 || len(id) > 4096 {
			return
		}
		if ev.Type == "" {
			ev.Type = "message"
		}
		ev.Data = []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data))
		if d := diff([]eventstream.Event{ev}, all(t, bytes.NewReader(wire), noLimit)); d != "" {
			t.Error(d)
		}
	})
}
