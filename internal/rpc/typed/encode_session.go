package typed

import (
	"fmt"
	"maps"
	"slices"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// The revisions at which what a client writes changed its shape. Their names are
// dates, so they compare as strings.
const (
	rev20250618 = "2025-06-18" // elicitation
	rev20251125 = "2025-11-25" // modes of elicitation, parts of sampling, several blocks in an answer
	rev20260728 = "2026-07-28" // per-request capabilities
)

// AppendClientCapabilities appends the capabilities in the shape that revision
// has for them. What it has no word for is left out. For initialize, revision is
// the one that the client proposes.
func AppendClientCapabilities(dst []byte, c *v1.ClientCapabilities, revision string) ([]byte, error) {
	w := newWriter(dst, "")
	if c.GetRoots() && w.name("roots") {
		if revision < rev20260728 {
			w.dst = append(w.dst, `{"listChanged":true}`...)
		} else {
			w.dst = append(w.dst, `{}`...)
		}
	}
	if c.GetSampling() || c.GetSamplingTools() || c.GetSamplingContext() {
		w.flags("sampling", revision >= rev20251125,
			flag{"context", c.GetSamplingContext()}, flag{"tools", c.GetSamplingTools()})
	}
	switch form, url := c.GetElicitationForm(), c.GetElicitationUrl(); {
	case revision >= rev20251125 && (form || url):
		w.flags("elicitation", true, flag{"form", form}, flag{"url", url})
	case revision >= rev20250618 && form:
		w.flags("elicitation", false)
	}
	if len(c.GetExtensions()) > 0 {
		w.value("extensions", func(dst []byte) ([]byte, error) { return appendExtensions(dst, c.GetExtensions()) })
	}
	w.object("experimental", c.GetExperimental())
	return w.end()
}

type flag struct {
	name string
	set  bool
}

// flags writes an object with an empty object for each flag that is set, where
// the revision knows them.
func (w *writer) flags(name string, known bool, flags ...flag) {
	w.value(name, func(dst []byte) ([]byte, error) {
		in := newWriter(dst, "")
		for _, f := range flags {
			if known && f.set && in.name(f.name) {
				in.dst = append(in.dst, "{}"...)
			}
		}
		return in.end()
	})
}

func appendExtensions(dst []byte, extensions map[string]*v1.Json) ([]byte, error) {
	w := newWriter(dst, "")
	for _, id := range slices.Sorted(maps.Keys(extensions)) {
		settings := extensions[id]
		w.value(id, func(dst []byte) ([]byte, error) { return AppendJSONObject(dst, settings) })
	}
	return w.end()
}

// AppendImplementation appends an Implementation.
func AppendImplementation(dst []byte, i *v1.Implementation) ([]byte, error) {
	w := newWriter(dst, i.GetExtraJson())
	w.str("name", i.GetName())
	w.str("version", i.GetVersion())
	w.optStr("title", i.GetTitle())
	w.optStr("description", i.GetDescription())
	w.optStr("websiteUrl", i.GetWebsiteUrl())
	w.icons(i.GetIcons())
	return w.end()
}

// AppendRoots appends the result of roots/list.
func AppendRoots(dst []byte, roots []*v1.Root) ([]byte, error) {
	w := newWriter(dst, "")
	w.value("roots", func(dst []byte) ([]byte, error) {
		return appendList(dst, len(roots), func(dst []byte, i int) ([]byte, error) {
			in := newWriter(dst, roots[i].GetExtraJson())
			in.str("uri", roots[i].GetUri())
			in.optStr("name", roots[i].GetName())
			dst, err := in.end()
			if err != nil {
				err = fmt.Errorf("root %d: %w", i, err)
			}
			return dst, err
		})
	})
	return w.end()
}
