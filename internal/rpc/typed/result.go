package typed

import (
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// The values of resultType (2026-07-28 §basic; the last one belongs to the tasks
// extension).
const (
	Complete      = "complete"
	InputRequired = "input_required"
	TaskCreated   = "task"
)

// frame holds what results have in common beside their own fields.
type frame struct {
	typ   string // resultType; empty: absent
	next  *string
	cache *v1.CacheHint
	meta  *v1.Json
	extra string // extra_json
}

// resultType reads a resultType. Before 2026-07-28 it has no meaning: what is
// not "complete" is just another member.
func (r *reader) resultType(dst *string) fit {
	if r.opt.Modern && r.Peek() != jsonscan.String && r.Peek() != jsonscan.Null {
		*dst = jsonscan.AsString(r.ReadRaw()) // no known type
		return yes
	}
	var typ string
	f := r.str(&typ)
	if f == no || f >= part && !r.opt.Modern && typ != Complete {
		return no
	}
	*dst = typ
	return f
}

// inFrame reads a member that any result may have.
func (r *reader) inFrame(o *object, f *frame) {
	switch o.Name {
	case "resultType":
		r.took(o, r.resultType(&f.typ))
	case "_meta":
		r.took(o, r.jsonObject(&f.meta))
	default:
		r.keep(o)
	}
}

// inCacheable reads a member that results that may be kept have.
func (r *reader) inCacheable(o *object, f *frame) {
	var hint v1.CacheHint
	switch o.Name {
	case "ttlMs":
		if r.took(o, r.millis(&hint.Ttl)) {
			f.hint().Ttl = hint.Ttl
		}
	case "cacheScope":
		if r.took(o, r.str(&hint.Scope)) {
			f.hint().Scope = hint.Scope
		}
	default:
		r.inFrame(o, f)
	}
}

func (f *frame) hint() *v1.CacheHint {
	if f.cache == nil {
		f.cache = &v1.CacheHint{}
	}
	return f.cache
}

// page reads a page of the list that stands in the member name.
func page[T any](d Decoder, result []byte, name string, read func(*reader, **T) fit) (items []*T, f frame, err error) {
	f.extra, err = d.body(result, func(r *reader, o *object) {
		switch o.Name {
		case name:
			r.took(o, list(r, &items, read))
		case "nextCursor":
			r.took(o, r.optStr(&f.next))
		default:
			r.inCacheable(o, &f)
		}
	})
	if err == nil {
		err = f.complete()
	}
	return items, f, err
}

// complete gives an error for a result that is anything else.
func (f *frame) complete() error {
	if f.typ != "" && f.typ != Complete {
		return &ResultTypeError{Type: f.typ}
	}
	return nil
}

// body reads text as a result: own reads each of its members.
func (d Decoder) body(text []byte, own func(r *reader, o *object)) (extra string, err error) {
	r := d.read(text)
	o, f := r.open()
	if f == yes {
		for r.next(&o) {
			own(r, &o)
		}
	} else if f == no {
		r.Skip()
	}
	if err := r.done(); err != nil {
		return "", err
	}
	if f != yes {
		return "", ErrNotObject
	}
	return o.rest(), nil
}

// Steering is what a caller's loop needs of a result that is passed on raw.
type Steering struct {
	Type       string  // as ToolOutcome.Type
	NextCursor *string // nil: none
}

// Steer validates a result and reads what steers a caller's loop. Where Type is
// InputRequired or TaskCreated, Inputs or CreatedTask read the rest.
func (d Decoder) Steer(result []byte) (Steering, error) {
	var f frame
	_, err := d.body(result, func(r *reader, o *object) {
		switch o.Name {
		case "resultType":
			r.resultType(&f.typ)
		case "nextCursor":
			r.optStr(&f.next)
		}
		r.Rewind(o.val)
		r.Skip()
	})
	return Steering{Type: orComplete(f.typ), NextCursor: f.next}, err
}

func orComplete(typ string) string {
	if typ == "" {
		return Complete
	}
	return typ
}
