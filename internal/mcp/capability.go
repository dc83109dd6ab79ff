package mcp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// capabilities are what the server announced, as far as methods depend on it.
// The zero value allows everything.
type capabilities struct {
	known bool
	has   map[string]bool
	sub   bool // resources.subscribe
}

// readCapabilities reads a capabilities object. One that is absent or null says
// nothing, so everything may be asked.
func readCapabilities(raw []byte) capabilities {
	if len(raw) == 0 || raw[0] != '{' {
		return capabilities{}
	}
	var m map[string]jsontext.Value
	if json.Unmarshal(raw, &m, jsontext.AllowDuplicateNames(true)) != nil {
		return capabilities{}
	}
	c := capabilities{known: true, has: make(map[string]bool, len(m))}
	for name, v := range m {
		c.has[name] = string(v) != "null" && string(v) != "false"
	}
	var res struct {
		Subscribe bool `json:"subscribe"`
	}
	if v := m["resources"]; len(v) > 0 && json.Unmarshal(v, &res) == nil {
		c.sub = res.Subscribe
	}
	return c
}

// capabilityOf names the capability that a method needs.
func capabilityOf(method string) string {
	switch method {
	case "tools/list", "tools/call":
		return "tools"
	case "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe":
		return "resources"
	case "prompts/list", "prompts/get":
		return "prompts"
	case "completion/complete":
		return "completions"
	case "logging/setLevel":
		return "logging"
	}
	return ""
}

// check tells whether the server may be asked a method at all.
func (c *capabilities) check(method string) error {
	if !c.known {
		return nil
	}
	need := capabilityOf(method)
	switch {
	case need == "":
		return nil
	case !c.has[need]:
		return &NotOfferedError{Method: method, Capability: need}
	case !c.sub && (method == "resources/subscribe" || method == "resources/unsubscribe"):
		return &NotOfferedError{Method: method, Capability: "resources.subscribe"}
	}
	return nil
}
