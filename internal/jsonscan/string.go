package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the inside of a valid string with that many escape
// sequences. Each of them is longer than what it stands for, which bounds the
// one allocation.
func unescape(src []byte, escapes int) (text []byte, exact bool) {
	dst := make([]byte, len(src)-escapes)
	exact = true
	n := 0
	for i := 0; i < len(src); {
		// The plain run up to the next backslash, eight bytes at a time.
		for i+8 <= len(src) && n+8 <= len(dst) {
			x := binary.LittleEndian.Uint64(src[i:])
			binary.LittleEndian.PutUint64(dst[n:], x)
			v := x ^ '\\'*ones
			if m := (v - ones) &^ v & highs; m != 0 {
				k := bits.TrailingZeros64(m) >> 3
				i, n = i+k, n+k
				break
			}
			i, n = i+8, n+8
		}
		for i < len(src) && src[i] != '\\' {
			dst[n] = src[i]
			i, n = i+1, n+1
		}
		if i == len(src) {
			break
		}
		c := src[i+1]
		if c != 'u' {
			dst[n] = plain[c]
			i, n = i+2, n+1
			continue
		}
		r, _ := hex4(src[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+6 <= len(src) && src[i] == '\\' && src[i+1] == 'u' {
				low, _ = hex4(src[i+2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 6
			} else {
				exact = false
			}
		}
		n += utf8.EncodeRune(dst[n:], r)
	}
	return dst[:n], exact
}

// plain is what the letter of a two-letter escape sequence stands for.
var plain = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// AppendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	ascii := true
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			x := load(s, i)
			if m := special(x) & highs; m == 0 {
				ascii = ascii && x&highs == 0
				i += 8
				continue
			}
		}
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			ascii = ascii && c < utf8.RuneSelf
			i++
			continue
		}
		dst = appendPlain(dst, s[from:i], ascii)
		dst = appendEscape(dst, c)
		i++
		from, ascii = i, true
	}
	return append(appendPlain(dst, s[from:], ascii), '"')
}

// Quote gives s as a JSON string.
func Quote(s string) string { return AsString(AppendString(make([]byte, 0, len(s)+2), s)) }

func load(s string, i int) uint64 {
	p := s[i : i+8]
	return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
		uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
}

func appendPlain(dst []byte, s string, ascii bool) []byte {
	if ascii || utf8.ValidString(s) {
		return append(dst, s...)
	}
	for _, r := range s {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// CompactLines appends src, which is valid JSON, without its line ends. They can
// only stand between tokens, and never keep two tokens apart.
func CompactLines(dst, src []byte) []byte {
	if bytes.IndexByte(src, '\n') < 0 && bytes.IndexByte(src, '\r') < 0 {
		return append(dst, src...)
	}
	for len(src) > 0 {
		n := bytes.IndexAny(src, "\r\n")
		if n < 0 {
			n = len(src)
		}
		dst = append(dst, src[:n]...)
		src = src[min(n+1, len(src)):]
	}
	return dst
}
