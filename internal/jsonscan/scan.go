package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// special marks the bytes of x at which a string's plain run ends: quote,
// backslash and control characters. Only the lowest mark is reliable, since a
// borrow may run on from there. (x^2 brings the quote, 0x22, next to the control
// characters, so one subtraction finds both.)
func special(x uint64) uint64 {
	return ((x ^ 0x02*ones - 0x21*ones) | (x ^ '\\'*ones - ones)) &^ x
}

// scanString reads the inside of a string, from behind its opening quote. It
// gives the offset of the closing quote and the number of escape sequences, or
// says what is wrong at offset end.
func scanString(b []byte, i int) (end, escapes int, wrong string) {
	if i+8 <= len(b) { // most strings are names, and short
		x := binary.LittleEndian.Uint64(b[i:])
		if m := special(x) & highs; m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			if x&(1<<n-1)&highs == 0 && b[i+n>>3] == '"' {
				return i + n>>3, 0, ""
			}
		}
	}
	return scanLong(b, i)
}

// scanLong is scanString for any string.
func scanLong(b []byte, i int) (end, escapes int, wrong string) {
	start := i
	var seen uint64 // all bytes of plain runs, or-ed
	for {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			m := special(x) & highs
			if m == 0 {
				seen |= x
				i, seen = scanPlain(b, i+8, seen)
				continue
			}
			n := bits.TrailingZeros64(m) &^ 7
			seen |= x & (1<<n - 1)
			i += n >> 3
		} else {
			for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
				seen |= uint64(b[i])
				i++
			}
			if i == len(b) {
				return i, 0, openString
			}
		}
		switch b[i] {
		case '"':
			if seen&highs != 0 && !utf8.Valid(b[start:i]) {
				return start + firstInvalid(b[start:i]), 0, badUTF8
			}
			return i, escapes, ""
		case '\\':
			switch {
			case i+1 < len(b) && plain[b[i+1]] != 0:
				i += 2
			case i+1 < len(b) && b[i+1] == 'u' && isHex4(b[i+2:]):
				i += 6
			default:
				return i, 0, badEscape
			}
			escapes++
		default:
			return i, 0, badControl
		}
	}
}

// scanPlain passes over as many plain bytes as it can, 32 at a time.
func scanPlain(b []byte, i int, seen uint64) (int, uint64) {
	for i+32 <= len(b) {
		p := b[i : i+32]
		x0, x1 := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		x2, x3 := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if (special(x0)|special(x1)|special(x2)|special(x3))&highs != 0 {
			break
		}
		seen |= x0 | x1 | x2 | x3
		i += 32
	}
	return i, seen
}

func isHex4(b []byte) bool {
	_, ok := hex4(b)
	return ok
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func firstInvalid(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// scanNumber reads the number at offset i, which begins with a digit or a minus.
func scanNumber(b []byte, i int) (end int, wrong string) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i == len(b):
		return i, badNumber
	case b[i] == '0':
		i++
	case '1' <= b[i] && b[i] <= '9':
		i = scanDigits(b, i)
	default:
		return i, badNumber
	}
	if i < len(b) && b[i] == '.' {
		j := scanDigits(b, i+1)
		if j == i+1 {
			return j, badNumber
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := scanDigits(b, i)
		if j == i {
			return j, badNumber
		}
		i = j
	}
	return i, ""
}

func scanDigits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// scanLiteral reads true, false or null at offset i.
func scanLiteral(b []byte, i int) (end int, wrong string) {
	word := "null"
	switch b[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
		return i + len(word), ""
	}
	return i, badLiteral
}

func scanSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}
