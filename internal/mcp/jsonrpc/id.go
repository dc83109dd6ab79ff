package jsonrpc

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// An ID is a request id: a JSON integer or string, kept as it is written. The
// zero ID stands for an id that is null or absent. IDs compare with ==, and 1
// and "1" differ.
type ID struct{ raw string }

// IntID is the id n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID is the id s, a JSON string.
func StringID(s string) ID {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8: AppendQuote has replaced it
		return ID{string(b)}
	}
	return ID{string(b)}
}

// RawID is the id whose JSON text is raw, which must be a number or a string;
// null gives the zero ID.
func RawID(raw []byte) ID {
	if string(raw) == "null" {
		return ID{}
	}
	return ID{string(raw)}
}

// IsZero reports whether the id is null or absent.
func (id ID) IsZero() bool { return id.raw == "" }

// String is the JSON text of the id, "null" for the zero ID.
func (id ID) String() string {
	if id.raw == "" {
		return "null"
	}
	return id.raw
}

// Int reads the id as an integer, tolerant of peers that give one back as a
// string ("7") or as a float (7.0).
func (id ID) Int() (int64, bool) {
	raw := id.raw
	if len(raw) >= 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return n, true
	}
	if !strings.ContainsAny(raw, ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}
