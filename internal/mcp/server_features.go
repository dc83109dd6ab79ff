package mcp

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// serverFeatures are the methods that both eras have. Each era adds its own.
func serverFeatures() map[string]serverMethod {
	return map[string]serverMethod{
		"tools/list":               listMethod(hasTools, func(r *registry) *listing { return &r.toolList }),
		"tools/call":               {offered: hasTools, run: callTool, dress: serverDressPlain, slow: true},
		"resources/list":           listMethod(hasResources, func(r *registry) *listing { return &r.resourceList }),
		"resources/templates/list": listMethod(hasResources, func(r *registry) *listing { return &r.templateList }),
		"resources/read":           {offered: hasResources, run: readResource, dress: serverDressRead, slow: true},
		"prompts/list":             listMethod(hasPrompts, func(r *registry) *listing { return &r.promptList }),
		"prompts/get":              {offered: hasPrompts, run: getPrompt, dress: serverDressPlain, slow: true},
		"completion/complete":      {offered: hasCompletions, run: complete, dress: serverDressPlain, slow: true},
	}
}

func callTool(ctx context.Context, c *serverCall) ([]byte, error) {
	var p struct {
		Name      *string        `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	if p.Name == nil {
		return nil, invalidParams("tools/call needs a name")
	}
	t := c.server.has.tools[*p.Name]
	if t == nil {
		return nil, invalidParams("unknown tool: %s", shorten(*p.Name))
	}
	args, e := serverObject("arguments", p.Arguments)
	if e != nil {
		return nil, e
	}
	if e := checkMirrored(ctx, t, args); e != nil {
		return nil, e
	}
	c.request.Name, c.request.Arguments = t.Name, args
	return t.Handle(ctx, c.request)
}

// serverObject is a member that must be an object, or is missing.
func serverObject(name string, v jsontext.Value) ([]byte, *jsonrpc.Error) {
	switch {
	case len(v) == 0 || v.Kind() == 'n':
		return nil, nil
	case v.Kind() != '{':
		return nil, invalidParams("%s must be an object", name)
	}
	return v, nil
}

func readResource(ctx context.Context, c *serverCall) ([]byte, error) {
	uri, e := serverURI(c.rpc.Params)
	if e != nil {
		return nil, e
	}
	r := c.request
	r.Name = uri
	if res := c.server.has.resources[uri]; res != nil {
		c.request.ttl = res.TTL
		return res.Handle(ctx, r)
	}
	for i := range c.server.has.templates {
		t := &c.server.has.templates[i]
		if vars, ok := t.match(uri); ok {
			r.Vars, r.ttl = vars, t.TTL
			return t.Handle(ctx, r)
		}
	}
	return nil, c.era.notFound(uri)
}

func serverURI(params []byte) (string, *jsonrpc.Error) {
	var p struct {
		URI *string `json:"uri"`
	}
	if e := serverRead(params, &p); e != nil {
		return "", e
	}
	if p.URI == nil {
		return "", invalidParams("a uri is needed")
	}
	return *p.URI, nil
}

func getPrompt(ctx context.Context, c *serverCall) ([]byte, error) {
	var p struct {
		Name      *string           `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	if p.Name == nil {
		return nil, invalidParams("prompts/get needs a name")
	}
	prompt := c.server.has.prompts[*p.Name]
	if prompt == nil {
		return nil, invalidParams("unknown prompt: %s", shorten(*p.Name))
	}
	for _, a := range prompt.Arguments {
		if _, ok := p.Arguments[a.Name]; a.Required && !ok {
			return nil, invalidParams("prompt %s needs the argument %s", prompt.Name, a.Name)
		}
	}
	c.request.Name, c.request.Vars = prompt.Name, p.Arguments
	return prompt.Handle(ctx, c.request)
}

func complete(ctx context.Context, c *serverCall) ([]byte, error) {
	var p struct {
		Ref struct {
			Type string `json:"type"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	if e := serverRead(c.rpc.Params, &p); e != nil {
		return nil, e
	}
	find, known := c.server.completer(p.Ref.Type, p.Ref.Name, p.Ref.URI)
	if !known {
		return nil, invalidParams("nothing to complete: unknown reference")
	}
	var values []string
	if find != nil {
		var err error
		if values, err = find(ctx, p.Argument.Name, p.Argument.Value, p.Context.Arguments); err != nil {
			return nil, err
		}
	}
	const limit = 100 // 2024-11-05 §completion: at most that many values
	type completion struct {
		Values  []string `json:"values"`
		Total   int      `json:"total"`
		HasMore bool     `json:"hasMore"`
	}
	return serverJSON(map[string]completion{
		"completion": {Values: values[:min(len(values), limit)], Total: len(values), HasMore: len(values) > limit},
	})
}

// completer finds who completes for a reference; nil where nobody does.
func (s *Server) completer(kind, name, uri string) (ServerCompleter, bool) {
	switch kind {
	case "ref/prompt":
		if p := s.has.prompts[name]; p != nil {
			return p.Complete, true
		}
	case "ref/resource":
		for i := range s.has.templates {
			if t := &s.has.templates[i]; t.URITemplate == uri {
				return t.Complete, true
			}
		}
		_, ok := s.has.resources[uri]
		return nil, ok
	}
	return nil, false
}
