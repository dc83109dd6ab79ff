package eventstream

import (
	"bytes"
	"slices"
	"time"
)

// whole takes a line that lies in the window from end to end.
func (rd *Reader) whole(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = value[spaces(value):]
	if string(name) == "data" {
		rd.beginData(len(value))
		rd.addData(value)
		return
	}
	rd.other(name, value)
}

// spaces returns 1 if value begins with the one space that is not a part of it.
func spaces(value []byte) int {
	if len(value) > 0 && value[0] == ' ' {
		return 1
	}
	return 0
}

// beginLong begins with a line that fills the window without an end.
func (rd *Reader) beginLong(part []byte) {
	if value, ok := bytes.CutPrefix(part, []byte("data:")); ok {
		rd.mode = inData
		rd.pos += len("data:") + spaces(value)
		rd.beginData(4 * len(part))
		return
	}
	rd.mode = inField
	rd.field = rd.field[:0]
}

// piece takes what is in the window of a long line.
func (rd *Reader) piece() {
	part, data := rd.win[rd.pos:rd.end], rd.mode == inData
	if i := lineEnd(part); i >= 0 {
		part = part[:i]
		rd.took(i)
	} else {
		rd.pos = rd.end
	}
	if data {
		rd.addData(part)
		return
	}
	room := maxField + len("event: ") + 1 - len(rd.field)
	rd.field = append(rd.field, part[:min(room, len(part))]...)
	if rd.mode == atLine {
		name, value, _ := bytes.Cut(rd.field, []byte(":"))
		rd.other(name, value[spaces(value):])
	}
}

// other takes a field that is not data. A long value may have been cut.
func (rd *Reader) other(name, value []byte) {
	switch string(name) {
	case "event":
		if value = value[:min(len(value), maxField)]; rd.typ != string(value) {
			rd.typ = string(value)
		}
		rd.ev.Type = rd.typ
		rd.some = true
	case "id":
		if len(value) > maxField || bytes.IndexByte(value, 0) >= 0 {
			return
		}
		rd.ev.HasID, rd.ev.ID = true, rd.id
		if rd.id != string(value) {
			rd.ev.ID = string(value)
		}
		rd.some = true
	case "retry":
		if d, ok := parseRetry(value); ok {
			rd.ev.HasRetry, rd.ev.Retry = true, d
			rd.some = true
		}
	}
}

// parseRetry reads a number of milliseconds: ASCII digits only.
func parseRetry(b []byte) (time.Duration, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var d time.Duration
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = min(d*10+time.Duration(c-'0')*time.Millisecond, maxRetry)
	}
	return d, true
}

// beginData prepares for one more data line, of which about n bytes are to come.
func (rd *Reader) beginData(n int) {
	rd.some = true
	if rd.ev.Data == nil && rd.over == nil {
		rd.ev.Data = make([]byte, 0, min(n, rd.limit))
		return
	}
	rd.addData([]byte{'\n'})
}

// addData takes a piece of a data line.
func (rd *Reader) addData(b []byte) {
	switch {
	case rd.over != nil:
		rd.over.add(b)
	case len(b) > rd.limit-len(rd.ev.Data):
		rd.over = &over{}
		rd.over.add(rd.ev.Data)
		rd.over.add(b)
		rd.ev.Data = nil
	default:
		if need := len(rd.ev.Data) + len(b); need > cap(rd.ev.Data) && len(rd.ev.Data) > 0 {
			// Twice as much at least, so that all copying together stays linear.
			rd.ev.Data = slices.Grow(rd.ev.Data, min(max(len(b), len(rd.ev.Data)), rd.limit-len(rd.ev.Data)))
		}
		rd.ev.Data = append(rd.ev.Data, b...)
	}
}
