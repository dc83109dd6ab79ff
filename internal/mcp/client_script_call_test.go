package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// The verbs of a script that make calls and look at what came of them.

// Do starts a call: a name, the method, params, and options after " ; ".
func (s *script) Do(arg string) {
	arg, opts, _ := strings.Cut(arg, " ; ")
	f := append(strings.SplitN(arg, " ", 3), "")
	name := f[0]
	r := &mcp.Request{Method: f[1], Params: mcp.Members(f[2]), Tag: name, Notify: s.events.notify(name)}
	ctx, cancel := context.WithCancelCause(s.t.Context())
	for _, o := range strings.Fields(opts) {
		k, v, _ := strings.Cut(o, "=")
		switch k {
		case "progress":
			r.Progress = true
		case "log":
			r.LogLevel = v
		case "name":
			r.Name, r.HasName = v, true
		case "idle":
			d, err := time.ParseDuration(v)
			s.must(err)
			r.Clock = &transport.Clock{Idle: d}
			var stop func()
			ctx, stop = r.Clock.Bind(ctx)
			s.t.Cleanup(stop)
		}
	}
	c := &scriptCall{cancel: cancel, done: make(chan struct{})}
	s.calls[name] = c
	go func() {
		defer close(c.done)
		c.res, c.err = s.client.Do(ctx, r)
	}()
}

func (s *script) call(name string) *scriptCall {
	synctest.Wait()
	c := s.calls[name]
	if c == nil {
		s.fail("no such call")
	}
	select {
	case <-c.done:
	default:
		s.fail("the call has not ended")
	}
	return c
}

// Result checks the result of a call, exactly.
func (s *script) Result(arg string) {
	name, want, _ := strings.Cut(arg, " ")
	c := s.call(name)
	s.must(c.err)
	err := c.res.Read(func(b []byte) error {
		var v any
		return json.Unmarshal(b, &v)
	})
	s.must(err)
	if got := string(c.res.Payload); got != want {
		s.fail("the result is %s", got)
	}
	if !strings.Contains(string(c.res.Envelope()), want) {
		s.fail("the envelope is %s", c.res.Envelope())
	}
}

// Error checks how a call failed, reading its result included.
func (s *script) Error(arg string) {
	name, want, _ := strings.Cut(arg, " ")
	c := s.call(name)
	if c.err == nil {
		c.err = c.res.Read(func(b []byte) error {
			var v any
			return json.Unmarshal(b, &v)
		})
	}
	s.checkError(c.err, want)
}

// Cancel takes a call back.
func (s *script) Cancel(name string) { s.calls[name].cancel(errors.New("weary")); synctest.Wait() }

// Pending checks that a call waits.
func (s *script) Pending(name string) {
	synctest.Wait()
	select {
	case <-s.calls[name].done:
		s.fail("the call has ended: %v", s.calls[name].err)
	default:
	}
}

// Stats checks counters: name=n.
func (s *script) Stats(arg string) {
	synctest.Wait()
	v := reflect.ValueOf(s.o.Stats).Elem()
	for _, kv := range strings.Fields(arg) {
		k, want, _ := strings.Cut(kv, "=")
		n := v.FieldByName(strings.ToUpper(k[:1]) + k[1:]).Addr().MethodByName("Load").Call(nil)[0].Int()
		if strconv.FormatInt(n, 10) != want {
			s.fail("%s is %d", k, n)
		}
	}
}

// Event checks what the handler, or a call's Notify, got next.
func (s *script) Event(want string) {
	synctest.Wait()
	if got := s.events.pop(); got != want {
		s.fail("got %q", got)
	}
}

// Over checks that the session takes no more requests, and why.
func (s *script) Over(want string) {
	synctest.Wait()
	select {
	case <-s.client.Done():
	default:
		s.fail("it goes on")
	}
	if kind := errorKind(s.client.Err()); kind != want {
		s.fail("over because %v", s.client.Err())
	}
}

// Alive checks that it does.
func (s *script) Alive(string) {
	synctest.Wait()
	select {
	case <-s.client.Done():
		s.fail("over because %v", s.client.Err())
	default:
	}
}

// Close closes the session.
func (s *script) Close(string) { s.must(s.client.Close(s.t.Context())) }

// scriptEvents is a handler that writes down what it gets, and who answers
// roots/list, holds "hold" until it is withdrawn, and refuses the rest.
type scriptEvents struct {
	mu   sync.Mutex
	list []string
}

func (e *scriptEvents) add(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s)
}

func (e *scriptEvents) pop() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) == 0 {
		return ""
	}
	s := e.list[0]
	e.list = slices.Delete(e.list, 0, 1)
	return s
}

func (e *scriptEvents) notify(name string) func(*mcp.Notification) {
	return func(n *mcp.Notification) { e.add("call " + name + " " + n.Method) }
}

func (e *scriptEvents) Notify(n *mcp.Notification) {
	e.add(fmt.Sprintf("%s %v", n.Method, n.Tag))
}

func (e *scriptEvents) Ask(ctx context.Context, q *jsonrpc.Call, tag any) ([]byte, *jsonrpc.Error) {
	e.add(fmt.Sprintf("ask %s %v", q.Method, tag))
	switch q.Method {
	case "roots/list":
		return []byte(`{"roots":[]}`), nil
	case "hold":
		<-ctx.Done()
		e.add("withdrawn")
		return nil, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "no"}
}
