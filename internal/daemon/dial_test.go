package daemon

import (
	"encoding/json"
	"log/slog"
	"reflect"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/transport/sse"
	"github.com/mcpbridge/mcp-bridge/internal/transport/stdio"
	"github.com/mcpbridge/mcp-bridge/internal/transport/streamhttp"
)

func TestDialersByKind(t *testing.T) {
	t.Parallel()
	d := dialing{log: slog.New(slog.DiscardHandler)}
	for _, tt := range []struct {
		name string
		edit func(*config.Server)
		want []transport.Dialer // of these types
	}{
		{"stdio", func(s *config.Server) { s.Command = "x" }, []transport.Dialer{&stdio.Dialer{}}},
		{"http", func(s *config.Server) { s.Kind, s.URL = config.HTTP, "http://h/mcp" }, []transport.Dialer{&streamhttp.Dialer{}, &sse.Dialer{}}},
		{"sse", func(s *config.Server) { s.Kind, s.URL, s.SSEFirst = config.HTTP, "http://h/sse", true }, []transport.Dialer{&sse.Dialer{}, &streamhttp.Dialer{}}},
	} {
		s := config.DefaultServer("s")
		tt.edit(&s)
		got := d.dialers(&s, &transport.Stats{})
		if len(got) != len(tt.want) {
			t.Fatalf("%s: %d dialers, want %d", tt.name, len(got), len(tt.want))
		}
		for i := range got {
			if reflect.TypeOf(got[i]) != reflect.TypeOf(tt.want[i]) {
				t.Errorf("%s: dialer %d is a %T, want %T", tt.name, i, got[i], tt.want[i])
			}
		}
	}
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]mcp.Protocol{
		"": {}, "auto": {}, "legacy": {Era: mcp.EraLegacy}, "modern": {Era: mcp.EraModern},
		"2025-06-18": {Era: mcp.EraLegacy, Version: "2025-06-18"},
		"2026-07-28": {Era: mcp.EraModern, Version: "2026-07-28"},
	} {
		if got := protocol(in); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	c, roots, err := declared(json.RawMessage(`{"roots":[{"uri":"file:///a"}],"sampling":{},"elicitation":{"url":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(roots) != `{"roots":[{"uri":"file:///a"}]}` {
		t.Errorf("roots: %s", roots)
	}
	if got := string(c.JSON("2025-11-25")); got != `{"elicitation":{"url":{}},"roots":{},"sampling":{}}` {
		t.Errorf("capabilities: %s", got)
	}
	if !c.Sampling || !c.ElicitationURL || c.ElicitationForm {
		t.Errorf("%+v", c)
	}
	if c, _, err := declared(json.RawMessage(`{"elicitation":{}}`)); err != nil || !c.ElicitationForm {
		t.Errorf("plain elicitation means forms: %+v, %v", c, err)
	}
	if c, roots, err := declared(nil); err != nil || roots != nil || c.JSON != nil {
		t.Errorf("nothing declared: %+v %s %v", c, roots, err)
	}
	if _, _, err := declared(json.RawMessage(`[]`)); err == nil {
		t.Error("a list was accepted")
	}
}

func TestListsFileDependsOnSecrets(t *testing.T) {
	t.Parallel()
	d := &daemon{o: Options{CacheDir: "/cache"}}
	a, b := config.DefaultServer("s"), config.DefaultServer("s")
	a.Headers = map[string]config.Secret{"Authorization": "Bearer one"}
	b.Headers = map[string]config.Secret{"Authorization": "Bearer two"}
	if fa, fb := d.listsFile(&a), d.listsFile(&b); fa == fb || fa != d.listsFile(&a) {
		t.Errorf("%s and %s", fa, fb)
	}
	d.o.CacheDir = ""
	if f := d.listsFile(&a); f != "" {
		t.Errorf("without a folder: %s", f)
	}
}
