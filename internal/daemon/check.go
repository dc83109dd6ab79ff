package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/guard"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// A Finding is what a check found of one server. A number is -1 where the server
// has no such list.
type Finding struct {
	Server, Transport, Error            string
	Protocol, Software, SoftwareVersion string
	Tools, Resources, Prompts           int
}

// Check starts every server of a configuration, and says what each has.
func Check(ctx context.Context, timeout time.Duration, o Options) ([]Finding, error) {
	d := &daemon{o: o, log: o.Log, loopback: true}
	d.guard = guard.New(guard.Options{Exe: o.Exe, Args: []string{"guard"}, Log: o.Log})
	defer d.guard.Close()
	if err := d.build(); err != nil {
		return nil, err
	}
	findings := make([]Finding, len(d.set.All()))
	var wg sync.WaitGroup
	for i, u := range d.set.All() {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			findings[i] = inspect(ctx, u)
		})
	}
	wg.Wait()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	d.set.Close(closing)
	return findings, nil
}

// inspect asks one server for what it has.
func inspect(ctx context.Context, u *upstream.Upstream) Finding {
	f := Finding{Server: u.Name(), Transport: u.Options().Transport}
	x := u.Shared()
	if err := x.Ping(ctx); err != nil {
		f.Error = explain(err)
		return f
	}
	info := x.Info()
	f.Protocol = info.Version
	var software struct{ Name, Version string }
	_ = json.Unmarshal(info.ServerInfo, &software) // for display only
	f.Software, f.SoftwareVersion = software.Name, software.Version
	f.Tools = count(ctx, x, "tools/list", "tools")
	f.Resources = count(ctx, x, "resources/list", "resources")
	f.Prompts = count(ctx, x, "prompts/list", "prompts")
	return f
}

// explain tells a failure with what the process said before it ended.
func explain(err error) string {
	const lines = 3
	var lost *transport.LostError
	if !errors.As(err, &lost) || len(lost.Stderr) == 0 {
		return err.Error()
	}
	return err.Error() + "; stderr: " + strings.Join(lost.Stderr[max(0, len(lost.Stderr)-lines):], " | ")
}

// count counts what a list's first pages hold; -1: the server has no such list.
func count(ctx context.Context, x *upstream.Session, method, member string) int {
	n := 0
	page := &mcp.Page{}
	for range 100 {
		res, err := x.Do(ctx, &mcp.Request{Method: method, Params: page})
		if err != nil {
			return -1
		}
		var body map[string]json.RawMessage
		var items []json.RawMessage
		var next string
		err = res.Read(func(b []byte) error { return json.Unmarshal(b, &body) })
		if err != nil || json.Unmarshal(body[member], &items) != nil {
			return -1
		}
		n += len(items)
		_ = json.Unmarshal(body["nextCursor"], &next)
		if next == "" || next == page.Cursor {
			break
		}
		page.Cursor, page.HasCursor = next, true
	}
	return n
}
