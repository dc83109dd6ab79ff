package eventstream

import (
	"bytes"
	"io"
	"slices"
)

const (
	minWindow = 8 << 10
	maxWindow = 64 << 10
	// maxEmptyReads is how often in a row a source may return neither bytes nor an
	// error.
	maxEmptyReads = 100
)

// A Reader reads events from a byte stream. It is not for several goroutines.
//
// A line that fits into the window is copied once, from there into the event; a
// longer one is moved into the event piece by piece. The work is linear, however
// small the pieces are in which the stream arrives.
type Reader struct {
	src   io.Reader
	limit int
	err   error // of src; to be told when the window is used up

	win     []byte // bytes read ahead: win[pos:end] is not used yet
	pos     int
	end     int
	scanned int // so many bytes from pos on hold no end of line

	mode   mode
	skipLF bool   // the last line ended with CR: a LF would belong to it
	field  []byte // beginning of a long line that is not data

	ev   Event // the block so far
	some bool  // it has a field
	over *over // its data are over the limit
	typ  string
	id   string
}

// mode is where in the stream the reader is.
type mode uint8

const (
	atStart mode = iota // where a byte order mark may stand
	atLine              // before a line, of which a part may be in the window
	inData              // within a data line longer than the window
	inField             // within another line longer than the window
)

// NewReader returns a Reader for r that refuses events with more than limit
// bytes of data.
func NewReader(r io.Reader, limit int) *Reader {
	rd := &Reader{}
	rd.Reset(r, limit)
	return rd
}

// Reset makes rd read r as if it were new. It keeps its window.
func (rd *Reader) Reset(r io.Reader, limit int) {
	*rd = Reader{src: r, limit: limit, win: rd.win, field: rd.field[:0]}
}

// AtEnd tells whether the source has told its end already. Events that were read
// ahead may be left.
func (rd *Reader) AtEnd() bool { return rd.err == io.EOF }

// Next returns the next event. A block without a field that counts is passed
// over. At the end of the source Next returns io.EOF, and an event that is not
// finished is dropped; any other error of the source is returned as it is.
//
// A *TooLargeError comes as soon as the limit is passed. After it Next may be
// called again: it goes on behind that event.
func (rd *Reader) Next() (Event, error) {
	if rd.over != nil {
		if _, _, err := rd.Skip(); err != nil {
			return Event{}, err
		}
	}
	for {
		blank, err := rd.step()
		if err != nil {
			return Event{}, err
		}
		if rd.over != nil {
			return Event{}, &TooLargeError{Limit: rd.limit, Head: rd.over.head}
		}
		if blank {
			if ev, ok := rd.dispatch(); ok {
				return ev, nil
			}
		}
	}
}

// Skip reads on to the end of the event that Next has just found too large. It
// returns the size of its data and their last bytes, a few KiB.
func (rd *Reader) Skip() (size int64, tail []byte, err error) {
	for rd.over != nil {
		size = rd.over.size
		blank, err := rd.step()
		if err != nil {
			return rd.over.size, rd.over.tail(), err
		}
		if blank {
			tail = rd.over.tail()
			rd.dispatch()
		}
	}
	return size, tail, nil
}

// dispatch ends the block. ok is false if there is nothing to tell of it.
func (rd *Reader) dispatch() (ev Event, ok bool) {
	ev, ok = rd.ev, rd.some
	if ev.Type == "" {
		ev.Type = "message"
	}
	if ev.HasID {
		rd.id = ev.ID
	}
	ev.ID = rd.id
	rd.ev, rd.some, rd.over = Event{}, false, nil
	return ev, ok
}

// step consumes a line, or a piece of one, or reads once. blank means that it
// was a blank line, which ends a block.
func (rd *Reader) step() (blank bool, err error) {
	if rd.pos+rd.scanned == rd.end {
		if err := rd.fill(); err != nil {
			return false, err
		}
	}
	switch rd.mode {
	case atStart:
		rd.byteOrderMark()
		return false, nil
	case atLine:
		if rd.skipLF {
			rd.skipLF = false
			if rd.win[rd.pos] == '\n' {
				rd.pos++
				return false, nil
			}
		}
		return rd.line(), nil
	default:
		rd.piece()
		return false, nil
	}
}

// byteOrderMark passes over the one mark that may come first.
func (rd *Reader) byteOrderMark() {
	const mark = "\xEF\xBB\xBF"
	rest := rd.win[rd.pos:rd.end]
	if len(rest) < len(mark) && string(rest) == mark[:len(rest)] && rd.err == nil {
		rd.scanned = len(rest) // too short to tell: read on
		return
	}
	if bytes.HasPrefix(rest, []byte(mark)) {
		rd.pos += len(mark)
	}
	rd.mode, rd.scanned = atLine, 0
}

// line takes the line that begins at pos, if its end is in the window.
func (rd *Reader) line() (blank bool) {
	rest := rd.win[rd.pos:rd.end]
	i := lineEnd(rest[rd.scanned:])
	if i < 0 {
		rd.scanned = len(rest)
		// A line that can't be within the limit is told before its end has come.
		if len(rest) == maxWindow || len(rest)-len("data: ") > rd.limit-len(rd.ev.Data) {
			rd.scanned = 0
			rd.beginLong(rest)
		}
		return false
	}
	i += rd.scanned
	rd.took(i)
	if i > 0 {
		rd.whole(rest[:i])
	}
	return i == 0
}

// took moves behind a line of n bytes and its end.
func (rd *Reader) took(n int) {
	rd.skipLF = rd.win[rd.pos+n] == '\r'
	rd.pos += n + 1
	rd.scanned = 0
	rd.mode = atLine
}

// lineEnd returns the place of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n >= 0 {
		b = b[:n]
	}
	if r := bytes.IndexByte(b, '\r'); r >= 0 {
		return r
	}
	return n
}

// fill reads once. It returns nil if at least one byte has come.
func (rd *Reader) fill() error {
	if rd.err != nil {
		return rd.err
	}
	switch {
	case rd.win == nil:
		rd.win = make([]byte, minWindow)
	case rd.pos == rd.end:
		rd.pos, rd.end = 0, 0
	case rd.end < len(rd.win):
	case rd.pos > 0:
		rd.end = copy(rd.win, rd.win[rd.pos:rd.end])
		rd.pos = 0
	default:
		rd.win = slices.Grow(rd.win, maxWindow-len(rd.win))[:maxWindow]
	}
	for range maxEmptyReads {
		n, err := rd.src.Read(rd.win[rd.end:])
		rd.end += n
		rd.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	rd.err = io.ErrNoProgress
	return rd.err
}
