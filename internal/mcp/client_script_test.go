package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/transporttest"
)

// TestConversations plays the scripts in testdata/client: what the client is told
// to do, what it must send (`>`), what the server sends (`<`), and what comes of
// it. Each runs on both kinds of link, unless it says otherwise, and in a bubble
// of its own time. The verbs are the methods of script below.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/client/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
			name, body, _ := strings.Cut(part, "\n")
			name, only, _ := strings.Cut(name, " | ")
			for _, kind := range []string{"shared", "private"} {
				if only != "" && only != kind {
					continue
				}
				base := strings.TrimSuffix(filepath.Base(file), ".script")
				t.Run(base+"/"+strings.ReplaceAll(name, " ", "_")+"/"+kind, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { playScript(t, body, kind == "private") })
				})
			}
		}
	}
}

// scriptMeta is what a modern request of the scripts carries.
const scriptMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}`

// A script is one conversation under way.
type script struct {
	t    *testing.T
	line string
	peer *transporttest.MemoryPeer
	conn transport.Conn
	o    mcp.Options
	sent map[int64]*transporttest.Exchange // by id
	last *transporttest.Exchange

	opened chan struct{}
	client *mcp.Client
	err    error
	calls  map[string]*scriptCall
	events *scriptEvents

	mu     sync.Mutex
	refuse map[string]error // by method: what Send returns
}

type scriptCall struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	res    mcp.Result
	err    error
}

func playScript(t *testing.T, body string, private bool) {
	s := &script{
		t: t, sent: map[int64]*transporttest.Exchange{}, calls: map[string]*scriptCall{},
		opened: make(chan struct{}), events: &scriptEvents{}, refuse: map[string]error{},
	}
	s.conn, s.peer = transporttest.NewPair(transporttest.MemoryOptions{Private: private, Refuse: s.refused})
	s.o = mcp.Options{ClientInfo: []byte(`{"name":"t","version":"1"}`), Handler: s.events, Stats: &mcp.Stats{}}
	verbs := reflect.ValueOf(s)
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		s.line = lines.Text()
		if s.line == "" || s.line[0] == '#' {
			continue
		}
		verb, arg, _ := strings.Cut(s.line, " ")
		arg = strings.ReplaceAll(strings.TrimSpace(arg), "$META", scriptMeta)
		switch verb {
		case ">":
			s.expect(arg, false)
		case ">=":
			s.expect(arg, true)
		case "<":
			s.reply(transport.Inbound{Body: []byte(arg)})
		case "<*":
			s.must(s.peer.Send([]byte(arg)))
		case "<q":
			text, err := strconv.Unquote(arg)
			s.must(err)
			s.reply(transport.Inbound{Body: []byte(text)})
		default:
			m := verbs.MethodByName(strings.ToUpper(verb[:1]) + verb[1:])
			if !m.IsValid() {
				s.fail("no such verb")
			}
			m.Call([]reflect.Value{reflect.ValueOf(arg)})
		}
	}
	if s.client != nil {
		s.must(s.client.Close(t.Context()))
	}
	for _, c := range s.calls {
		<-c.done
	}
	if s.client != nil && s.client.InFlight() != 0 {
		s.fail("%d requests left in the table", s.client.InFlight())
	}
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\n\tat: %s", fmt.Sprintf(format, args...), s.line)
}

func (s *script) must(err error) {
	s.t.Helper()
	if err != nil {
		s.fail("%v", err)
	}
}

func (s *script) refused(f transport.Frame) error {
	m, err := jsonrpc.Parse(f.Body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Call:
		return s.refuse[m.Method]
	case *jsonrpc.Notification:
		return s.refuse[m.Method]
	}
	return nil
}

func (s *script) next() *transporttest.Exchange {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Nanosecond)
	defer cancel()
	x, err := s.peer.NextExchange(ctx)
	if err != nil {
		return nil
	}
	return x
}

// expect checks the next frame of the client.
func (s *script) expect(want string, exact bool) {
	synctest.Wait()
	x := s.next()
	if x == nil {
		s.fail("nothing was sent")
	}
	got := string(x.Frame.Body)
	if exact && got != want {
		s.fail("sent\n\t%s, want\n\t%s", got, want)
	}
	var g, w any
	s.must(json.Unmarshal([]byte(got), &g))
	s.must(json.Unmarshal([]byte(want), &w))
	if d := cmp.Diff(w, g); d != "" {
		s.fail("sent %s\n(-want +got)\n%s", got, d)
	}
	s.last = x
	if m, _ := jsonrpc.Parse(x.Frame.Body); m != nil {
		if call, ok := m.(*jsonrpc.Call); ok {
			id, _ := call.ID.Int()
			s.sent[id] = x
		}
	}
}

// reply answers the frame that the client sent last and that wants an answer.
func (s *script) reply(in transport.Inbound) {
	s.must(s.last.ReplyInbound(in))
	synctest.Wait()
}

// Stream says on which exchange the next replies go: that of an id.
func (s *script) Stream(id string) {
	n, err := strconv.ParseInt(id, 10, 64)
	s.must(err)
	if s.last = s.sent[n]; s.last == nil {
		s.fail("no such request")
	}
}

// Quiet checks that the client sends nothing.
func (s *script) Quiet(string) {
	synctest.Wait()
	if x := s.next(); x != nil {
		s.fail("sent %s", x.Frame.Body)
	}
}

// Frame checks link and labels of the frame expected last.
func (s *script) Frame(want string) {
	f := s.last.Frame
	link := []string{"none", "open", "within"}[f.Link]
	got := fmt.Sprintf("%s version=%s method=%s name=%s expects=%v",
		link, f.Labels.Version, f.Labels.Method, f.Labels.Name, f.Expects)
	if got != want {
		s.fail("frame is %s", got)
	}
}

// Note sends a reply with a note in front of the text, parted by " : ".
func (s *script) Note(arg string) {
	note, body, _ := strings.Cut(arg, " : ")
	s.reply(transport.Inbound{Body: []byte(body), Note: note})
}

// Big sends a frame over the limit that begins and ends like these two texts.
func (s *script) Big(arg string) {
	begin, end, _ := strings.Cut(arg, " ... ")
	s.reply(transport.Inbound{Size: 1 << 30, Body: []byte(begin), Tail: []byte(end)})
}

// Status refuses the exchange: a status, "session" or "-", and the body.
func (s *script) Status(arg string) {
	s.last.End(refusal(s, arg))
	synctest.Wait()
}

// Refuse makes Send of a method fail so from now on; without status no more.
func (s *script) Refuse(arg string) {
	method, rest, found := strings.Cut(arg, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refuse, method)
	if found {
		s.refuse[method] = refusal(s, rest)
	}
}

func refusal(s *script, arg string) error {
	f := append(strings.SplitN(arg, " ", 3), "-", "")
	code, err := strconv.Atoi(f[0])
	s.must(err)
	return &transport.RefusedError{Status: code, Text: "Text", Session: f[1] == "session", Body: []byte(f[2])}
}

// End ends the exchange without an answer.
func (s *script) End(string) {
	s.last.End(nil)
	synctest.Wait()
}

// Lose ends the exchange, or where they share one stream all of the link.
func (s *script) Lose(text string) {
	err := &transport.LostError{Err: errors.New(text)}
	if s.conn.Binding().Shared {
		s.peer.Break(err)
	} else {
		s.last.End(err)
	}
	synctest.Wait()
}

// Wait lets time pass.
func (s *script) Wait(d string) {
	n, err := time.ParseDuration(d)
	s.must(err)
	<-time.After(n)
	synctest.Wait()
}
