package typed_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
)

// gen makes random JSON the way careless servers would. Whatever it makes it
// gives twice: as sent, and as it should come back, which is the same but for
// known members that are null or hold their default.
type gen struct{ *rand.Rand }

type pair struct{ in, want string }

func same(s string) pair { return pair{s, s} }

func (g gen) oneOf(s ...string) string { return s[g.IntN(len(s))] }
func (g gen) chance(percent int) bool  { return g.IntN(100) < percent }
func (g gen) space() string            { return g.oneOf("", "", "", "", " ", "\n\t", " \r\n ") }

func (g gen) str() string {
	var b strings.Builder
	for range g.IntN(12) {
		b.WriteString(g.oneOf("a", "longer run of plain text", "é", "天地", "😀", `\n`, `\"`, `\\`, `\/`, `\u0000`, `\u00e9`, `\ud83d\ude00`, `\ud800`, `\udfff\ud800`,
			"\u2028", "\u007f", "\ufffd", `\u001F`, "0123456789abcdef"))
	}
	return `"` + b.String() + `"`
}

func (g gen) number() string {
	sign := g.oneOf("", "", "-")
	switch g.IntN(6) {
	case 0:
		return sign + strconv.Itoa(g.IntN(1000))
	case 1:
		return sign + strconv.FormatUint(g.Uint64()|1, 10) + g.oneOf("", "0", "00000000000000000000000000000000000000000001")
	case 2:
		return sign + strconv.FormatFloat(g.Float64(), 'f', g.IntN(25), 64)
	case 3:
		return sign + strconv.Itoa(g.IntN(100)) + g.oneOf("e", "E") + g.oneOf("", "+", "-") + strconv.Itoa(g.IntN(420))
	case 4:
		return sign + g.oneOf("0", "0.0", "1.50", "0e5", "9007199254740993", "0.1000000000000000055", "1e400", "2e-400")
	}
	return sign + fmt.Sprint(g.ExpFloat64())
}

func (g gen) value(depth int) string {
	n := 7
	if depth == 0 {
		n = 4
	}
	switch g.IntN(n) {
	case 0:
		return g.oneOf("null", "true", "false")
	case 1, 2:
		return g.number()
	case 3:
		return g.str()
	case 4:
		if g.chance(5) {
			k := g.IntN(200)
			return strings.Repeat(`[`, k) + g.str() + strings.Repeat(`]`, k)
		}
		items := make([]string, g.IntN(4))
		for i := range items {
			items[i] = g.space() + g.value(depth-1) + g.space()
		}
		return "[" + strings.Join(items, ",") + g.space() + "]"
	}
	return g.rawObject(depth)
}

func (g gen) rawObject(depth int) string {
	members := make([]string, g.IntN(4))
	for i := range members {
		members[i] = g.space() + g.str() + g.space() + ":" + g.space() + g.value(depth-1)
	}
	return "{" + strings.Join(members, ",") + g.space() + "}"
}

// object makes an object of known members and some unknown ones, in any order.
func (g gen) object(members ...pair) pair {
	for i := range g.IntN(3) {
		members = append(members, same(jsonscan.Quote(fmt.Sprint("unknown ", i))+g.space()+":"+g.value(3)))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var in, want []string
	for _, m := range members {
		if m.in != "" {
			in = append(in, g.space()+m.in+g.space())
		}
		if m.want != "" {
			want = append(want, m.want)
		}
	}
	return pair{"{" + strings.Join(in, ",") + "}", "{" + strings.Join(want, ",") + "}"}
}

// member makes a known member: as it should be, null, of an odd type, or not at all.
func (g gen) member(name string, v pair, odd ...string) pair {
	key := strconv.Quote(name) + g.space() + ":" + g.space()
	switch n := g.IntN(20); {
	case n == 0:
		return pair{}
	case n == 1:
		return pair{in: key + "null"}
	case n == 2 && len(odd) > 0:
		return same(key + g.oneOf(odd...))
	case v.want == "":
		return pair{in: key + v.in}
	}
	return pair{key + v.in, key + v.want}
}

func (g gen) strMember(name string) pair {
	v := same(g.str())
	if v.in == `""` {
		v.want = ""
	}
	return g.member(name, v, g.number(), "true", "[]", g.rawObject(2))
}

func (g gen) objMember(name string) pair {
	return g.member(name, same(g.rawObject(3)), g.str(), g.number(), "[1]")
}

func (g gen) listMember(name string, item func() pair, odd ...string) pair {
	var in, want []string
	spoiled := false
	for range g.IntN(4) {
		v := item()
		if len(odd) > 0 && g.chance(10) {
			v, spoiled = same(g.oneOf(odd...)), true
		}
		in, want = append(in, g.space()+v.in+g.space()), append(want, v.want)
	}
	v := pair{"[" + strings.Join(in, ",") + "]", "[" + strings.Join(want, ",") + "]"}
	switch {
	case spoiled:
		v.want = v.in
	case len(in) == 0:
		v.want = ""
	}
	return g.member(name, v, "5", `"x"`, "{}")
}

func (g gen) icon() pair {
	return g.object(g.strMember("src"), g.strMember("mimeType"), g.strMember("theme"),
		g.listMember("sizes", func() pair { return same(g.str()) }, "7", "null"))
}

func (g gen) icons() pair { return g.listMember("icons", g.icon, "7", `"x"`) }

func (g gen) annotations() pair {
	return g.member("annotations", g.object(
		g.listMember("audience", func() pair { return same(g.oneOf(`"user"`, `"assistant"`)) }, "{}"),
		g.member("priority", same(g.number()), `"high"`), g.strMember("lastModified")), `"x"`, "[]")
}

func (g gen) base64() string {
	b := make([]byte, g.IntN(30))
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	s := base64.StdEncoding.EncodeToString(b)
	switch g.IntN(8) {
	case 0:
		s = strings.TrimRight(s, "=")
	case 1:
		s += `\n`
	case 2:
		s = strings.ReplaceAll(s, "/", `\/`)
	}
	return `"` + s + `"`
}

func (g gen) contents(body pair) pair {
	return g.object(g.strMember("uri"), g.strMember("mimeType"), g.objMember("_meta"), body)
}

// block makes a block of content. One whose essential member is wrong must come
// back as it was.
func (g gen) block(nest int) pair {
	own := []pair{g.annotations(), g.objMember("_meta")}
	broken := g.chance(10)
	typ := g.oneOf("text", "text", "image", "audio", "resource_link", "resource", "tool_use", "tool_result", "hologram")
	must := func(name, value string) pair {
		if broken {
			if g.chance(50) {
				return pair{}
			}
			value = g.oneOf("5", "null", "[]")
		}
		return same(strconv.Quote(name) + ":" + value)
	}
	switch typ {
	case "text":
		own = append(own, must("text", g.str()))
	case "image", "audio":
		own = append(own, must("data", g.base64()), g.strMember("mimeType"))
	case "resource_link":
		own = append(own, must("uri", g.str()), g.strMember("name"), g.strMember("title"), g.strMember("description"), g.strMember("mimeType"),
			g.icons(), g.member("size", same(g.number()), `"big"`))
	case "resource":
		body := same(g.oneOf(`"text":`+g.str(), `"blob":`+g.base64()))
		if broken {
			body = same(g.oneOf(`"text":5`, `"blob":"*"`, `"x":1`))
		}
		inner := g.contents(body)
		own = append(own, pair{`"resource":` + inner.in, `"resource":` + inner.want})
	case "tool_use":
		own = append(own, must("id", g.str()), must("name", g.str()), must("input", g.rawObject(3)))
	case "tool_result":
		own = append(own, must("toolUseId", g.str()), g.member("structuredContent", g.notNull()), g.isError())
		if nest > 0 {
			own = append(own, g.listMember("content", func() pair { return g.block(nest - 1) }))
		}
	default:
		broken = true
	}
	own = append(own, same(`"type":"`+typ+`"`))
	v := g.object(own...)
	if broken {
		v.want = v.in
	}
	return v
}

func (g gen) notNull() pair {
	v := same(g.value(4))
	if v.in == "null" {
		v.want = ""
	}
	return v
}

func (g gen) isError() pair {
	v := same("true")
	if g.chance(50) {
		v = pair{in: "false"}
	}
	return g.member("isError", v, `"no"`, "0")
}

func (g gen) toolResult() pair {
	return g.object(g.listMember("content", func() pair {
		if g.chance(5) {
			return same(g.value(2))
		}
		return g.block(3)
	}), g.member("structuredContent", g.notNull()), g.isError(), g.objMember("_meta"))
}

func (g gen) tool() pair {
	hint := func(name string) pair { return g.member(name, same(g.oneOf("true", "false")), `"x"`, "1") }
	execution := g.object(g.strMember("taskSupport"))
	if execution.want == "{}" {
		execution.want = ""
	}
	return g.object(g.strMember("name"), g.strMember("title"), g.strMember("description"), g.member("inputSchema", g.notNull()), g.member("outputSchema", g.notNull()),
		g.member("annotations", g.object(g.strMember("title"), hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")), "7"),
		g.icons(), g.member("execution", execution, `"x"`), g.objMember("_meta"))
}

func (g gen) toolPage() pair {
	return g.object(g.listMember("tools", g.tool, "7", "null", `"x"`), g.member("nextCursor", same(g.str()), "7"), g.objMember("_meta"))
}
