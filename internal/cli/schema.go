package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// describeTool tells all about a tool that a person wants to know.
func describeTool(tool *mcpbridgev1.Tool, limit int, st style) string {
	var b strings.Builder
	name := tool.GetName()
	if tool.GetServer() != "" {
		name = tool.GetServer() + "/" + name
	}
	b.WriteString(st.bold(oneLine(name)))
	if t := title(tool); t != "" && t != tool.GetName() {
		b.WriteString("  " + oneLine(t))
	}
	if h := hints(tool); len(h) > 0 {
		b.WriteString("  " + st.dim("("+strings.Join(h, ", ")+")"))
	}
	b.WriteByte('\n')
	if tool.GetDescription() != "" {
		b.WriteString("\n" + strings.Join(wrap(st.clean(tool.GetDescription()), limit), "\n") + "\n")
	}
	in := jsonText(tool.GetInputSchema())
	b.WriteString("\n" + schemaTable("ARGUMENT", in, "Takes no arguments.\n", limit, st))
	if tool.GetOutputSchema() != nil {
		b.WriteString("\n" + schemaTable("RESULT", jsonText(tool.GetOutputSchema()), "Returns structured content.\n", limit, st))
	}
	b.WriteString("\n" + st.dim("mcp-bridge call "+oneLine(name)+exampleArguments(in)) + "\n")
	return b.String()
}

// jsonText returns the text of a JSON value in either form.
func jsonText(j *mcpbridgev1.Json) []byte {
	if j.GetText() != "" || j.GetValue() == nil {
		return []byte(j.GetText())
	}
	b, err := protojson.Marshal(j.GetValue())
	if err != nil {
		return nil
	}
	return b
}

// schemaTable lists an object schema's properties in the server's order.
func schemaTable(what string, schema []byte, none string, limit int, st style) string {
	s, _ := objectMembers(schema)
	props, _ := objectMembers(s.get("properties"))
	if len(props) == 0 {
		return none
	}
	required := requiredOf(s)
	t := &table{head: []string{what, "TYPE", "", "DESCRIPTION"}}
	for _, p := range props {
		prop, _ := objectMembers(p.value)
		must := ""
		if slices.Contains(required, p.key) {
			must = "required"
		}
		description := prop.str("description")
		if d := prop.get("default"); d != nil {
			description = strings.TrimSpace(description + " (default " + string(d) + ")")
		}
		t.add(p.key, typeName(p.value, 0), must, description)
	}
	return t.text(limit, st)
}

func requiredOf(schema members) []string {
	var out []string
	if json.Unmarshal(schema.get("required"), &out) != nil {
		return nil
	}
	return out
}

// typeName writes a schema's type in a few characters.
func typeName(schema []byte, depth int) string {
	s, err := objectMembers(schema)
	if err != nil || depth > 3 {
		return "any"
	}
	if c := s.get("const"); c != nil {
		return string(c)
	}
	var enum []json.RawMessage
	if json.Unmarshal(s.get("enum"), &enum) == nil && len(enum) > 0 {
		return alternatives(enum, func(v json.RawMessage) string { return string(v) })
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		var of []json.RawMessage
		if json.Unmarshal(s.get(word), &of) == nil && len(of) > 0 {
			return alternatives(of, func(v json.RawMessage) string { return typeName(v, depth+1) })
		}
	}
	var types []string
	if t := s.str("type"); t != "" {
		types = []string{t}
	} else if json.Unmarshal(s.get("type"), &types) != nil || len(types) == 0 {
		return "any"
	}
	for i, t := range types {
		switch {
		case t == "array" && s.get("items") != nil:
			types[i] = typeName(s.get("items"), depth+1) + "[]"
			if strings.Contains(types[i], " | ") {
				types[i] = "(" + strings.TrimSuffix(types[i], "[]") + ")[]"
			}
		case t == "string" && s.str("format") != "":
			types[i] = s.str("format")
		}
	}
	return strings.Join(types, " | ")
}

func alternatives(of []json.RawMessage, name func(json.RawMessage) string) string {
	const limit = 6
	var words []string
	for _, v := range of[:min(len(of), limit)] {
		if w := name(v); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if more := len(of) - limit; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, " | ")
}

// exampleArguments writes the required arguments as one would on a command line.
func exampleArguments(schema []byte) string {
	s, _ := objectMembers(schema)
	props, _ := objectMembers(s.get("properties"))
	var b strings.Builder
	for _, key := range requiredOf(s) {
		switch typeName(props.get(key), 0) {
		case "number", "integer":
			b.WriteString(" " + oneLine(key) + ":=1")
		case "boolean":
			b.WriteString(" " + oneLine(key) + ":=true")
		case "object":
			b.WriteString(" " + oneLine(key) + ":='{}'")
		default:
			if strings.HasSuffix(typeName(props.get(key), 0), "[]") {
				b.WriteString(" " + oneLine(key) + ":='[]'")
				continue
			}
			b.WriteString(" " + oneLine(key) + "=…")
		}
	}
	return b.String()
}
