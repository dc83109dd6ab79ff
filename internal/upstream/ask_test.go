package upstream_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

func TestQuestionsThatNobodyAnswers(t *testing.T) {
	all := upstream.Capabilities{Sampling: true, ElicitationForm: true, ElicitationURL: true}
	form := upstream.Capabilities{ElicitationForm: true}
	for _, c := range []struct {
		name  string
		can   upstream.Capabilities
		roots string
		ask   string // method and params
		want  string // of the answer
	}{
		{"ping", form, "", `"ping"`, `"result":{}`},
		{"roots", form, `{"roots":[{"uri":"file:///a"}]}`, `"roots/list"`, `"result":{"roots":[{"uri":"file:///a"}]}`},
		{"no roots", form, "", `"roots/list"`, `"result":{"roots":[]}`},
		{"sampling", all, "", `"sampling/createMessage","params":{}`, `"error":{"code":-1,"message":"Nobody is there to answer"}`},
		{"sampling undeclared", form, "", `"sampling/createMessage","params":{}`, `"error":{"code":-32601,"message":"Method not found: sampling/createMessage"}`},
		{"form", form, "", `"elicitation/create","params":{"message":"?"}`, `"result":{"action":"cancel"}`},
		{"url", all, "", `"elicitation/create","params":{"mode":"url"}`, `"result":{"action":"cancel"}`},
		{"url undeclared", form, "", `"elicitation/create","params":{"mode":"url"}`, `"error":{"code":-32602,"message":"This mode of elicitation was not declared"}`},
		{"elicitation undeclared", upstream.Capabilities{}, "", `"elicitation/create","params":{}`, `"error":{"code":-32601,"message":"Method not found: elicitation/create"}`},
		{"unknown", all, "", `"x"`, `"error":{"code":-32601,"message":"Method not found: x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(always(mode{}))
			inBubble(t, f, nil, func(r *rig) {
				spec := upstream.Spec{Capabilities: c.can}
				if c.roots != "" {
					spec.Roots = []byte(c.roots)
				}
				s := r.openPrivate(spec)
				defer r.set.CloseSession(context.Background(), s)
				_ = r.last().peer.Send([]byte(`{"jsonrpc":"2.0","id":"q","method":` + c.ask + `}`))
				synctest.Wait()
				f.mu.Lock()
				defer f.mu.Unlock()
				if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":"q",` + c.want + `}`}, f.answers); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
