package eventstream

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// ErrField means that a type or an id can't be written: it holds the end of a
// line, or, in an id, the byte 0.
var ErrField = errors.New("event stream: field holds a control character")

// A Writer writes events. It makes one Write of each, so that an event leaves in
// one piece where that is possible; flushing is the caller's.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes e.
func (w *Writer) Write(e Event) error {
	buf, err := Append(w.buf[:0], e)
	if err != nil {
		return err
	}
	return w.flush(buf)
}

// Comment writes a comment, which readers ignore: a sign of life.
func (w *Writer) Comment(text string) error {
	buf := w.buf[:0]
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		buf = append(append(buf, ": "...), line...)
		buf = append(buf, '\n')
	}
	if len(buf) == 0 {
		buf = append(buf, ":\n"...)
	}
	return w.flush(append(buf, '\n'))
}

func (w *Writer) flush(buf []byte) error {
	if _, err := w.w.Write(buf); err != nil {
		return err
	}
	if cap(buf) <= maxWindow { // one huge event should not be paid for ever after
		w.buf = buf
	}
	return nil
}

// Append appends e to dst as it stands on the wire. CR and CRLF within the data
// arrive as LF, since the format can't tell them apart. The type "message" is
// left out, as it is what readers assume.
func Append(dst []byte, e Event) ([]byte, error) {
	if strings.ContainsAny(e.Type, "\r\n") || e.HasID && strings.ContainsAny(e.ID, "\r\n\x00") {
		return dst, ErrField
	}
	if e.Type != "" && e.Type != "message" {
		dst = appendField(dst, "event: ", e.Type)
	}
	if e.HasID {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.HasRetry {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, max(0, int64(e.Retry/time.Millisecond)), 10)
		dst = append(dst, '\n')
	}
	if e.Data != nil {
		dst = appendData(dst, e.Data)
	}
	return append(dst, '\n'), nil
}

func appendData(dst, data []byte) []byte {
	for {
		i := lineEnd(data)
		if i < 0 {
			return appendField(dst, "data: ", data)
		}
		dst = appendField(dst, "data: ", data[:i])
		n := 1
		if bytes.HasPrefix(data[i:], []byte("\r\n")) {
			n = 2
		}
		data = data[i+n:]
	}
}

func appendField[T string | []byte](dst []byte, name string, value T) []byte {
	return append(append(append(dst, name...), value...), '\n')
}
