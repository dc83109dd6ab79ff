package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/stdio"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// fixture is a server with a tool that can be held and one that talks much.
type fixture struct {
	*mcp.Server
	started, ended chan error
	release        chan struct{}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{started: make(chan error, 10), ended: make(chan error, 10), release: make(chan struct{})}
	s, err := mcp.NewServer(mcp.ServerOptions{Name: "test", Version: "1", Tools: []mcp.ServerTool{
		{Name: "hold", Handle: func(ctx context.Context, _ *mcp.ServerRequest) ([]byte, error) {
			f.started <- nil
			select {
			case <-ctx.Done():
				f.ended <- context.Cause(ctx)
				return nil, ctx.Err()
			case <-f.release:
				return []byte("{\"content\":[],\n\"a\":1}"), nil
			}
		}},
		{Name: "flood", Handle: func(context.Context, *mcp.ServerRequest) ([]byte, error) {
			return []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 1000) + `"}]}`), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return f
}

// serve runs Serve and tells how it ended.
func (f *fixture) serve(ctx context.Context, in io.Reader, out io.Writer, o stdio.Options) <-chan error {
	served := make(chan error, 1)
	go func() { served <- stdio.Serve(ctx, f.Server, in, out, o) }()
	return served
}

func within[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

func TestEverythingPipedInIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var in strings.Builder
	in.WriteString("\n \r\n") // blank lines are nothing
	for i := range 200 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"flood",%s}}`+"\r\n", i, meta)
	}
	in.WriteString(`{"jsonrpc":"2.0","id":"last","method":"tools/list","params":{` + meta + `}}`) // without an end of line
	var out strings.Builder
	if err := stdio.Serve(t.Context(), f.Server, strings.NewReader(in.String()), &out, stdio.Options{Grace: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 201 {
		t.Errorf("%d answers", n)
	}
	if !strings.Contains(out.String(), `"id":"last"`) {
		t.Error("the last line was not answered")
	}
}

func TestTheEndOfInputGivesCallsAGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		t0 := time.Now()
		var out strings.Builder
		err := stdio.Serve(t.Context(), f.Server, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold",`+meta+`}}`), &out, stdio.Options{Grace: 3 * time.Second})
		if took := time.Since(t0); err != nil || took != 3*time.Second {
			t.Errorf("ended after %v with %v", took, err)
		}
		if within(t, f.ended) == nil {
			t.Error("the call was not cancelled")
		}
		if out.Len() != 0 {
			t.Errorf("%q", out.String())
		}
	})
}

func TestResultsHaveNoLineBreaks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := f.serve(t.Context(), inR, outW, stdio.Options{})
	go fmt.Fprintf(inW, "%s\n", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold",`+meta+`}}`)
	within(t, f.started)
	f.release <- struct{}{}
	line, err := bufio.NewReader(outR).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"a":1,`) || !strings.HasSuffix(line, "}}\n") {
		t.Errorf("%q %v", line, err)
	}
	inW.Close()
	if err := within(t, served); err != nil {
		t.Error(err)
	}
}

func TestALineOverTheLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for size, fits := range map[int]bool{2000: true, 2001: false, 300_000: false} {
		line := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"",` + meta + `}}`
		line = strings.Replace(line, `"x":"`, `"x":"`+strings.Repeat("x", size-len(line)), 1)
		var out strings.Builder
		in := line + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}` + "\n"
		if err := stdio.Serve(t.Context(), f.Server, strings.NewReader(in), &out, stdio.Options{MaxMessage: 2000}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[1], `"id":2,"result"`) {
			t.Fatalf("%d: %q", size, lines)
		}
		if got := strings.Contains(lines[0], `"id":1,"result"`); got != fits {
			t.Errorf("%d: %s", size, lines[0])
		}
		if !fits && !strings.Contains(lines[0], `"id":null,"error":{"code":-32600`) {
			t.Errorf("%d: %s", size, lines[0])
		}
	}
}

func TestBatchesOfTheirRevisionOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for version, want := range map[string][]string{
		"2025-03-26": {`"id":1,"result"`, `"id":2,"result":{}`, `"id":null,"error":{"code":-32600`, `"id":3,"result":{}`, `"id":null,"error":{"code":-32600`},
		"2025-06-18": {`"id":1,"result"`, `"id":null,"error":{"code":-32600`, `"id":null,"error":{"code":-32600`},
	} {
		in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `"}}
[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"},7,{"jsonrpc":"2.0","id":3,"method":"ping"}]
[]
`
		var out strings.Builder
		if err := stdio.Serve(t.Context(), f.Server, strings.NewReader(in), &out, stdio.Options{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s: %q", version, lines)
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) {
				t.Errorf("%s: %s instead of %s", version, lines[i], want[i])
			}
		}
	}
}

func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		inR, inW := io.Pipe()
		_, outW := io.Pipe() // nobody reads
		t0 := time.Now()
		served := f.serve(t.Context(), inR, outW, stdio.Options{MaxQueue: 10_000, Stall: 7 * time.Second})
		go func() {
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%s}}`+"\n", i, meta); err != nil {
					return
				}
			}
		}()
		err := <-served
		if took := time.Since(t0); !errors.Is(err, stdio.ErrStalled) || took < 7*time.Second || took > 9*time.Second {
			t.Errorf("ended after %v with %v", took, err)
		}
	})
}

func TestASlowClientGetsAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := f.serve(t.Context(), inR, outW, stdio.Options{MaxQueue: 2000, Grace: 10 * time.Second})
	const n = 100
	go func() {
		for i := range n {
			fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"flood",%s}}`+"\n", i, meta)
		}
		inW.Close()
	}()
	seen := 0
	for s := bufio.NewScanner(outR); seen < n && s.Scan(); seen++ {
	}
	if seen != n {
		t.Errorf("%d of %d", seen, n)
	}
	if err := within(t, served); err != nil {
		t.Error(err)
	}
}

func TestABrokenOutputEndsTheServing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	outR.Close()
	served := f.serve(t.Context(), inR, outW, stdio.Options{})
	go fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`+"\n", meta)
	if err := within(t, served); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestCancellingEndsTheServing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	in, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inW.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := f.serve(ctx, in, io.Discard, stdio.Options{})
	fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold",%s}}`+"\n", meta)
	within(t, f.started)
	cancel()
	if err := within(t, served); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if within(t, f.ended) == nil {
		t.Error("the call was not cancelled")
	}
}

func TestBothErasOnOnePipe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := f.serve(t.Context(), inR, outW, stdio.Options{})
	lines := bufio.NewScanner(outR)
	ask := func(text string) string {
		go fmt.Fprintf(inW, "%s\n", text)
		lines.Scan()
		return lines.Text()
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	// Both eras may share the pipe.
	if got := ask(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{` + meta + `}}`); !strings.Contains(got, "supportedVersions") {
		t.Error(got)
	}
	if got := ask(`{"jsonrpc":"2.0","id":3,"method":"ping"}`); !strings.Contains(got, `"result":{}`) {
		t.Error(got)
	}
	inW.Close()
	if err := within(t, served); err != nil {
		t.Error(err)
	}
}
