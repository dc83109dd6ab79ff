package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// hintTimeout bounds what is asked only to say something helpful.
const hintTimeout = 2 * time.Second

// splitName takes SERVER/TOOL apart. A name without a slash is a tool's.
func splitName(name string) (server, tool string) {
	server, tool, ok := strings.Cut(name, "/")
	if !ok {
		return "", name
	}
	return server, tool
}

// hintServer says which servers there are, where the error is that one is not,
// or that one must be named.
func (l *link) hintServer(err error, server string) string {
	e := takeApart(err)
	unnamed := e.reason == "INVALID_REQUEST" && server == ""
	if e.reason != "SERVER_NOT_FOUND" && !unnamed {
		return ""
	}
	ctx, cancel := context.WithTimeout(l.ctx, hintTimeout)
	defer cancel()
	res, err := l.ListServers(ctx, &mcpbridgev1.ListServersRequest{})
	if err != nil || len(res.GetServers()) == 0 {
		return ""
	}
	var names []string
	for _, s := range res.GetServers() {
		names = append(names, s.GetName())
	}
	if near := nearest(server, names); !unnamed && len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "the servers are " + some(names)
}

// hintTool says which tools have a name like that, if the tool is unknown. It
// asks only where a list is at hand without starting anything.
func (l *link) hintTool(session, server, tool string) string {
	ctx, cancel := context.WithTimeout(l.ctx, hintTimeout)
	defer cancel()
	res, err := l.ListTools(ctx, &mcpbridgev1.ListToolsRequest{SessionId: session, Server: server, AllPages: true})
	if err != nil || len(res.GetTools()) == 0 {
		return ""
	}
	found := slices.ContainsFunc(res.GetTools(), func(t *mcpbridgev1.Tool) bool { return t.GetName() == tool })
	switch {
	case !found:
		return fmt.Sprintf("there is no tool %q%s%s", tool, of(server), nearTools(res.GetTools(), tool))
	case server == "" && session == "":
		var owners []string
		for _, t := range res.GetTools() {
			if t.GetName() == tool {
				owners = append(owners, t.GetServer()+"/"+tool)
			}
		}
		return "say which: " + strings.Join(owners, " or ")
	}
	return ""
}

// nearTools says ": did you mean …?" or which tools there are.
func nearTools(tools []*mcpbridgev1.Tool, name string) string {
	several := false
	for _, t := range tools {
		several = several || t.GetServer() != tools[0].GetServer()
	}
	var names []string
	for _, t := range tools {
		if several {
			names = append(names, t.GetServer()+"/"+t.GetName())
		} else {
			names = append(names, t.GetName())
		}
	}
	if near := nearest(name, names); len(near) > 0 {
		return ": did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + some(names)
}

func some(names []string) string {
	const limit = 8
	if more := len(names) - limit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), more)
	}
	return strings.Join(names, ", ")
}

// nearest returns up to three names that look like name: those that contain it,
// are contained in it, or differ in few letters.
func nearest(name string, names []string) []string {
	plain := func(s string) string {
		if _, tool, ok := strings.Cut(s, "/"); ok {
			s = tool
		}
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
	}
	type scored struct {
		name  string
		score int
	}
	var near []scored
	want := plain(name)
	for _, n := range names {
		have := plain(n)
		d := distance(want, have)
		if len(want) >= 3 && strings.Contains(have, want) || len(have) >= 3 && strings.Contains(want, have) {
			d = min(d, 2)
		}
		if d <= max(1, min(3, len(want)/3)) {
			near = append(near, scored{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.score - b.score })
	var out []string
	for _, n := range near[:min(3, len(near))] {
		out = append(out, n.name)
	}
	return out
}

// distance counts the letters to insert, remove or replace between a and b.
func distance(a, b string) int {
	const limit = 128 // names are short; others are not alike
	if len(a) > limit || len(b) > limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
