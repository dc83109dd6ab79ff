package guard

import (
	"bytes"
	"io"
)

// lines cuts a stream into lines of at most a few bytes, as the bridge writes
// them; longer ones are cut off.
type lines struct {
	r   io.Reader
	buf []byte
	end int
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, 4096)} }

// next returns the next whole line; ok is false at the end of the stream.
func (l *lines) next() (line string, ok bool) {
	for {
		if i := bytes.IndexByte(l.buf[:l.end], '\n'); i >= 0 {
			line = string(l.buf[:i])
			l.end = copy(l.buf, l.buf[i+1:l.end])
			return line, true
		}
		if l.end == len(l.buf) {
			l.end = 0
		}
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if n == 0 && err != nil {
			return "", false
		}
	}
}
