package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
)

// promptMessage is PromptMessage.
type promptMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

func say(description, words string) ([]byte, error) {
	return encode(struct {
		Description string          `json:"description"`
		Messages    []promptMessage `json:"messages"`
	}{description, []promptMessage{{"user", content{Type: "text", Text: words}}}})
}

func prompts() []mcp.ServerPrompt {
	return []mcp.ServerPrompt{
		{Name: "greet", Title: "Greet somebody", Description: "Asks for a greeting in a certain style", Handle: greet, Complete: completeStyle,
			Arguments: []mcp.ServerPromptArgument{
				{Name: "name", Description: "Whom to greet", Required: true},
				{Name: "style", Description: "How: formal, friendly, pirate, poetic"},
			}},
		{Name: "summarize", Title: "Summarize a text", Description: "Asks for a short summary", Handle: summarize,
			Arguments: []mcp.ServerPromptArgument{
				{Name: "text", Description: "What to summarize", Required: true},
				{Name: "sentences", Description: "How long, in sentences; 3 if left out"},
			}},
	}
}

func greet(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
	style := r.Vars["style"]
	if style == "" {
		style = "friendly"
	}
	return say("A greeting", fmt.Sprintf("Greet %s in a %s way, in one sentence.", r.Vars["name"], style))
}

func summarize(_ context.Context, r *mcp.ServerRequest) ([]byte, error) {
	sentences := r.Vars["sentences"]
	if sentences == "" {
		sentences = "3"
	}
	return say("A summary", fmt.Sprintf("Summarize this text in at most %s sentences:\n\n%s", sentences, r.Vars["text"]))
}

func completeStyle(_ context.Context, argument, value string, _ map[string]string) (found []string, _ error) {
	if argument != "style" {
		return nil, nil
	}
	for _, s := range []string{"formal", "friendly", "pirate", "poetic"} {
		if strings.HasPrefix(s, value) {
			found = append(found, s)
		}
	}
	return found, nil
}
