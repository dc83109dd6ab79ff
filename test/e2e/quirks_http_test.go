//go:build unix

package e2e_test

import (
	"errors"
	"strings"
	"time"

	connect "connectrpc.com/connect/v2"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// requests are the HTTP requests that the server got.
func (r *rig) requests(fit func(e *entry) bool) []entry {
	r.t.Helper()
	return r.entries(func(e *entry) bool { return e.Event == "http" && fit(e) })
}

func byVerb(verb string) func(*entry) bool { return func(e *entry) bool { return e.Verb == verb } }

func interleaved(r *rig) {
	r.t.Helper()
	works(r)
	r.pinged()
}

// noStream: the optional stream is asked for once, and then left alone.
func noStream(r *rig) {
	r.t.Helper()
	fast(r)
	if n := len(r.requests(byVerb("GET"))); n > 4 {
		r.t.Errorf("the stream that is not there was asked for %d times", n)
	}
}

// notifications: any 2xx to a notification will do. A cancelled call makes more
// of them.
func notifications(r *rig) {
	r.t.Helper()
	works(r)
	id := r.open()
	for range 3 {
		_, err := r.callJSON(within(r.t, 200*time.Millisecond), id, "sleep", `{"seconds":3}`)
		want{code: connect.CodeDeadlineExceeded}.check(r.t, err)
	}
	r.echoes(id)
	r.close(id)
}

// sessionForgotten: a refused call is repeated on a new session, once.
func sessionForgotten(r *rig) {
	r.t.Helper()
	id := r.open()
	for range 5 {
		r.echoes(id)
	}
	if n := r.executed("echo"); n != 10 {
		r.t.Errorf("10 calls were carried out %d times", n)
	}
	for _, e := range r.requests(func(e *entry) bool { return e.Headers["mcp-method"] == "initialize" }) {
		if e.Headers["mcp-session-id"] != "" {
			r.t.Error("initialize carried the id of the lost session")
		}
	}
	r.close(id)
}

// sessionInvalid: a status that does not say it plainly may fail a call, but
// nothing is stuck.
func sessionInvalid(r *rig) {
	r.t.Helper()
	id := r.open()
	for n := range 4 {
		if _, err := r.callJSON(r.ctx(), id, "echo", "{}"); err != nil && n < 2 {
			r.t.Error(err)
		}
	}
	id = r.open()
	r.echoes(id)
	r.close(id)
}

// redirect302: a POST does not become a GET.
func redirect302(r *rig) {
	r.t.Helper()
	res, err := r.initialize(r.ctx(), &mcpbridgev1.InitializeRequest{Server: "q"})
	if err == nil {
		r.echoes(res.SessionId)
	} else {
		want{connect.CodeFailedPrecondition, "REDIRECT_REFUSED", answered, []string{"/mcp2"}}.check(r.t, err)
	}
	if n := len(r.entries(func(e *entry) bool { return e.Event == "redirected-get" })); n > 0 {
		r.t.Errorf("%d requests became GET", n)
	}
}

// signInPage: what is no MCP server is said to be none, at once.
func signInPage(r *rig) {
	r.t.Helper()
	quickly(r.t, atOnce, "Initialize", func() {
		_, err := r.initialize(r.ctx(), &mcpbridgev1.InitializeRequest{Server: "q"})
		var f *fault
		if !errors.As(err, &f) || f.code != connect.CodeUnavailable && f.code != connect.CodeInternal {
			r.t.Fatalf("%v", err)
		}
		for _, part := range []string{"200", "text/html", "Sign in"} {
			if !strings.Contains(f.message, part) {
				r.t.Errorf("the message lacks %q: %s", part, f.message)
			}
		}
	})
}

// httpErrors: what the body of a refusal says is not lost.
func httpErrors(r *rig) {
	r.t.Helper()
	id := r.open()
	f := r.fails(id, "echo", "{}", want{connect.CodeInvalidArgument, "INVALID_PARAMS", answered, []string{"bad q"}})
	if e := f.upstream.GetJsonrpcError(); e.GetCode() != -32602 || e.GetDataJson() != `{"field":"q"}` || f.upstream.GetHttpStatus() != 400 {
		r.t.Error(f.upstream)
	}
	f = r.fails(id, "sleep", "{}", want{connect.CodeInternal, "SERVER_ERROR", answered, []string{"exploded"}})
	if f.upstream.GetJsonrpcError().GetCode() != -32603 || f.upstream.GetHttpStatus() != 500 {
		r.t.Error(f.upstream)
	}
	f = r.fails(id, "blob", "{}", want{connect.CodeUnavailable, "SERVER_UNAVAILABLE", answered, []string{"HTTP 503", "try later"}})
	if d := f.retry.GetRetryDelay().AsDuration(); d != 7*time.Second || f.upstream.GetHttpStatus() != 503 {
		r.t.Error(d, f.upstream)
	}
	r.close(id)
}

// unauthenticated: the challenge reaches the caller; with the right header in the
// configuration all is well, and every request carries it.
func unauthenticated(r *rig) {
	r.t.Helper()
	quickly(r.t, atOnce, "Initialize", func() {
		f := r.refused(want{code: connect.CodeFailedPrecondition, reason: "UPSTREAM_UNAUTHENTICATED", delivery: answered})
		if c := f.info.GetMetadata()["www_authenticate"]; !strings.Contains(c, `resource_metadata="http://127.0.0.1/.well-known/x"`) || f.upstream.GetHttpStatus() != 401 {
			r.t.Errorf("%v", f.info)
		}
	})
	url := startQuirkHTTP(r.t, quirkScript(r.t), "auth-401", r.log+"2")
	good := &rig{t: r.t, on: overHTTP, log: r.log + "2", deadline: r.deadline,
		b: serveConfig(r.t, "servers:\n  q:\n    url: "+url+"\n    headers: {Authorization: Bearer good}\n")}
	good.api = good.b.rpc()
	works(good)
	for _, e := range good.requests(func(*entry) bool { return true }) {
		if e.Headers["authorization"] != "Bearer good" {
			r.t.Errorf("%s %s lacks the header", e.Verb, e.Path)
		}
	}
	if strings.Contains(good.b.log.String(), "Bearer good") {
		r.t.Error("the secret stands in the log")
	}
}
