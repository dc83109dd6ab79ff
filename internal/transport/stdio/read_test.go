//go:build unix

package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/stdio"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// A listener runs Listen and passes on what comes.
type listener struct {
	in    chan transport.Inbound
	ended chan error
}

func listen(conn transport.Conn) *listener {
	l := &listener{in: make(chan transport.Inbound, 10_000), ended: make(chan error, 1)}
	go func() {
		l.ended <- conn.Listen(context.Background(), func(in transport.Inbound) error {
			l.in <- in
			return nil
		})
	}()
	return l
}

func (l *listener) next(t *testing.T) transport.Inbound {
	t.Helper()
	select {
	case in := <-l.in:
		return in
	case err := <-l.ended:
		t.Fatalf("Listen has ended: %v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

func TestLines(t *testing.T) {
	const limit = 10_000
	long := strings.Repeat("x", limit)
	huge := "[" + strings.Repeat("y", 200_000) + strings.Repeat("z", 5000) + "]"
	cut := func(s string) transport.Inbound {
		return transport.Inbound{Body: []byte(s[:4096]), Tail: []byte(s[len(s)-4096:]), Size: int64(len(s))}
	}
	whole := func(s ...string) (list []transport.Inbound) {
		for _, s := range s {
			list = append(list, transport.Inbound{Body: []byte(s)})
		}
		return list
	}
	tests := []struct {
		name, in string
		want     []transport.Inbound
	}{
		{"nothing", "", nil},
		{"blank", "\n\r\n \t \n", nil},
		{"two", "{}\n[1]\n", whole("{}", "[1]")},
		{"carriage returns", "{}\r\n\r\n[1]\r\n", whole("{}", "[1]")},
		{"no newline at the end", "{}\n[1]", whole("{}", "[1]")},
		{"byte order mark", "\xEF\xBB\xBF{}\n\xEF\xBB\xBF[1]\n", whole("{}", "\xEF\xBB\xBF[1]")},
		{"white space in front", "  \t{} \n", whole("{} ")},
		{"at the limit", long + "\n" + long + "\r\n" + long, whole(long, long, long)},
		{"white space beyond the limit", "   " + long + "\n{}\n", whole(long, "{}")},
		{"one over", long + "x\n{}\n", append([]transport.Inbound{cut(long + "x")}, whole("{}")...)},
		{"one over, CR", long + "x\r\n{}\n", append([]transport.Inbound{cut(long + "x")}, whole("{}")...)},
		{"far over", huge + "\n{}\n" + huge + "\r\n{}", append(append([]transport.Inbound{cut(huge)}, whole("{}")...),
			append([]transport.Inbound{cut(huge)}, whole("{}")...)...)},
		{"far over, no newline", huge, []transport.Inbound{cut(huge)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			readers := map[string]io.Reader{
				"at once":    strings.NewReader(tt.in),
				"with error": iotest.DataErrReader(strings.NewReader(tt.in)),
				"halves":     iotest.HalfReader(strings.NewReader(tt.in)),
				"bytes":      iotest.OneByteReader(strings.NewReader(tt.in)),
			}
			for name, r := range readers {
				if got := stdio.Lines(r, limit); !reflect.DeepEqual(tt.want, got) {
					t.Errorf("%s: %.2000s", name, cmp.Diff(tt.want, got))
				}
			}
		})
	}
}

// A buffer grows to a message and not beyond it, and goes back.
func TestLinesBuffer(t *testing.T) {
	big := strings.Repeat("b", 3<<20) + "\n"
	in := big + "{}\n" + big + "{}\n[" // what is left needs no large buffer
	if n := stdio.LinesBuffer(strings.NewReader(in), 4<<20); n != 64<<10 {
		t.Errorf("the buffer has %d bytes at the end", n)
	}
	var all []transport.Inbound
	if all = stdio.Lines(strings.NewReader(in), 4<<20); len(all) != 5 {
		t.Fatalf("%d lines", len(all))
	}
	if c := cap(all[0].Body); c > 5<<20 {
		t.Errorf("a message of 3 MiB holds %d bytes", c)
	}
	if c := cap(all[1].Body); c > 16 {
		t.Errorf("a message of 2 bytes holds %d", c)
	}
}

// However a stream is cut, its lines are those of bytes.Split, and of those over
// the limit the ends and the size.
func FuzzLines(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBF{}\r\n\n[1]\nnoise"), 7, 3)
	f.Add(bytes.Repeat([]byte(strings.Repeat("a ", 300)+"\r\n"), 300), 70_000, 200)
	f.Add(append(bytes.Repeat([]byte("x"), 140_000), '\r', '\n'), 9999, 139_999)
	f.Fuzz(func(t *testing.T, data []byte, step int, limit int) {
		if step <= 0 || limit <= 0 || limit > 1<<20 {
			return
		}
		var want []transport.Inbound
		for i, line := range bytes.Split(data, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			if i == 0 {
				line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
			}
			line = bytes.TrimLeft(line, " \t\r")
			n := len(line)
			switch {
			case n == 0:
			case n <= limit:
				want = append(want, transport.Inbound{Body: bytes.Clone(line)})
			default:
				want = append(want, transport.Inbound{Body: line[:min(n, 4096)], Tail: line[max(0, n-4096):], Size: int64(n)})
			}
		}
		got := stdio.Lines(&stepReader{data, step}, limit)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%.3000s", cmp.Diff(want, got))
		}
	})
}

type stepReader struct {
	data []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.data)
	r.data = r.data[n:]
	return n, nil
}

func TestGarbage(t *testing.T) {
	transporttest.Leak(t)
	d := dialer("garbage")
	d.Stats = new(transport.Stats)
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	l := listen(conn)
	err = <-l.ended
	var got []string
	for len(l.in) > 0 {
		got = append(got, string((<-l.in).Body))
	}
	if d := cmp.Diff([]string{`["first"]`, `{"second":2}`, `["unended"]`}, got); d != "" {
		t.Error(d)
	}
	if lost, ok := errors.AsType[*transport.LostError](err); !ok || lost.Exit != "exit status 0" {
		t.Error(err)
	}
	if n := d.Stats.Noise.Load(); n != 4 {
		t.Errorf("%d lines of noise counted", n)
	}
	if n := d.Stats.FramesIn.Load(); n != 3 {
		t.Errorf("%d frames counted", n)
	}
}
