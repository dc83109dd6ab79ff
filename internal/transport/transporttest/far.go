package transporttest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A Far is the far side of a link as the binding's own test builds it: in a
// child, in an HTTP handler. It is one link on a shared binding, one exchange on
// a private one. Obey drives it.
type Far interface {
	// Reply sends a frame back: on a private binding on the stream of this
	// exchange.
	Reply(frame []byte) error
	// End hangs up in good order and without an answer. On a private binding only
	// the exchange ends, on a shared one the link.
	End()
	// Break is End without good order: the process dies, the connection is reset.
	Break()
	// Hold neither reads nor answers until the near side has hung up. On a shared
	// binding nothing of the link is read any more.
	Hold()
}

// JSON makes a frame of a word for bindings that insist on JSON.
func JSON(word string) []byte { return []byte(`["` + word + `"]`) }

// Word is the word of a frame, with or without JSON around it.
func Word(frame []byte) string {
	s := strings.TrimSuffix(strings.TrimPrefix(string(frame), `["`), `"]`)
	return s
}

// Obey does what the word of a frame from the suite says:
//
//	echo …   reply with the same frame
//	note …   nothing; the frame expects no answer
//	hold     reply "held", then Hold
//	deaf     Hold
//	flood N  reply with the words 0, 1, … N-1 and "flooded N"
//	big N    reply with one frame of exactly N bytes
//	end      End
//	break    Break
//
// It returns the first error of the far side, or one about a word it does not
// know.
func Obey(frame []byte, far Far) error {
	wrap := func(word string) []byte { return []byte(word) }
	if bytes.HasPrefix(frame, []byte(`["`)) {
		wrap = JSON
	}
	verb, rest, _ := strings.Cut(Word(frame), " ")
	n, _ := strconv.Atoi(rest)
	switch verb {
	case "echo":
		return far.Reply(frame)
	case "note":
	case "hold":
		if err := far.Reply(wrap("held")); err != nil {
			return err
		}
		far.Hold()
	case "deaf":
		far.Hold()
	case "flood":
		for i := range n {
			if err := far.Reply(wrap(strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return far.Reply(wrap("flooded " + rest))
	case "big":
		return far.Reply(wrap(strings.Repeat("b", n-len(wrap("")))))
	case "end":
		far.End()
	case "break":
		far.Break()
	default:
		return fmt.Errorf("transporttest: unknown word %.40q", verb)
	}
	return nil
}
