package typed_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
)

var seed = flag.Uint64("seed", 0, "seed of the random results; 0: a new one")

// TestNothingIsLost puts random results into messages and puts JSON together
// again from these.
func TestNothingIsLost(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	g := gen{rand.New(rand.NewPCG(s, 0))}
	for n := range 1000 {
		var p pair
		var got string
		if n%2 == 0 {
			p = g.toolResult()
			res, err := legacy.ToolResult([]byte(p.in))
			if err != nil {
				t.Fatalf("-seed %d: %s: %v", s, p.in, err)
			}
			got = assembler{t, p.in}.toolResult(res)
		} else {
			p = g.toolPage()
			page, err := legacy.ListTools([]byte(p.in))
			if err != nil {
				t.Fatalf("-seed %d: %s: %v", s, p.in, err)
			}
			got = assembler{t, p.in}.toolPage(page)
		}
		if a, b := canonical(t, p.want), canonical(t, got); a != b {
			t.Fatalf("-seed %d: round %d\nsent %s\nwant %s\ngot  %s", s, n, p.in, a, b)
		}
	}
}

// canonical brings JSON into one form for all texts that mean the same: members
// sorted (equal names stay in order), numbers as fractions.
func canonical(t *testing.T, text string) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value func() string
	token := func() json.Token {
		tok, err := dec.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return tok
	}
	value = func() string {
		switch tok := token().(type) {
		case json.Delim:
			var items []string
			for dec.More() {
				item := ""
				if tok == '{' {
					item = fmt.Sprintf("%q:", token())
				}
				items = append(items, item+value())
			}
			token()
			if tok == '{' {
				slices.SortStableFunc(items, func(a, b string) int {
					return strings.Compare(a[:strings.Index(a, `":`)], b[:strings.Index(b, `":`)])
				})
				return "{" + strings.Join(items, ",") + "}"
			}
			return "[" + strings.Join(items, ",") + "]"
		case json.Number:
			r, ok := new(big.Rat).SetString(tok.String())
			if !ok {
				t.Fatalf("number %s", tok)
			}
			return r.RatString()
		case string:
			return fmt.Sprintf("%q", tok)
		default:
			return fmt.Sprint(tok)
		}
	}
	return value()
}

// assembler makes JSON of messages again. It shares nothing with the package's
// own encoder.
type assembler struct {
	t    *testing.T
	sent string
}

// members joins members into an object. What extra_json has is more exact.
func (a assembler) members(extra string, fields ...string) string {
	var out []string
	rest := ""
	names := map[string]bool{}
	if extra != "" {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(extra), &m); err != nil || len(m) == 0 {
			a.t.Fatalf("extra_json %q: %v", extra, err)
		}
		for name := range m {
			names[name] = true
		}
		rest = strings.TrimSpace(extra)
		rest = rest[1 : len(rest)-1]
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] != "" && !names[fields[i]] {
			out = append(out, fmt.Sprintf("%q:%s", fields[i], fields[i+1]))
		}
	}
	if rest != "" {
		out = append(out, rest)
	}
	return "{" + strings.Join(out, ",") + "}"
}

func (a assembler) str(s string) string {
	if s == "" {
		return ""
	}
	b, _ := json.Marshal(s)
	return string(b)
}

func (a assembler) must(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (a assembler) json(j *v1.Json) string {
	if j == nil {
		return ""
	}
	if j.Value != nil || !strings.Contains(a.sent, j.Text) {
		a.t.Fatalf("%v is not what was sent: %s", j, a.sent)
	}
	return j.Text
}

func array[T any](items []T, write func(T) string) string {
	if len(items) == 0 {
		return ""
	}
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = write(item)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (a assembler) flag(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func (a assembler) hint(b *bool) string {
	if b == nil {
		return ""
	}
	return fmt.Sprint(*b)
}

func (a assembler) bytes(b []byte) string { out, _ := json.Marshal(b); return string(out) }

func (a assembler) icon(i *v1.Icon) string {
	return a.members(i.ExtraJson, "src", a.str(i.Src), "mimeType", a.str(i.MimeType), "theme", a.str(i.Theme), "sizes", array(i.Sizes, a.must))
}

func (a assembler) annotations(n *v1.Annotations) string {
	if n == nil {
		return ""
	}
	priority := ""
	if n.Priority != nil {
		b, err := json.Marshal(*n.Priority)
		if err != nil {
			a.t.Fatal(err)
		}
		priority = string(b)
	}
	return a.members(n.ExtraJson, "audience", array(n.Audience, a.must), "priority", priority, "lastModified", a.str(n.LastModified))
}

func (a assembler) contents(c *v1.ResourceContents) string {
	text, blob := "", ""
	switch b := c.Body.(type) {
	case *v1.ResourceContents_Text:
		text = a.must(b.Text)
	case *v1.ResourceContents_Blob:
		blob = a.bytes(b.Blob)
	}
	return a.members(c.ExtraJson, "uri", a.str(c.Uri), "mimeType", a.str(c.MimeType), "text", text, "blob", blob, "_meta", a.json(c.Meta))
}

func (a assembler) block(c *v1.Content) string {
	var own []string
	switch b := c.Block.(type) {
	case *v1.Content_Other:
		return a.json(b.Other.Raw)
	case *v1.Content_Text:
		own = []string{"type", `"text"`, "text", a.must(b.Text.Text)}
	case *v1.Content_Image:
		own = []string{"type", `"image"`, "data", a.bytes(b.Image.Data), "mimeType", a.str(b.Image.MimeType)}
	case *v1.Content_Audio:
		own = []string{"type", `"audio"`, "data", a.bytes(b.Audio.Data), "mimeType", a.str(b.Audio.MimeType)}
	case *v1.Content_ResourceLink:
		l, size := b.ResourceLink, ""
		if l.SizeBytes != nil {
			size = fmt.Sprint(*l.SizeBytes)
		}
		own = []string{"type", `"resource_link"`, "uri", a.must(l.Uri), "name", a.str(l.Name), "title", a.str(l.Title), "description", a.str(l.Description),
			"mimeType", a.str(l.MimeType), "size", size, "icons", array(l.Icons, a.icon)}
	case *v1.Content_Resource:
		own = []string{"type", `"resource"`, "resource", a.contents(b.Resource)}
	case *v1.Content_ToolUse:
		own = []string{"type", `"tool_use"`, "id", a.must(b.ToolUse.Id), "name", a.must(b.ToolUse.Name), "input", a.json(b.ToolUse.Input)}
	case *v1.Content_ToolResult:
		r := b.ToolResult
		own = []string{"type", `"tool_result"`, "toolUseId", a.must(r.ToolUseId), "content", array(r.Content, a.block),
			"structuredContent", a.json(r.StructuredContent), "isError", a.flag(r.IsError)}
	default:
		a.t.Fatalf("no block: %v", c)
	}
	return a.members(c.ExtraJson, append(own, "annotations", a.annotations(c.Annotations), "_meta", a.json(c.Meta))...)
}

func (a assembler) toolResult(r *v1.ToolResult) string {
	return a.members(r.ExtraJson, "content", array(r.Content, a.block), "structuredContent", a.json(r.StructuredContent), "isError", a.flag(r.IsError), "_meta", a.json(r.Meta))
}

func (a assembler) tool(x *v1.Tool) string {
	hints := ""
	if h := x.Annotations; h != nil {
		hints = a.members(h.ExtraJson, "title", a.str(h.Title), "readOnlyHint", a.hint(h.ReadOnlyHint), "destructiveHint", a.hint(h.DestructiveHint),
			"idempotentHint", a.hint(h.IdempotentHint), "openWorldHint", a.hint(h.OpenWorldHint))
	}
	extra, execution := x.ExtraJson, ""
	if x.TaskSupport != "" {
		// The rest of `execution` stands in extra_json under that name.
		var more string
		extra, more = takeMember(a.t, extra, "execution")
		execution = a.members(more, "taskSupport", a.str(x.TaskSupport))
	}
	return a.members(extra, "name", a.str(x.Name), "title", a.str(x.Title), "description", a.str(x.Description), "inputSchema", a.json(x.InputSchema),
		"outputSchema", a.json(x.OutputSchema), "annotations", hints, "icons", array(x.Icons, a.icon), "execution", execution, "_meta", a.json(x.Meta))
}

func takeMember(t *testing.T, object, name string) (without, value string) {
	if object == "" {
		return "", ""
	}
	d := jsonscan.NewDecoder([]byte(object))
	var m jsonscan.Member
	var rest [][]byte
	for d.OpenObject(); d.NextMember(&m); {
		raw := d.ReadRaw()
		if m.Name == name {
			value = string(raw)
		} else {
			rest = append(rest, d.Slice(m.At, d.Offset()))
		}
	}
	if err := d.End(); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	if len(rest) > 0 {
		without = "{" + string(bytes.Join(rest, []byte(","))) + "}"
	}
	return without, value
}

func (a assembler) toolPage(p *v1.ListToolsResponse) string {
	next := ""
	if p.NextCursor != nil {
		next = a.must(*p.NextCursor)
	}
	return a.members(p.ExtraJson, "tools", array(p.Tools, a.tool), "nextCursor", next, "_meta", a.json(p.Meta))
}
