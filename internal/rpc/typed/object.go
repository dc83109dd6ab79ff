package typed

import "github.com/mcpbridge/mcp-bridge/internal/jsonscan"

// fit says how well a value fits its field.
type fit uint8

const (
	no     fit = iota // not at all: the field stays as it was, the value is still to be read
	absent            // it is null: the field stays as it was
	part              // the field holds what it can
	yes
)

// object is an object that is being read.
type object struct {
	jsonscan.Member
	val   jsonscan.Mark // the member's value
	base  int           // where its members begin in reader.known
	n     int           // how many those are
	extra []byte        // the members without a field, as an object without its end
}

// known is a member that was read into a field. Where it stands in extra_json
// already, end is 0.
type known struct {
	name    string
	at, end int
}

// open enters an object. It gives no for other values, absent for null.
func (r *reader) open() (object, fit) {
	switch r.Peek() {
	case jsonscan.Object:
		r.OpenObject()
		return object{base: len(r.known)}, yes
	case jsonscan.Null:
		r.ReadNull()
		return object{}, absent
	}
	return object{}, no
}

// next moves to o's next member, which must be told to took or keep.
func (r *reader) next(o *object) bool {
	if !r.NextMember(&o.Member) {
		r.known = r.known[:o.base]
		return false
	}
	o.val = r.Mark()
	return true
}

// took says how the member's value fitted its field, and whether that holds it now.
func (r *reader) took(o *object, f fit) bool {
	switch f {
	case absent:
		return false
	case no:
		r.Rewind(o.val)
		r.keep(o)
		return false
	}
	m := known{name: o.Name, at: o.At, end: r.Offset()}
	if f == part {
		o.add(r.Slice(m.at, m.end))
		m.end = 0
	}
	r.known = r.known[:o.base+o.n]
	for i := o.base; i < len(r.known); i++ {
		if k := r.known[i]; k.name == m.name {
			if k.end > 0 {
				o.add(r.Slice(k.at, k.end))
			}
			r.known[i] = m
			return true
		}
	}
	r.known = append(r.known, m)
	o.n++
	return true
}

// keep reads the member into extra_json.
func (r *reader) keep(o *object) {
	r.Skip()
	if r.Err() == nil {
		o.add(r.Slice(o.At, r.Offset()))
	}
}

// spread reads a member whose object has its fields in the message around it.
// What has no field stays under the member's own name.
func (r *reader) spread(o *object, read func(in *object)) bool {
	in, f := r.open()
	if f != yes {
		return r.took(o, f)
	}
	for r.next(&in) {
		read(&in)
	}
	took := r.took(o, yes)
	if in.extra != nil {
		o.add(r.Slice(o.At, o.val.Offset()))
		o.extra = append(append(o.extra, in.extra...), '}')
	}
	return took
}

func (o *object) add(member []byte) {
	if o.extra == nil {
		o.extra = append(make([]byte, 0, len(member)+2), '{')
	} else {
		o.extra = append(o.extra, ',')
	}
	o.extra = append(o.extra, member...)
}

// rest gives extra_json; empty: none.
func (o *object) rest() string {
	if o.extra == nil {
		return ""
	}
	return jsonscan.AsString(append(o.extra, '}'))
}

// list reads an array. Items that do not fit are left out.
func list[T any](r *reader, dst *[]*T, read func(*reader, **T) fit) fit {
	switch r.Peek() {
	case jsonscan.Array:
		r.OpenArray()
	case jsonscan.Null:
		r.ReadNull()
		return absent
	default:
		return no
	}
	var items []*T
	var item *T // one for all: read makes it escape
	all := yes
	for r.NextElement() {
		at := r.Mark()
		item = nil
		switch read(r, &item) {
		case yes:
			items = append(items, item)
		case part:
			all = part
			items = append(items, item)
		default:
			all = part
			r.Rewind(at)
			r.Skip()
		}
	}
	*dst = items
	return all
}
