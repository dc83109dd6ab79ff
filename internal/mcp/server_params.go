package mcp

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// serverLenient is how the server reads what clients wrote.
var serverLenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// serverJSON writes one of our own values.
func serverJSON(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
}

// serverRead decodes params that a client wrote; what is wrong with them is its
// fault.
func serverRead(params []byte, dst any) *jsonrpc.Error {
	if params == nil {
		return nil
	}
	if err := json.Unmarshal(params, dst, serverLenient); err != nil {
		return invalidParams("invalid params: %s", shorten(err.Error()))
	}
	return nil
}

// serverParams is what any call may say about itself in `_meta`, beside what it
// wants.
type serverParams struct {
	Meta   map[string]jsontext.Value `json:"_meta"`
	Wanted jsontext.Value            `json:"protocolVersion"` // of initialize

	version      string // of 2026-07-28 and later
	hasVersion   bool
	token        []byte // progressToken, a JSON string or number; nil: none wanted
	level        serverLevel
	hasLevel     bool
	capabilities *serverCapabilities // what this request's client can do; nil: not said
}

func readServerParams(params []byte) (*serverParams, *jsonrpc.Error) {
	p := &serverParams{}
	if params == nil {
		return p, nil
	}
	if params[0] != '{' {
		return nil, invalidParams("params must be an object")
	}
	if e := serverRead(params, p); e != nil {
		return nil, e
	}
	if t := p.Meta["progressToken"]; len(t) > 0 && (t.Kind() == '"' || t.Kind() == '0') {
		p.token = t
	}
	v, ok := p.Meta[metaVersion]
	if !ok {
		return p, nil
	}
	if p.hasVersion = true; v.Kind() != '"' {
		return nil, invalidParams("%s must be a string", metaVersion)
	}
	if e := serverRead(v, &p.version); e != nil {
		return nil, e
	}
	if c, ok := p.Meta[metaCapabilities]; ok {
		p.capabilities = &serverCapabilities{}
		if e := serverRead(c, p.capabilities); e != nil || c.Kind() != '{' {
			return nil, invalidParams("%s must be an object of capabilities", metaCapabilities)
		}
	}
	if l, ok := p.Meta[metaLogLevel]; ok {
		var e *jsonrpc.Error
		if p.level, e = readServerLevel(l); e != nil {
			return nil, e
		}
		p.hasLevel = true
	}
	return p, nil
}

// serverCapabilities is what a client can be asked for.
type serverCapabilities struct {
	Elicitation *struct {
		Form jsontext.Value `json:"form"`
		URL  jsontext.Value `json:"url"`
	} `json:"elicitation"`
	Sampling jsontext.Value `json:"sampling"`
	Roots    jsontext.Value `json:"roots"`
}

// serverLevel is the severity of a log message: the place of its name in
// serverLevels.
type serverLevel int

var serverLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

const (
	serverLevelInfo  serverLevel = 1
	serverLevelError serverLevel = 4
)

// readServerLevel reads the JSON text of a level.
func readServerLevel(v []byte) (serverLevel, *jsonrpc.Error) {
	var name string
	i := -1
	if len(v) > 0 && v[0] == '"' && serverRead(v, &name) == nil {
		i = slices.Index(serverLevels, name)
	}
	if i < 0 {
		return 0, invalidParams("invalid log level: %s", shorten(string(v)))
	}
	return serverLevel(i), nil
}

// parseServerLevel takes the word of a handler; what is none counts as "error".
func parseServerLevel(name string) serverLevel {
	if i := slices.Index(serverLevels, name); i >= 0 {
		return serverLevel(i)
	}
	return serverLevelError
}
