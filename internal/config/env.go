package config

import (
	"maps"
	"slices"
	"strings"
)

// ChildEnv returns the environment of the server's process: of environ, which has
// the form of os.Environ, what EnvInherit names, and over it what Env says. It is
// sorted by name.
func (s Server) ChildEnv(environ []string) []string {
	env := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && s.inherits(name) {
			env[name] = value
		}
	}
	for name, value := range s.Env {
		env[name] = value.Reveal()
	}
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

func (s Server) inherits(name string) bool {
	return slices.ContainsFunc(s.EnvInherit, func(want string) bool {
		if start, ok := strings.CutSuffix(want, "*"); ok {
			return strings.HasPrefix(name, start)
		}
		return name == want
	})
}
