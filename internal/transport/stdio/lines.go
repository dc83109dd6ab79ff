package stdio

import (
	"bytes"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

const (
	bufferSize = 64 << 10
	keep       = 4 << 10 // of the beginning and of the end of a line over the limit
)

// lines cuts a stream into lines. It holds at most one line and a buffer, and of
// a line over the limit only the two ends.
type lines struct {
	max   int    // bytes of a line without its end
	large func() // called when a line proves to be large

	small      []byte // the buffer for everyday
	buf        []byte // small, or a larger one for one line
	start, end int    // what was read and not given out
	scan       int    // up to here there is no newline
	last       int    // size of the last line that the small buffer did not hold
	begun      bool   // the first line was seen
	err        error  // why there is no more to read

	skipping bool // a line over the limit
	head     []byte
	tail     []byte
	size     int64
}

// next returns the next line that is not blank, without white space in front, CR,
// newline and, before the first, a byte order mark. The last line may lack its
// newline. The line's bytes are the caller's.
func (l *lines) next(read func([]byte) (int, error)) (transport.Inbound, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scan:l.end], '\n'); i >= 0 {
			in, ok := l.cut(l.scan+i, l.scan+i+1)
			if ok {
				return in, nil
			}
			continue
		}
		l.scan = l.end
		if l.err != nil {
			if in, ok := l.cut(l.end, l.end); ok {
				return in, nil
			}
			return transport.Inbound{}, l.err
		}
		l.skip()
		l.room()
		var n int
		n, l.err = read(l.buf[l.end:])
		l.end += n
	}
}

// cut takes the line from start to stop out of the buffer, which goes on at next.
func (l *lines) cut(stop, next int) (in transport.Inbound, ok bool) {
	line := l.buf[l.start:stop]
	defer func() {
		l.start, l.scan = next, next
		if l.start == l.end || cap(l.buf) > bufferSize && l.end-l.start <= bufferSize {
			l.shrink()
		}
	}()
	if l.skipping {
		return l.skipped(line), true
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if line = l.trim(line); len(line) == 0 {
		return in, false
	}
	if len(line) > l.max {
		l.begin(line)
		return l.skipped(nil), true
	}
	if len(line) > bufferSize {
		l.last = len(line)
	}
	if cap(l.buf) > bufferSize && len(line) > cap(l.buf)/2 && l.end-next <= bufferSize {
		in.Body = line[:len(line):len(line)] // with its buffer; shrink takes another
	} else {
		in.Body = append(make([]byte, 0, len(line)), line...)
	}
	return in, true
}

// trim drops what may stand before a message.
func (l *lines) trim(line []byte) []byte {
	if !l.begun {
		l.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t' || line[0] == '\r') {
		line = line[1:]
	}
	return line
}

// room makes place for at least one more byte.
func (l *lines) room() {
	switch {
	case l.buf == nil:
		l.small = make([]byte, bufferSize)
		l.buf = l.small
	case l.end < len(l.buf):
	case l.start > 0:
		l.move(l.buf)
	default:
		l.large()
		// More than one line at the limit is never needed: skip sees to that. Large
		// lines tend to be alike, so the last one tells how large to begin.
		size := max(2*len(l.buf), l.last+bufferSize)
		l.move(make([]byte, min(size, l.max+bufferSize)))
	}
}

// shrink goes back to the small buffer, in which what is left has room.
func (l *lines) shrink() { l.move(l.small) }

// move brings what is left to the beginning of buf, which may be the same buffer.
func (l *lines) move(buf []byte) {
	n := copy(buf, l.buf[l.start:l.end])
	l.scan -= l.start
	l.buf, l.start, l.end = buf, 0, n
}

// skip drops what was read of a line over the limit and keeps its ends.
func (l *lines) skip() {
	part := l.buf[l.start:l.end]
	if !l.skipping {
		if len(part) <= l.max+1 { // the last byte may prove to be a CR
			return
		}
		part = l.trim(part)
		if len(part) <= l.max+1 {
			l.start = l.end - len(part)
			return
		}
		l.begin(part)
	} else {
		l.add(part)
	}
	l.start, l.end, l.scan = 0, 0, 0
	l.buf = l.small
}

func (l *lines) begin(part []byte) {
	l.skipping = true
	l.head = make([]byte, 0, keep)
	l.tail, l.size = make([]byte, 0, 4*keep), 0
	l.add(part)
}

// add counts a part of the line and keeps its two ends, with one byte more than is
// given out, as the last may be a CR.
func (l *lines) add(part []byte) {
	l.size += int64(len(part))
	l.head = append(l.head, part[:min(len(part), keep-len(l.head))]...)
	part = part[max(0, len(part)-keep-1):]
	if len(l.tail)+len(part) > cap(l.tail) {
		l.tail = l.tail[:copy(l.tail, l.tail[max(0, len(l.tail)-keep-1):])]
	}
	l.tail = append(l.tail, part...)
}

// skipped ends a line over the limit with its last part.
func (l *lines) skipped(part []byte) transport.Inbound {
	l.add(part)
	if n := len(l.tail); l.tail[n-1] == '\r' {
		l.tail, l.size = l.tail[:n-1], l.size-1
	}
	l.head = l.head[:min(int64(len(l.head)), l.size)]
	in := transport.Inbound{Body: l.head, Tail: l.tail[max(0, len(l.tail)-keep):], Size: l.size}
	l.skipping, l.head, l.tail = false, nil, nil
	return in
}
