package rpc

import (
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// maxPosition bounds a position that a caller sends.
const maxPosition = 64 << 10

// A position is a place in the streams of several sessions. Callers see it as
// opaque text: a version, the instance, and for each session its key and number.
type position struct {
	instance string // numbers mean something in one life of the bridge only
	places   []place
	text     string // empty: to be made
}

type place struct {
	key string
	seq uint64
}

const positionVersion = 1

func newPosition(instance string) *position { return &position{instance: instance} }

// placeKey names a session in a position, without giving its id away.
func placeKey(x *upstream.Session) string {
	if x.ID() == "" {
		return x.Upstream().Name()
	}
	return upstream.Shorten(x.ID())
}

func (p *position) len() int { return len(p.places) }

func (p *position) set(key string, seq uint64) {
	i := slices.IndexFunc(p.places, func(q place) bool { return q.key == key })
	switch {
	case i < 0:
		p.places = append(p.places, place{key, seq})
	case p.places[i].seq == seq:
		return
	default:
		p.places[i].seq = seq
	}
	p.text = ""
}

func (p *position) String() string {
	if p.text == "" {
		b := make([]byte, 0, 64)
		b = append(b, positionVersion)
		b = appendText(b, p.instance)
		for _, q := range p.places {
			b = binary.AppendUvarint(appendText(b, q.key), q.seq)
		}
		p.text = base64.RawURLEncoding.EncodeToString(b)
	}
	return p.text
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// parsePosition reads a position. known is false for one of another life of the
// bridge, whose places mean nothing now.
func parsePosition(text, instance string) (places map[string]uint64, known bool, err error) {
	if text == "" {
		return nil, false, nil
	}
	if len(text) > maxPosition {
		return nil, false, errPosition
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) == 0 || b[0] != positionVersion {
		return nil, false, errPosition
	}
	of, b, ok := cutText(b[1:])
	if !ok {
		return nil, false, errPosition
	}
	places = map[string]uint64{}
	for len(b) > 0 {
		var key string
		if key, b, ok = cutText(b); !ok {
			return nil, false, errPosition
		}
		seq, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false, errPosition
		}
		places[key], b = seq, b[n:]
	}
	if of != instance {
		return nil, false, nil
	}
	return places, true, nil
}

var errPosition = invalid("after: not a position")

// cutText takes a text with its length before it.
func cutText(b []byte) (s string, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", nil, false
	}
	return string(b[n : n+int(size)]), b[n+int(size):], true
}
