package typed

import (
	"errors"
	"fmt"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// ErrRefusal means that an answer is no result but a JSON-RPC error.
var ErrRefusal = errors.New("the answer is an error")

// AppendAnswer appends an answer as the MCP result of its question's method, for
// a server of that revision. Answer.error is the caller's to send: ErrRefusal.
func AppendAnswer(dst []byte, a *v1.Answer, method, revision string) ([]byte, error) {
	switch k := a.GetKind().(type) {
	case *v1.Answer_Sampling:
		if method != methodSample {
			return dst, fmt.Errorf("a sampling answer to %.64q", method)
		}
		return appendSamplingResult(dst, k.Sampling, revision)
	case *v1.Answer_Elicitation:
		if method != methodElicit {
			return dst, fmt.Errorf("an elicitation answer to %.64q", method)
		}
		return appendElicitationResult(dst, k.Elicitation)
	case *v1.Answer_ResultJson:
		return AppendObjectText(dst, k.ResultJson)
	case *v1.Answer_Error:
		return dst, ErrRefusal
	}
	return dst, errors.New("an answer without a kind")
}

// appendSamplingResult writes one block as an object, which all revisions
// understand, and several as an array, which those before 2025-11-25 do not.
func appendSamplingResult(dst []byte, s *v1.SamplingResult, revision string) ([]byte, error) {
	blocks := s.GetContent()
	switch {
	case len(blocks) == 0:
		return dst, errors.New("a sampling answer without content")
	case len(blocks) > 1 && revision < rev20251125:
		return dst, fmt.Errorf("a server of revision %s takes one block of content, not %d", revision, len(blocks))
	}
	w := newWriter(dst, "")
	role := s.GetRole()
	if role == "" {
		role = "assistant"
	}
	w.str("role", role)
	w.value("content", func(dst []byte) ([]byte, error) {
		if len(blocks) == 1 {
			return AppendContent(dst, blocks[0])
		}
		return appendBlocks(dst, blocks)
	})
	w.str("model", s.GetModel())
	w.optStr("stopReason", s.GetStopReason())
	return w.end()
}

func appendElicitationResult(dst []byte, e *v1.ElicitationResult) ([]byte, error) {
	var action string
	switch e.GetAction() {
	case v1.ElicitationAction_ELICITATION_ACTION_ACCEPT:
		action = "accept"
	case v1.ElicitationAction_ELICITATION_ACTION_DECLINE:
		action = "decline"
	case v1.ElicitationAction_ELICITATION_ACTION_CANCEL:
		action = "cancel"
	default:
		return dst, errors.New("an elicitation answer without an action")
	}
	filled, text := e.GetContent(), e.GetContentJson()
	if filled != nil && text != "" {
		return dst, errors.New("both content and content_json are set")
	}
	w := newWriter(dst, "")
	w.str("action", action)
	if action == "accept" && (filled != nil || text != "") {
		w.value("content", func(dst []byte) ([]byte, error) {
			if filled != nil {
				return AppendStruct(dst, filled)
			}
			return AppendObjectText(dst, text)
		})
	}
	return w.end()
}
