package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A line is one line of input without its end, or why it is none.
type line struct {
	text []byte
	err  error
}

// reader cuts the input into lines. It reads no faster than they are taken.
type reader struct {
	in    io.Reader
	limit int
	lines chan line // closed at the end
	err   error     // why it ended; to be read once lines is closed
}

func (r *reader) run(quit <-chan struct{}) {
	defer close(r.lines)
	in := bufio.NewReaderSize(r.in, 64<<10)
	for {
		l, err := r.next(in)
		if l.err != nil || len(bytes.TrimSpace(l.text)) > 0 {
			select {
			case r.lines <- l:
			case <-quit:
				r.err = io.EOF
				return
			}
		}
		if err != nil {
			r.err = err
			return
		}
	}
}

// next reads one line; the last may come with io.EOF. Of a line over the limit
// nothing is kept.
func (r *reader) next(in *bufio.Reader) (l line, err error) {
	size := 0
	for {
		part, err := in.ReadSlice('\n')
		if size += len(part); size <= r.limit+1 {
			l.text = append(l.text, part...)
		} else {
			l.text = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case size > r.limit+1:
			return line{err: fmt.Errorf("message of %d bytes: the limit is %d", size, r.limit)}, err
		}
		l.text = bytes.TrimRight(l.text, "\r\n")
		return l, err
	}
}
