package jsonscan

import "fmt"

// DefaultMaxDepth is how deep arrays and objects may nest unless told otherwise.
const DefaultMaxDepth = 1000

// A SyntaxError says where text stops being what was asked for.
type SyntaxError struct {
	Offset int    // of the first byte that is wrong; the length of the text where it ends too early
	What   string // what is wrong, for people
	Limit  int    // the depth limit, where that was passed; else 0
}

func (e *SyntaxError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("nested deeper than %d levels at offset %d", e.Limit, e.Offset)
	}
	return fmt.Sprintf("%s at offset %d", e.What, e.Offset)
}

const (
	wantValue   = "no JSON value"
	wantName    = "no member name"
	wantColon   = "no colon after a member name"
	wantComma   = "neither a comma nor the end of the array or object"
	wantEnd     = "text after the JSON value"
	badNumber   = "malformed number"
	badLiteral  = "malformed literal"
	badEscape   = "malformed escape sequence"
	badControl  = "control character in a string"
	badUTF8     = "string is not valid UTF-8"
	openString  = "unterminated string"
	wrongKind   = "another kind of JSON value than asked for"
	tooEarlyEnd = "unexpected end"
)
