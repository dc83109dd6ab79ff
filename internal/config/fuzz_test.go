package config_test

import (
	"errors"
	"testing"

	"github.com/mcpbridge/mcp-bridge/internal/config"
)

// Whatever a file holds, it is a configuration that keeps its promises or errors
// with places inside the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "servers:\n  a: {command: x, args: [\"${TOKEN}\"]}\n", `{"mcpServers":{"a":{"url":"http://x/","headers":{"A":"b"}}}}`,
		"a: &a [*a]\n", "x: {<<: [1]}\n", "servers: {a: {command: x, client_capabilities: {a: [.inf, 0o7, 1e999, ~]}}}\n", "? [a]\n: b\n",
		"servers:\n  a: {command: |\n", "{\"inputs\": [{\"id\": \"x\"}, 1], \"servers\": {\"a\": {\"command\": \"${input:x}\"}}} // x", "- - - -\n",
		"servers: {a: {url: 'http://x/', restart: {factor: .nan}, max_queue_bytes: 1e999}}\n", "%YAML 1.2\n---\n!!map {}\n...\n", "\t", "a: \"\\uD800\"\n",
	} {
		f.Add("x.yaml", seed)
		f.Add("x.json", seed)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		c, err := config.Parse(name, []byte(text), options())
		if err != nil {
			var errs config.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("a %T", err)
			}
			for _, e := range errs {
				if e.Text == "" || e.Line < 0 || e.Col < 0 {
					t.Fatalf("%+v", e)
				}
			}
			return
		}
		names := map[string]bool{}
		for _, s := range c.Servers {
			if names[s.Name] || (s.Kind == config.Stdio) != (s.Command != "") || (s.Kind == config.HTTP) != (s.URL != "") || s.Timeout <= 0 || s.MaxMessageBytes < 1024 {
				t.Fatalf("%+v", s)
			}
			names[s.Name] = true
		}
	})
}

func FuzzParseTarget(f *testing.F) {
	f.Add("a b 'c d' \"e\\\"f\" g\\ h")
	f.Add("http://x/")
	f.Fuzz(func(t *testing.T, target string) {
		s, err := config.ParseTarget("a", target)
		if err == nil && (s.Command == "") == (s.URL == "") {
			t.Fatalf("%q became %q and %q", target, s.Command, s.URL)
		}
	})
}
