package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A ServerHandler does the work behind a tool, a resource or a prompt. It
// returns the result object of its method in JSON (CallToolResult,
// ReadResourceResult, GetPromptResult) without what the protocol adds. ctx ends
// when the client cancels or is gone.
//
// A *jsonrpc.Error goes to the client as it is. Any other error is logged, and
// the client learns only that there was one. A tool's own failure is a result
// with isError.
type ServerHandler func(ctx context.Context, r *ServerRequest) (result []byte, err error)

// A ServerTool is a tool that the server offers.
type ServerTool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitzero"`
	Description  string         `json:"description,omitzero"`
	InputSchema  jsontext.Value `json:"inputSchema"` // nil: any object
	OutputSchema jsontext.Value `json:"outputSchema,omitzero"`
	Annotations  jsontext.Value `json:"annotations,omitzero"`
	Meta         jsontext.Value `json:"_meta,omitzero"`
	Handle       ServerHandler  `json:"-"`
}

// A ServerResource is a resource with a fixed URI.
type ServerResource struct {
	URI         string         `json:"uri"`
	Name        string         `json:"name"`
	Title       string         `json:"title,omitzero"`
	Description string         `json:"description,omitzero"`
	MIMEType    string         `json:"mimeType,omitzero"`
	Size        int64          `json:"size,omitzero"`
	Annotations jsontext.Value `json:"annotations,omitzero"`
	TTL         time.Duration  `json:"-"` // how long a client may keep what it read (2026-07-28)
	Handle      ServerHandler  `json:"-"`
}

// A ServerTemplate is a family of resources. URITemplate may hold simple
// expressions, {name}, each of which stands for one path segment (RFC 6570,
// level 1); ServerRequest.Vars has what they stand for.
type ServerTemplate struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitzero"`
	Description string          `json:"description,omitzero"`
	MIMEType    string          `json:"mimeType,omitzero"`
	Annotations jsontext.Value  `json:"annotations,omitzero"`
	TTL         time.Duration   `json:"-"`
	Handle      ServerHandler   `json:"-"`
	Complete    ServerCompleter `json:"-"` // nil: no suggestions
}

// A ServerPrompt is a prompt that the server offers.
type ServerPrompt struct {
	Name        string                 `json:"name"`
	Title       string                 `json:"title,omitzero"`
	Description string                 `json:"description,omitzero"`
	Arguments   []ServerPromptArgument `json:"arguments,omitzero"`
	Handle      ServerHandler          `json:"-"`
	Complete    ServerCompleter        `json:"-"` // nil: no suggestions
}

// A ServerPromptArgument is an argument of a prompt.
type ServerPromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// A ServerCompleter suggests values for the argument of a prompt or template.
// others are the arguments that are known already. It may return any number; the
// client sees a hundred, and how many there are.
type ServerCompleter func(ctx context.Context, argument, value string, others map[string]string) ([]string, error)

type serverImplementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

// registry is all that a server offers, with the lists written out.
type registry struct {
	tools     map[string]*serverTool
	resources map[string]*ServerResource
	templates []serverTemplate
	prompts   map[string]*ServerPrompt
	completes bool

	toolList, resourceList, templateList, promptList listing
}

type serverTool struct {
	ServerTool
	mirrored []serverMirrored
}

func newRegistry(o *ServerOptions) (registry, error) {
	r := registry{
		tools:        map[string]*serverTool{},
		resources:    map[string]*ServerResource{},
		prompts:      map[string]*ServerPrompt{},
		toolList:     listing{member: "tools"},
		resourceList: listing{member: "resources"},
		templateList: listing{member: "resourceTemplates"},
		promptList:   listing{member: "prompts"},
	}
	var errs []error
	for i := range o.Tools {
		errs = append(errs, r.addTool(o.Tools[i]))
	}
	for i := range o.Resources {
		errs = append(errs, r.addResource(&o.Resources[i]))
	}
	for i := range o.Templates {
		errs = append(errs, r.addTemplate(o.Templates[i]))
	}
	for i := range o.Prompts {
		errs = append(errs, r.addPrompt(&o.Prompts[i]))
	}
	return r, errors.Join(errs...)
}

func (r *registry) addTool(t ServerTool) error {
	if t.InputSchema == nil {
		t.InputSchema = jsontext.Value(`{"type":"object"}`)
	}
	if t.Name == "" || t.Handle == nil || r.tools[t.Name] != nil {
		return fmt.Errorf("tool %q: no name, no handler, or there twice", t.Name)
	}
	mirrored, err := readMirrored(t.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	r.tools[t.Name] = &serverTool{ServerTool: t, mirrored: mirrored}
	return r.toolList.add(&t)
}

func (r *registry) addResource(res *ServerResource) error {
	if res.URI == "" || res.Name == "" || res.Handle == nil || r.resources[res.URI] != nil {
		return fmt.Errorf("resource %q: no URI, no name, no handler, or there twice", res.URI)
	}
	r.resources[res.URI] = res
	return r.resourceList.add(res)
}

func (r *registry) addTemplate(t ServerTemplate) error {
	parsed, err := parseServerTemplate(t)
	if err != nil {
		return err
	}
	r.templates = append(r.templates, parsed)
	r.completes = r.completes || t.Complete != nil
	return r.templateList.add(&t)
}

func (r *registry) addPrompt(p *ServerPrompt) error {
	if p.Name == "" || p.Handle == nil || r.prompts[p.Name] != nil {
		return fmt.Errorf("prompt %q: no name, no handler, or there twice", p.Name)
	}
	r.prompts[p.Name] = p
	r.completes = r.completes || p.Complete != nil
	return r.promptList.add(p)
}

// What a server has decides which methods it knows (2026-07-28 §basic, Error
// codes: a method whose capability is not advertised is not found).
func always(*registry) bool           { return true }
func hasTools(r *registry) bool       { return len(r.tools) > 0 }
func hasPrompts(r *registry) bool     { return len(r.prompts) > 0 }
func hasResources(r *registry) bool   { return len(r.resources)+len(r.templates) > 0 }
func hasCompletions(r *registry) bool { return r.completes }

// capabilities is the ServerCapabilities object.
func (r *registry) capabilities() map[string]any {
	caps := map[string]any{"logging": struct{}{}}
	if hasTools(r) {
		caps["tools"] = map[string]bool{"listChanged": true}
	}
	if hasPrompts(r) {
		caps["prompts"] = map[string]bool{"listChanged": true}
	}
	if hasResources(r) {
		caps["resources"] = map[string]bool{"listChanged": true, "subscribe": true}
	}
	if hasCompletions(r) {
		caps["completions"] = struct{}{}
	}
	return caps
}
