package jsonscan

import "unsafe"

// Kind is what sort of value comes next.
type Kind byte

// The kinds. None means that no value comes next: the text has ended, an error
// was found, or the byte there cannot begin a value.
const (
	None   Kind = 0
	Null   Kind = 'n'
	Bool   Kind = 'b'
	Number Kind = '0'
	String Kind = '"'
	Object Kind = '{'
	Array  Kind = '['
)

var kinds = [256]Kind{
	'n': Null, 't': Bool, 'f': Bool, '"': String, '{': Object, '[': Array, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// A Decoder is a cursor over one JSON text.
//
// Its first error stays: from then on Peek gives None, Next… give false and
// Read… give nothing, so loops end by themselves and callers may ask for the
// error once, at the end. What is read has been validated, and each byte is
// validated once, unless Rewind goes back.
type Decoder struct {
	buf   []byte
	pos   int
	depth int // levels that may still open
	max   int
	first bool // an array or object was opened and nothing read from it yet
	err   *SyntaxError
}

// NewDecoder reads b, which may nest DefaultMaxDepth levels deep.
func NewDecoder(b []byte) Decoder { return NewDecoderDepth(b, DefaultMaxDepth) }

// NewDecoderDepth reads b, which may nest depth levels deep.
func NewDecoderDepth(b []byte, depth int) Decoder {
	return Decoder{buf: b, depth: depth, max: depth}
}

// Err gives the first error: a *SyntaxError, or nil.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// End checks that only white space is left, and gives the first error.
func (d *Decoder) End() error {
	if d.err == nil {
		if d.pos = scanSpace(d.buf, d.pos); d.pos < len(d.buf) {
			d.fail(d.pos, wantEnd)
		}
	}
	return d.Err()
}

func (d *Decoder) fail(offset int, what string) {
	if d.err != nil {
		return
	}
	d.err = &SyntaxError{Offset: offset, What: what}
	if what == tooDeep {
		d.err.Limit = d.max
	}
}

// Peek skips white space and tells what comes next.
func (d *Decoder) Peek() Kind {
	if d.err != nil {
		return None
	}
	if d.pos = scanSpace(d.buf, d.pos); d.pos == len(d.buf) {
		return None
	}
	return kinds[d.buf[d.pos]]
}

// expect is Peek for readers of one kind.
func (d *Decoder) expect(k Kind) bool {
	switch got := d.Peek(); got {
	case k:
		return true
	case None:
		d.fail(d.pos, wantValue)
	default:
		d.fail(d.pos, wrongKind)
	}
	return false
}

// Offset is where the cursor stands.
func (d *Decoder) Offset() int { return d.pos }

// Slice gives the bytes in [from, to).
func (d *Decoder) Slice(from, to int) []byte { return d.buf[from:to:to] }

// Mark is a place to go back to.
type Mark struct {
	pos, depth int
	first      bool
}

// Offset is the mark's offset.
func (m Mark) Offset() int { return m.pos }

// Mark notes where the cursor stands.
func (d *Decoder) Mark() Mark { return Mark{d.pos, d.depth, d.first} }

// Rewind goes back to m. It does not take back an error.
func (d *Decoder) Rewind(m Mark) { d.pos, d.depth, d.first = m.pos, m.depth, m.first }

func (d *Decoder) open(k Kind) bool {
	if !d.expect(k) {
		return false
	}
	if d.depth == 0 {
		d.fail(d.pos, tooDeep)
		return false
	}
	d.depth--
	d.pos++
	d.first = true
	return true
}

// OpenObject enters an object. Read its members with NextMember until that
// gives false.
func (d *Decoder) OpenObject() bool { return d.open(Object) }

// OpenArray enters an array. Read its elements with NextElement until that gives
// false.
func (d *Decoder) OpenArray() bool { return d.open(Array) }

// more steps over the comma before the next item, or over the end.
func (d *Decoder) more(end byte) bool {
	if d.err != nil {
		return false
	}
	first := d.first
	d.first = false
	i := scanSpace(d.buf, d.pos)
	d.pos = i
	switch {
	case i == len(d.buf):
		d.fail(i, tooEarlyEnd)
		return false
	case d.buf[i] == end:
		d.pos++
		d.depth++
		return false
	case first:
		return true
	case d.buf[i] != ',':
		d.fail(i, wantComma)
		return false
	}
	d.pos = scanSpace(d.buf, i+1)
	return true
}

// NextElement moves to the array's next element, which must then be read or
// skipped. It gives false behind the last one, having left the array.
func (d *Decoder) NextElement() bool { return d.more(']') }

// A Member is a member of an object.
type Member struct {
	Name string // may alias the text
	At   int    // the offset of the name's opening quote
}

// NextMember moves to the value of the object's next member, which must then be
// read or skipped. It gives false behind the last one, having left the object.
func (d *Decoder) NextMember(m *Member) bool {
	if !d.more('}') {
		return false
	}
	i := d.pos
	if i == len(d.buf) || d.buf[i] != '"' {
		d.fail(i, wantName)
		return false
	}
	end, escapes, wrong := scanString(d.buf, i+1)
	if wrong != "" {
		d.fail(end, wrong)
		return false
	}
	m.At = i
	m.Name, _ = d.text(i+1, end, escapes)
	if end = scanSpace(d.buf, end+1); end == len(d.buf) || d.buf[end] != ':' {
		d.fail(end, wantColon)
		return false
	}
	d.pos = scanSpace(d.buf, end+1)
	return true
}

// Skip validates one value and passes over it.
func (d *Decoder) Skip() {
	if d.err != nil {
		return
	}
	end, wrong := scanValue(d.buf, d.pos, d.depth)
	if wrong != "" {
		d.fail(end, wrong)
		return
	}
	d.pos = end
	d.first = false
}

// ReadRaw validates one value and gives its text, without the white space
// around it; nil after an error.
func (d *Decoder) ReadRaw() []byte {
	d.Peek()
	from := d.pos
	if d.Skip(); d.err != nil {
		return nil
	}
	return d.Slice(from, d.pos)
}

// ReadNull passes over null.
func (d *Decoder) ReadNull() {
	if d.expect(Null) {
		d.literal()
	}
}

// ReadBool reads true or false.
func (d *Decoder) ReadBool() bool {
	if !d.expect(Bool) {
		return false
	}
	is := d.buf[d.pos] == 't'
	d.literal()
	return is && d.err == nil
}

func (d *Decoder) literal() {
	end, wrong := scanLiteral(d.buf, d.pos)
	if wrong != "" {
		d.fail(end, wrong)
		return
	}
	d.pos = end
}

// ReadString reads a string. It aliases the text where that holds no escape
// sequences; else it takes one allocation. A lone surrogate reads as U+FFFD:
// exact is false then.
func (d *Decoder) ReadString() (s string, exact bool) {
	if !d.expect(String) {
		return "", false
	}
	from := d.pos + 1
	end, escapes, wrong := scanString(d.buf, from)
	if wrong != "" {
		d.fail(end, wrong)
		return "", false
	}
	d.pos = end + 1
	return d.text(from, end, escapes)
}

// text gives the string whose inside lies in [from, end).
func (d *Decoder) text(from, end, escapes int) (s string, exact bool) {
	if escapes == 0 {
		return AsString(d.buf[from:end]), true
	}
	b, exact := unescape(d.buf[from:end], escapes)
	return AsString(b), exact
}

// AsString gives b as a string without copying it: b must never change again.
func AsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// AsBytes gives s as bytes without copying it: they must not be written to.
func AsBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
