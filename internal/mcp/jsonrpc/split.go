package jsonrpc

import "bytes"

// Split finds id and payload of a response in constant time, without reading
// the payload. It works for an envelope written in one of the two orders that
// servers use,
//
//	{"jsonrpc":"2.0","id":N,"result":PAYLOAD}
//	{"result":PAYLOAD,"jsonrpc":"2.0","id":N}
//
// (or "error" for "result") with an integer id. Both halves are needed: a
// server's request carries an id at the head or at the tail as well, but never
// beside "result" or "error" at the head. An unescaped `,"id":` right before the
// last brace cannot lie inside a string of valid JSON.
//
// Nothing is validated: payload is whatever lies between. The caller reads it as
// one JSON value, and where that fails, Parse decides.
func Split(frame []byte) (id int64, payload []byte, isError, ok bool) {
	frame = bytes.TrimRight(frame, " \t\r")
	if len(frame) == 0 || frame[len(frame)-1] != '}' {
		return 0, nil, false, false
	}
	if id, n, isError, ok := head(frame); ok {
		return id, frame[n : len(frame)-1], isError, true
	}
	n, isError, ok := payloadFirst(frame)
	if !ok {
		return 0, nil, false, false
	}
	id, m, ok := tail(frame)
	if !ok || m < n {
		return 0, nil, false, false
	}
	payload = bytes.TrimSuffix(frame[n:m], []byte(`,"jsonrpc":"2.0"`))
	return id, payload, isError, true
}

// GuessID finds the id of the response that a damaged or shortened frame seems
// to be, from its beginning and its end; they may overlap.
func GuessID(begin, end []byte) (id int64, ok bool) {
	if id, _, _, ok := head(begin); ok {
		return id, true
	}
	if _, _, ok := payloadFirst(begin); ok {
		if id, _, ok := tail(bytes.TrimRight(end, " \t\r")); ok {
			return id, true
		}
	}
	return 0, false
}

const envelopeHead = `{"jsonrpc":"2.0","id":`

// head reads the envelope's beginning up to the payload, which starts at n.
func head(b []byte) (id int64, n int, isError, ok bool) {
	if len(b) < len(envelopeHead) || string(b[:len(envelopeHead)]) != envelopeHead {
		return 0, 0, false, false
	}
	i := len(envelopeHead)
	id, w := digits(b[i:])
	if w == 0 {
		return 0, 0, false, false
	}
	i += w
	if rest := b[i:]; bytes.HasPrefix(rest, []byte(`,"result":`)) {
		return id, i + len(`,"result":`), false, true
	} else if bytes.HasPrefix(rest, []byte(`,"error":`)) {
		return id, i + len(`,"error":`), true, true
	}
	return 0, 0, false, false
}

func payloadFirst(b []byte) (n int, isError, ok bool) {
	if bytes.HasPrefix(b, []byte(`{"result":`)) {
		return len(`{"result":`), false, true
	}
	if bytes.HasPrefix(b, []byte(`{"error":`)) {
		return len(`{"error":`), true, true
	}
	return 0, false, false
}

// tail reads `,"id":N}` backwards from the end of b; it begins at n.
func tail(b []byte) (id int64, n int, ok bool) {
	i := len(b) - 1
	if i < 0 || b[i] != '}' {
		return 0, 0, false
	}
	end := i
	for i > 0 && b[i-1] >= '0' && b[i-1] <= '9' {
		i--
	}
	const name = `,"id":`
	if i < len(name) || string(b[i-len(name):i]) != name {
		return 0, 0, false
	}
	id, w := digits(b[i:end])
	if w == 0 || w != end-i {
		return 0, 0, false
	}
	return id, i - len(name), true
}

// digits reads a non-negative integer of at most 18 digits; w is 0 for none.
func digits(b []byte) (n int64, w int) {
	for w < len(b) && b[w] >= '0' && b[w] <= '9' {
		if w == 18 {
			return 0, 0
		}
		n = n*10 + int64(b[w]-'0')
		w++
	}
	if w > 1 && b[0] == '0' {
		return 0, 0
	}
	return n, w
}
