package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

type askArgs struct {
	What     string `json:"what"`
	Question string `json:"question"`
	Rounds   int    `json:"rounds"`
}

// ask puts its questions one after the other and says what came back.
func ask(ctx context.Context, r *mcp.ServerRequest, a askArgs) ([]byte, error) {
	if a.Rounds == 0 {
		a.Rounds = 1
	}
	if a.Rounds < 0 || a.Rounds > 5 {
		return failed("rounds must be between 1 and 5.")
	}
	var said []string
	for i := range a.Rounds {
		q, err := question(&a, i)
		if err != nil {
			return failed("%v", err)
		}
		answers, err := r.Ask(ctx, q)
		var refused *mcp.ServerAnswerError
		if errors.As(err, &refused) {
			return failed("%v", refused)
		}
		if err != nil {
			return nil, err
		}
		line, more := inWords(q.Method, answers[0])
		if said = append(said, line); !more {
			break
		}
	}
	return text("%s", strings.Join(said, "\n"))
}

// question is the i-th.
func question(a *askArgs, i int) (mcp.ServerQuestion, error) {
	q := mcp.ServerQuestion{Key: fmt.Sprintf("q%d", i+1)}
	words := a.Question
	if words == "" {
		words = "Who are you?"
	}
	if a.Rounds > 1 {
		words = fmt.Sprintf("%s (%d of %d)", words, i+1, a.Rounds)
	}
	var params any
	switch a.What {
	case "", "form":
		q.Method, params = "elicitation/create", struct {
			Message string         `json:"message"`
			Schema  jsontext.Value `json:"requestedSchema"`
		}{words, formSchema}
	case "url":
		q.Method, params = "elicitation/create", struct {
			Mode    string `json:"mode"`
			Message string `json:"message"`
			URL     string `json:"url"`
			ID      string `json:"elicitationId"`
		}{"url", words, "https://example.com/demo", fmt.Sprintf("demo-%d", i+1)}
	case "sampling":
		q.Method, params = "sampling/createMessage", struct {
			Messages []promptMessage `json:"messages"`
			Max      int             `json:"maxTokens"`
		}{[]promptMessage{{"user", content{Type: "text", Text: words}}}, 100}
	case "roots":
		q.Method = "roots/list"
		return q, nil
	default:
		return q, errors.New("what must be form, url, sampling or roots")
	}
	var err error
	q.Params, err = encode(params)
	return q, err
}

// inWords is one answer in words; more is false where the user wants no more
// questions.
func inWords(method string, answer []byte) (line string, more bool) {
	if method != "elicitation/create" {
		return string(answer), true
	}
	var a struct {
		Action  string         `json:"action"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(answer, &a, jsontext.AllowDuplicateNames(true)); err != nil {
		return "The answer can't be read: " + err.Error(), false
	}
	switch a.Action {
	case "accept":
		return strings.TrimSpace("The user answered. " + string(a.Content)), true
	case "decline":
		return "The user declined.", false
	}
	return "The user did not answer.", false
}
