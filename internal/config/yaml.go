package config

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads one YAML document, with anchors, aliases and merge keys.
func parseYAML(data []byte) (n *node, err error) {
	defer func() { // the library's, not ours, and a file must never end the program
		if r := recover(); r != nil {
			n, err = nil, &syntaxError{text: fmt.Sprintf("not valid YAML (%v)", r)}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkDepth(tokens); err != nil {
		return nil, err
	}
	// Duplicate keys are let through here and told later, with the others.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, comment := doc.Body.(*ast.CommentGroupNode); comment {
			continue
		}
		if body != nil {
			return nil, &syntaxError{yamlPos(doc.Body), "a second document: a configuration is one"}
		}
		body = doc.Body
	}
	if body == nil {
		return &node{kind: isMap, at: pos{1, 1}}, nil
	}
	c := converter{anchors: map[string]*node{}}
	return c.node(body, 0)
}

// checkDepth refuses what would take the parser, which is recursive, too deep.
// Block nesting by indentation is bounded by the size of the file.
func checkDepth(tokens token.Tokens) error {
	flow, line, onLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			onLine++
		}
		if flow > maxDepth || onLine > maxDepth && flow == 0 || onLine > 100*maxDepth {
			return &syntaxError{pos{t.Position.Line, t.Position.Column}, fmt.Sprintf("nested more than %d deep", maxDepth)}
		}
	}
	return nil
}

func yamlError(err error) error {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		at := syntax.GetToken().Position
		return &syntaxError{pos{at.Line, at.Column}, "not valid YAML: " + syntax.GetMessage()}
	}
	return &syntaxError{text: "not valid YAML: " + err.Error()}
}

func yamlPos(n ast.Node) pos {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return pos{t.Position.Line, t.Position.Column}
	}
	return pos{}
}

// converter makes nodes of YAML's tree.
type converter struct {
	anchors map[string]*node
	count   int
}

func (c *converter) node(y ast.Node, depth int) (*node, error) {
	n := &node{}
	if y != nil {
		n.at = yamlPos(y)
	}
	if c.count++; c.count > maxNodes || depth > maxDepth {
		return nil, &syntaxError{n.at, fmt.Sprintf("more than %d values, or nested more than %d deep", maxNodes, maxDepth)}
	}
	switch y := y.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		n.kind = isNull
	case *ast.BoolNode:
		n.kind, n.text = isBool, y.Token.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = isNumber, y.GetToken().Value
	case *ast.StringNode:
		n.kind, n.text = isString, y.Value
	case *ast.LiteralNode:
		n.kind, n.text = isString, y.Value.Value
	case *ast.SequenceNode:
		n.kind = isList
		for _, v := range y.Values {
			item, err := c.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case *ast.MappingNode:
		return n, c.mapping(n, y.Values, depth)
	case *ast.MappingValueNode:
		n.at = yamlPos(y.Key)
		return n, c.mapping(n, []*ast.MappingValueNode{y}, depth)
	case *ast.TagNode:
		return c.tagged(n, y, depth)
	case *ast.AnchorNode:
		value, err := c.node(y.Value, depth+1)
		if err == nil && y.Name != nil {
			c.anchors[y.Name.GetToken().Value] = value
		}
		return value, err
	case *ast.AliasNode:
		name := ""
		if y.Value != nil {
			name = y.Value.GetToken().Value
		}
		if value := c.anchors[name]; value != nil {
			return value, nil
		}
		return nil, &syntaxError{n.at, fmt.Sprintf("no anchor %s before this alias", quote(name))}
	default:
		return nil, &syntaxError{n.at, fmt.Sprintf("%s: not understood here", y.Type())}
	}
	return n, nil
}

// tagged understands !!str, which makes a text of any scalar.
func (c *converter) tagged(n *node, y *ast.TagNode, depth int) (*node, error) {
	value, err := c.node(y.Value, depth+1)
	if err != nil {
		return nil, err
	}
	if tag := y.Start.Value; tag != "!!str" || value.kind == isList || value.kind == isMap {
		return nil, &syntaxError{n.at, fmt.Sprintf("tag %s: not understood here", quote(tag))}
	}
	return &node{kind: isString, at: value.at, text: value.text}, nil
}

func (c *converter) mapping(n *node, values []*ast.MappingValueNode, depth int) error {
	n.kind = isMap
	var merges []*node
	for _, v := range values {
		val, err := c.node(v.Value, depth+1)
		if err != nil {
			return err
		}
		at := yamlPos(v.Key)
		if v.Key.IsMergeKey() {
			merges = append(merges, val)
			continue
		}
		var key string
		switch k := v.Key.(type) {
		case *ast.StringNode:
			key = k.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
			key = k.GetToken().Value
		default:
			return &syntaxError{at, "a key must be a plain text"}
		}
		n.pairs = append(n.pairs, pair{key, at, val})
	}
	return c.merge(n, merges)
}

// merge adds the pairs of the maps under merge keys. What the map says itself
// wins, then the first of them.
func (c *converter) merge(n *node, maps []*node) error {
	if len(maps) == 0 {
		return nil
	}
	have := map[string]bool{}
	for _, p := range n.pairs {
		have[p.key] = true
	}
	for len(maps) > 0 {
		m := maps[0]
		maps = maps[1:]
		if c.count += 1 + len(m.pairs) + len(m.items); c.count > maxNodes {
			return &syntaxError{m.at, fmt.Sprintf("more than %d values", maxNodes)}
		}
		switch m.kind {
		case isList:
			maps = append(m.items[:len(m.items):len(m.items)], maps...)
		case isMap:
			for _, p := range m.pairs {
				if !have[p.key] {
					have[p.key] = true
					n.pairs = append(n.pairs, p)
				}
			}
		default:
			return &syntaxError{m.at, "a merge key wants a map, or a list of them, not " + m.what()}
		}
	}
	return nil
}
