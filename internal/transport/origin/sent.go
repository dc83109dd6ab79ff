package origin

import (
	"crypto/tls"
	"net/http/httptrace"
)

// sent knows whether a part of the request may have left. Proof of the contrary
// is either that no connection was had, or that the connection, which nobody
// else uses meanwhile, has carried no byte since. Anything less is no proof.
type sent struct {
	trace  httptrace.ClientTrace
	got    bool
	reused bool
	conn   *conn // nil: not one of ours
	tls    *tls.Conn
	before int64
}

func (s *sent) reset() { s.got, s.reused, s.conn, s.tls = false, false, nil, nil }

// gotConn runs on the goroutine of the round trip.
func (s *sent) gotConn(info httptrace.GotConnInfo) {
	s.reset()
	s.got, s.reused = true, info.Reused
	raw := info.Conn
	if t, ok := raw.(*tls.Conn); ok {
		s.tls, raw = t, t.NetConn()
	}
	if c, ok := raw.(*conn); ok {
		s.conn, s.before = c, c.written.Load()
	}
}

// certainlyNot is asked after the round trip, when HTTP/1 writes no more. HTTP/2
// may still do so, and shares its connections.
func (s *sent) certainlyNot() bool {
	if !s.got {
		return true
	}
	if s.conn == nil || s.tls != nil && s.tls.ConnectionState().NegotiatedProtocol == "h2" {
		return false
	}
	return s.conn.written.Load() == s.before
}

// staleConn tells that a connection from the pool was dead already.
func (s *sent) staleConn() bool { return s.got && s.reused && s.certainlyNot() }
