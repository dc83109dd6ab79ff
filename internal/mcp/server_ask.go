package mcp

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A ServerQuestion is what a handler wants to know of the client's user or
// model.
type ServerQuestion struct {
	Key    string         // names the question within its call
	Method string         // elicitation/create, sampling/createMessage, roots/list
	Params jsontext.Value // a JSON object; nil: none
}

// ErrInputRequired is what Ask gives a handler whose questions must travel to
// the client first. The handler returns it.
var ErrInputRequired = errors.New("input required")

// A ServerCapabilityError means that the client did not say that it can answer.
type ServerCapabilityError struct {
	Method   string
	Required string // ClientCapabilities, JSON
}

func (e *ServerCapabilityError) Error() string {
	return fmt.Sprintf("the client does not support %s", e.Method)
}

// A ServerAnswerError means that the client answered a question with an error.
type ServerAnswerError struct {
	Method  string
	Code    int64
	Message string
}

func (e *ServerAnswerError) Error() string {
	return fmt.Sprintf("%s: the client answered %d: %s", e.Method, e.Code, e.Message)
}

// may checks that a client with these capabilities can be asked: the server
// must not ask for what was not declared.
func (caps *serverCapabilities) may(q *ServerQuestion) error {
	missing := func(required string) error {
		return &ServerCapabilityError{Method: q.Method, Required: required}
	}
	if caps == nil {
		caps = &serverCapabilities{}
	}
	switch q.Method {
	case "elicitation/create":
		var p struct {
			Mode string `json:"mode"`
		}
		if e := serverRead(q.Params, &p); e != nil {
			return fmt.Errorf("question %s: %s", q.Key, e.Message)
		}
		if p.Mode == "url" {
			if caps.Elicitation == nil || caps.Elicitation.URL == nil {
				return missing(`{"elicitation":{"url":{}}}`)
			}
		} else if caps.Elicitation == nil || caps.Elicitation.Form == nil && caps.Elicitation.URL != nil {
			return missing(`{"elicitation":{"form":{}}}`)
		}
	case "sampling/createMessage":
		if caps.Sampling == nil {
			return missing(`{"sampling":{}}`)
		}
	case "roots/list":
		if caps.Roots == nil {
			return missing(`{"roots":{}}`)
		}
	default:
		return fmt.Errorf("question %s: %s can't be asked", q.Key, q.Method)
	}
	return nil
}

// serverAsking is what a call of 2026-07-28 has asked so far in this round.
type serverAsking struct {
	mu        sync.Mutex
	questions []ServerQuestion
}

func (a *serverAsking) add(q ServerQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions = append(a.questions, q)
}

func (a *serverAsking) open() []ServerQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.questions
}
