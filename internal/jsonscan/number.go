package jsonscan

import (
	"bytes"
	"math"
	"strconv"
)

// number reads a number's text.
func (d *Decoder) number() []byte {
	if !d.expect(Number) {
		return nil
	}
	from := d.pos
	end, wrong := scanNumber(d.buf, from)
	if wrong != "" {
		d.fail(end, wrong)
		return nil
	}
	d.pos = end
	return d.Slice(from, d.pos)
}

// ReadFloat64 reads a number as the nearest double. ok is false where it is out
// of range.
func (d *Decoder) ReadFloat64() (f float64, ok bool) {
	text := d.number()
	if text == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(AsString(text), 64)
	return f, err == nil
}

// ReadExactFloat64 is ReadFloat64 that also tells whether the shortest decimal
// that stands for f is the number that was read.
func (d *Decoder) ReadExactFloat64() (f float64, exact, ok bool) {
	text := d.number()
	if text == nil {
		return 0, false, false
	}
	f, err := strconv.ParseFloat(AsString(text), 64)
	return f, err == nil && exactFloat(text, f), err == nil
}

// ReadInt64 reads a number. ok is false where it is no whole number (1e3 and 5.0
// are), or out of range; n is 0 then.
func (d *Decoder) ReadInt64() (n int64, ok bool) {
	text := d.number()
	if text == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(AsString(text), 10, 64)
	if err == nil {
		return n, true
	}
	if !bytes.ContainsAny(text, ".eE") {
		return 0, false
	}
	var room [32]byte
	v := parseDecimal(room[:0], text)
	if v.exp < 0 || len(v.digits)+v.exp > 19 {
		return 0, false
	}
	whole := room[:0:0]
	if v.neg {
		whole = append(whole, '-')
	}
	whole = append(whole, v.digits...)
	for range v.exp {
		whole = append(whole, '0')
	}
	if len(v.digits) == 0 {
		return 0, true
	}
	n, err = strconv.ParseInt(AsString(whole), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// decimal is the number digits × 10^exp: no zeros at either end of digits, none
// at all for zero.
type decimal struct {
	neg    bool
	digits []byte
	exp    int
}

// parseDecimal brings a valid number's text into the one form it has as a
// decimal, with its digits in buf if they fit.
func parseDecimal(buf, text []byte) decimal {
	v := decimal{}
	if text[0] == '-' {
		v.neg = true
		text = text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		v.exp = parseExponent(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	buf = append(append(buf, whole...), fraction...)
	v.exp -= len(fraction)
	n := len(buf)
	buf = bytes.TrimRight(buf, "0")
	v.exp += n - len(buf)
	v.digits = bytes.TrimLeft(buf, "0")
	if len(v.digits) == 0 {
		v.exp = 0
	}
	return v
}

// parseExponent saturates: beyond a milliard no number is anything but zero or
// out of range.
func parseExponent(text []byte) int {
	n, err := strconv.ParseInt(AsString(text), 10, 32)
	if err != nil {
		if text[0] == '-' {
			return -math.MaxInt32
		}
		return math.MaxInt32
	}
	return int(n)
}

func exactFloat(text []byte, f float64) bool {
	// A double holds every decimal of 15 digits (and no exponent to speak of).
	if len(text) <= 15 && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 {
		return true
	}
	var a, b, c [32]byte
	want := parseDecimal(a[:0], text)
	have := parseDecimal(b[:0], strconv.AppendFloat(c[:0], f, 'e', -1, 64))
	return want.neg == have.neg && want.exp == have.exp && bytes.Equal(want.digits, have.digits)
}
