package typed

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// writer writes one object. Members that extra_json has are left to it: there
// they stand exactly.
type writer struct {
	dst   []byte
	from  int
	extra []byte // extra_json
	names []string
	err   error
}

func newWriter(dst []byte, extraJSON string) *writer {
	w := &writer{from: len(dst)}
	if extraJSON != "" {
		w.extra, w.err = AppendObjectText(nil, extraJSON)
		if w.err != nil {
			w.err = fmt.Errorf("extra_json: %w", w.err)
		}
		d := jsonscan.NewDecoder(w.extra)
		var m jsonscan.Member
		for d.OpenObject(); d.NextMember(&m); d.Skip() {
			w.names = append(w.names, m.Name)
		}
	}
	w.dst = append(dst, '{')
	return w
}

// name begins a member; false if it is not to be written.
func (w *writer) name(name string) bool {
	if w.err != nil || slices.Contains(w.names, name) {
		return false
	}
	if len(w.dst) > w.from+1 {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(jsonscan.AppendString(w.dst, name), ':')
	return true
}

// str writes a string.
func (w *writer) str(name, s string) {
	if w.name(name) {
		w.dst = jsonscan.AppendString(w.dst, s)
	}
}

// optStr writes a string that is not empty.
func (w *writer) optStr(name, s string) {
	if s != "" {
		w.str(name, s)
	}
}

func (w *writer) strs(name string, items []string) {
	w.list(name, len(items), func(dst []byte, i int) ([]byte, error) {
		return jsonscan.AppendString(dst, items[i]), nil
	})
}

// list writes an array that is not empty.
func (w *writer) list(name string, n int, item func(dst []byte, i int) ([]byte, error)) {
	if n > 0 {
		w.value(name, func(dst []byte) ([]byte, error) { return appendList(dst, n, item) })
	}
}

func appendList(dst []byte, n int, item func(dst []byte, i int) ([]byte, error)) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = item(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (w *writer) boolean(name string, b *bool) {
	if b != nil && w.name(name) {
		w.dst = strconv.AppendBool(w.dst, *b)
	}
}

// json writes a JSON value that is there.
func (w *writer) json(name string, j *v1.Json) {
	if j != nil {
		w.value(name, func(dst []byte) ([]byte, error) { return AppendJSON(dst, j) })
	}
}

// object writes a JSON object that is there.
func (w *writer) object(name string, j *v1.Json) {
	if j != nil {
		w.value(name, func(dst []byte) ([]byte, error) { return AppendJSONObject(dst, j) })
	}
}

func (w *writer) value(name string, write func(dst []byte) ([]byte, error)) {
	if !w.name(name) {
		return
	}
	dst, err := write(w.dst)
	w.dst = dst
	if err != nil {
		w.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (w *writer) end() ([]byte, error) {
	if w.err != nil {
		return w.dst[:w.from], w.err
	}
	if len(w.names) > 0 {
		if len(w.dst) > w.from+1 {
			w.dst = append(w.dst, ',')
		}
		d := jsonscan.NewDecoder(w.extra)
		d.OpenObject()
		from := d.Offset()
		var m jsonscan.Member
		for d.NextMember(&m) {
			d.Skip()
		}
		return append(w.dst, w.extra[from:d.Offset()]...), nil
	}
	return append(w.dst, '}'), nil
}
