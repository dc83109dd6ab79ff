package mcp

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// receiveShared takes a frame of a shared link, or one of a private link that
// belongs to no exchange. It never waits.
func (c *Client) receiveShared(in transport.Inbound) error {
	c.receive(in, nil)
	return nil
}

// receivePrivate takes a frame of the exchange of p.
func (c *Client) receivePrivate(in transport.Inbound, p *pending) error {
	if c.receive(in, p) {
		return transport.ErrEnough
	}
	return nil
}

// receive routes one frame. p is the exchange on whose stream it came; nil:
// none. It reports whether p is answered.
func (c *Client) receive(in transport.Inbound, p *pending) (answered bool) {
	if in.Size > 0 {
		c.tooLarge(in)
		return false
	}
	body := trimSpace(in.Body)
	if id, payload, isError, ok := jsonrpc.Split(body); ok {
		return c.answer(id, reply{frame: body, payload: payload, isError: isError, note: in.Note}, p)
	}
	if !utf8.Valid(body) {
		c.o.Stats.Replaced.Add(1)
		body = validUTF8(body)
	}
	if len(body) > 0 && body[0] == '[' {
		return c.receiveBatch(in, body, p)
	}
	m, err := jsonrpc.Parse(body)
	if err != nil {
		return c.unreadable(in, body, err, p)
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		return c.answerParsed(m, reply{parsed: m, frame: body, note: in.Note}, p)
	case *jsonrpc.Notification:
		c.notification(m, p)
	case *jsonrpc.Call:
		c.call(m, p)
	}
	return false
}

// receiveBatch unpacks an array of messages: legal in 2025-03-26, tolerated
// always.
func (c *Client) receiveBatch(in transport.Inbound, body []byte, p *pending) (answered bool) {
	members, _, err := jsonrpc.ParseBatch(body)
	if err != nil {
		return c.unreadable(in, body, err, p)
	}
	for _, m := range members {
		if len(m) > 0 && m[0] == '[' {
			c.o.Stats.Unreadable.Add(1)
			continue
		}
		if c.receive(transport.Inbound{Body: m, Note: in.Note}, p) {
			answered = true
		}
	}
	return answered
}

// answer gives a reply to the request with that id.
func (c *Client) answer(id int64, r reply, p *pending) (answered bool) {
	q, known := c.table.take(id)
	switch {
	case q == nil && known:
		c.o.Stats.Late.Add(1)
	case q == nil:
		c.o.Stats.Unknown.Add(1)
		c.o.Log.Debug("answer to an unknown id dropped", "call", id)
	case q == p:
		q.ch <- r // its caller is this goroutine: nothing to stop
		return true
	default:
		q.end(r)
	}
	return false
}

func (c *Client) answerParsed(m *jsonrpc.Response, r reply, p *pending) (answered bool) {
	if id, ok := m.ID.Int(); ok {
		return c.answer(id, r, p)
	}
	if m.ID.IsZero() && m.Error != nil {
		// An error without an id can be told on a stream that has one request
		// (2025-11-25 §basic, Responses), and during the handshake. Later on a shared
		// link it may as well be about a notification.
		if p != nil {
			return c.answer(p.id, r, p)
		}
		if _, opening := c.era().(handshakeEra); opening {
			if q := c.table.takeLone(); q != nil {
				q.end(r)
				return false
			}
		}
	}
	c.o.Stats.Unknown.Add(1)
	c.o.Log.Debug("answer without a usable id dropped", "id", m.ID.String(), "err", m.Error)
	return false
}

// tooLarge ends the request that a frame over the limit seems to answer.
func (c *Client) tooLarge(in transport.Inbound) {
	err := &transport.TooLargeError{Size: in.Size, Inbound: true}
	id, ok := jsonrpc.GuessID(trimSpace(in.Body), trimSpace(in.Tail))
	if !ok {
		c.o.Log.Warn("message over the limit dropped", "bytes", in.Size)
		return
	}
	c.answer(id, reply{err: err}, nil)
}

// unreadable deals with a frame that is no message. On a private stream it ends
// the exchange: the answer may have been in it. On a shared one it ends the
// request that it seems to answer; any other is noise, and on a private one an
// explanation if no answer comes at all.
func (c *Client) unreadable(in transport.Inbound, body []byte, err error, p *pending) (answered bool) {
	c.o.Stats.Unreadable.Add(1)
	r := reply{err: protocolErrorf("%s", describe(in.Note, body, err))}
	if p != nil && (in.Note != "" || errors.Is(err, jsonrpc.ErrInvalidJSON)) {
		return c.answer(p.id, r, p)
	}
	if id, ok := jsonrpc.GuessID(body, body); ok && errors.Is(err, jsonrpc.ErrInvalidJSON) {
		return c.answer(id, r, p)
	}
	if p != nil && p.odd == nil {
		p.odd = r.err
	}
	c.o.Log.Debug("no message", "text", begin(body), "err", err)
	return false
}

func describe(note string, body []byte, err error) string {
	if note != "" {
		return note + " is no JSON-RPC response: " + begin(body)
	}
	return err.Error() + ": " + begin(body)
}

// begin is the beginning of a text from outside, for people.
func begin(b []byte) string {
	const most = 120
	b = bytes.ToValidUTF8(b[:min(len(b), most)], []byte("\uFFFD"))
	return string(bytes.Join(bytes.Fields(b), []byte(" ")))
}

// notification routes a notification.
func (c *Client) notification(m *jsonrpc.Notification, p *pending) {
	c.o.Stats.Notifications.Add(1)
	n := &Notification{Method: m.Method, Params: m.Params}
	var owner *Request
	if p != nil {
		owner = p.req
	}
	switch m.Method {
	case notificationCancelled:
		c.serverCancelled(m.Params)
		return
	case notificationProgress:
		owner = c.progressOwner(m.Params)
		if owner == nil {
			return // of a token that is not in use: stray (2025-11-25 §progress)
		}
		owner.Clock.Touch()
	case notificationMessage:
		if owner == nil && c.binding.Shared {
			owner = c.table.sole()
		}
	default:
		if id, ok := subscriptionOf(m.Params); ok {
			owner = c.table.get(id)
		}
	}
	if owner != nil {
		n.Tag = owner.Tag
		if owner.Notify != nil {
			owner.Notify(n)
		}
	}
	if c.o.Handler != nil {
		c.o.Handler.Notify(n)
	}
}

func (c *Client) progressOwner(params []byte) *Request {
	var v struct {
		Token jsontext.Value `json:"progressToken"`
	}
	if json.Unmarshal(params, &v, jsontext.AllowDuplicateNames(true)) != nil || len(v.Token) == 0 {
		return nil
	}
	id, ok := jsonrpc.RawID(v.Token).Int()
	if !ok {
		return nil
	}
	if r := c.table.get(id); r != nil && r.Progress {
		return r
	}
	return nil
}

// subscriptionOf reads the subscription that a modern notification belongs to.
func subscriptionOf(params []byte) (int64, bool) {
	if !bytes.Contains(params, []byte(metaSubscription)) {
		return 0, false
	}
	var v struct {
		Meta struct {
			ID jsontext.Value `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &v, jsontext.AllowDuplicateNames(true)) != nil || len(v.Meta.ID) == 0 {
		return 0, false
	}
	return jsonrpc.RawID(v.Meta.ID).Int()
}

func trimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }
