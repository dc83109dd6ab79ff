package typed

import (
	"errors"
	"fmt"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

var (
	// ErrInvalid means that the text is not one valid JSON value. It wraps a
	// *jsonscan.SyntaxError, which has the position.
	ErrInvalid = errors.New("invalid JSON")
	// ErrNotObject means that a result or params is valid JSON, but no object.
	ErrNotObject = errors.New("not a JSON object")
)

// A ResultTypeError means that a result is of a type that its request does not
// allow, or that is not known at all (2026-07-28 §basic, Result type).
type ResultTypeError struct{ Type string }

func (e *ResultTypeError) Error() string {
	return fmt.Sprintf("unexpected resultType %.64q", e.Type)
}

// A Decoder reads MCP's JSON. Its methods take the bytes of one `result` or
// `params` member, keep them, and give ErrInvalid or ErrNotObject where they are
// not what they should be. The zero Decoder reads in TYPED form from a server of
// an older revision.
type Decoder struct {
	// Format is TYPED (or unspecified) or STRUCT. RAW is read like TYPED, but
	// for what the messages themselves say of it: Task.outcome, Question.kind
	// and notifications.
	Format v1.ResultFormat
	// Modern says that the server speaks 2026-07-28: resultType means something,
	// and a null structuredContent is a value.
	Modern bool
	// Server is what the `server` fields get.
	Server string
	// MaxDepth limits nesting; 0: jsonscan.DefaultMaxDepth.
	MaxDepth int
}

// reader is the state of one reading.
type reader struct {
	jsonscan.Decoder
	opt   Decoder
	known []known // members read so far of the objects that are open
	nest  int     // open blocks of content around this one
}

// readers are kept because a reader is large, and the hot path reads one small
// result each.
var readers = sync.Pool{New: func() any { return new(reader) }}

func (d Decoder) read(text []byte) *reader {
	r := readers.Get().(*reader)
	depth := d.MaxDepth
	if depth <= 0 {
		depth = jsonscan.DefaultMaxDepth
	}
	r.Decoder = jsonscan.NewDecoderDepth(text, depth)
	r.opt = d
	return r
}

// done ends a reading with the verdict on the whole text.
func (r *reader) done() error {
	err := r.End()
	clear(r.known[:cap(r.known)])
	*r = reader{known: r.known[:0]}
	readers.Put(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// whole reads text as one object into a new T.
func whole[T any](d Decoder, text []byte, read func(*reader, **T) fit) (*T, error) {
	r := d.read(text)
	var v *T
	if read(r, &v) == no {
		r.Skip()
	}
	if err := r.done(); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, ErrNotObject
	}
	return v, nil
}

func (r *reader) raw() bool { return r.opt.Format == v1.ResultFormat_RESULT_FORMAT_RAW }
