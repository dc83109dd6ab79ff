package jsonscan

// scanValue validates the value at offset i, which may nest depth levels deep,
// and gives the offset behind it, or says what is wrong at offset end. It keeps
// its own stack, one bit a level: set for an object.
func scanValue(b []byte, i, depth int) (end int, wrong string) {
	var room [16]uint64
	stack, level := room[:], 0
	object := false // what the innermost level is
value:
	if i < len(b) && b[i] <= ' ' {
		i = scanSpace(b, i)
	}
	if i == len(b) {
		return i, wantValue
	}
	switch kinds[b[i]] {
	case String:
		if i, _, wrong = scanString(b, i+1); wrong != "" {
			return i, wrong
		}
		i++
	case Object, Array:
		if level == depth {
			return i, tooDeep
		}
		if level>>6 == len(stack) {
			stack = append(stack, 0)
		}
		object = b[i] == '{'
		i = scanSpace(b, i+1)
		if !object {
			stack[level>>6] &^= 1 << (level & 63)
			level++
			if i < len(b) && b[i] == ']' {
				goto closed
			}
			goto value
		}
		stack[level>>6] |= 1 << (level & 63)
		level++
		if i < len(b) && b[i] == '}' {
			goto closed
		}
		goto name
	case Number:
		if i, wrong = scanNumber(b, i); wrong != "" {
			return i, wrong
		}
	case Bool, Null:
		if i, wrong = scanLiteral(b, i); wrong != "" {
			return i, wrong
		}
	default:
		return i, wantValue
	}
next:
	if level == 0 {
		return i, ""
	}
	if i < len(b) && b[i] <= ' ' {
		i = scanSpace(b, i)
	}
	if i == len(b) {
		return i, tooEarlyEnd
	}
	if object {
		switch b[i] {
		case ',':
			i++
			goto name
		case '}':
			goto closed
		}
	} else {
		switch b[i] {
		case ',':
			i++
			goto value
		case ']':
			goto closed
		}
	}
	return i, wantComma
name:
	if i < len(b) && b[i] <= ' ' {
		i = scanSpace(b, i)
	}
	if i == len(b) || b[i] != '"' {
		return i, wantName
	}
	if i, _, wrong = scanString(b, i+1); wrong != "" {
		return i, wrong
	}
	if i++; i == len(b) || b[i] != ':' {
		if i = scanSpace(b, i); i == len(b) || b[i] != ':' {
			return i, wantColon
		}
	}
	i++
	goto value
closed:
	i++
	if level--; level > 0 {
		object = stack[(level-1)>>6]>>((level-1)&63)&1 != 0
	}
	goto next
}

// tooDeep stands for the depth limit, which scanValue does not know as a whole.
const tooDeep = "too deep"

// Valid says whether b is exactly one JSON value, nested at most
// DefaultMaxDepth levels deep.
func Valid(b []byte) error {
	d := NewDecoder(b)
	d.Skip()
	return d.End()
}

// ValidObject says whether b is exactly one JSON object.
func ValidObject(b []byte) error {
	if err := Valid(b); err != nil {
		return err
	}
	if !IsObject(b) {
		return &SyntaxError{Offset: scanSpace(b, 0), What: "no JSON object"}
	}
	return nil
}

// IsObject says whether b, if it is valid JSON at all, is an object. It looks at
// the first byte only.
func IsObject(b []byte) bool {
	i := scanSpace(b, 0)
	return i < len(b) && b[i] == '{'
}
