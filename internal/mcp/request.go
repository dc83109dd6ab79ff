package mcp

import (
	"strconv"
	"sync"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A Request is one request to a server.
type Request struct {
	Method string
	// Name is what the request is about, for bindings that repeat it in a header
	// (2026-07-28 §transports, Standard Headers): the tool, prompt, URI or task.
	Name    string
	HasName bool
	Params  Params // nil: none
	// Meta are the caller's members of `_meta` as JSON text without braces,
	// cleared of those that belong to the protocol; empty: none.
	Meta string
	// Progress asks for progress notifications. The token is ours.
	Progress bool
	// LogLevel asks a modern server for log messages of this request; empty: none.
	LogLevel string
	// Capabilities replace, for this request to a modern server, what Options
	// declare; JSON text, empty: no replacement.
	Capabilities string
	Trace        []transport.Label // W3C trace context
	Headers      []transport.Label // arguments mirrored into headers
	// Clock is touched by progress; nil: progress extends nothing.
	Clock *transport.Clock
	// Notify receives what the server sends with this request, in order, as far as
	// the link tells. On a shared link it must not wait, and a call of it that has
	// begun may outlast a Do whose context ended. May be nil.
	Notify func(*Notification)
	// Tag travels to Handler with what belongs to this request.
	Tag any
}

// A Notification is one that the server sent. Request.Notify and Handler.Notify
// get the same one, so neither changes it; both may keep it.
type Notification struct {
	Method string
	Params []byte // JSON text; nil: none
	Tag    any    // the Tag of the request that it belongs to; nil: none, or not known
}

// A frameBuffer is reused only where the binding promises that it is done with
// it; large ones are left to the garbage collector.
var frameBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

const maxPooledFrame = 1 << 20

func releaseFrame(b *[]byte, body []byte) {
	if cap(body) <= maxPooledFrame {
		*b = body[:0]
		frameBuffers.Put(b)
	}
}

// appendCall writes the frame of a request.
func appendCall(dst []byte, id int64, r *Request, e era) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"method":`...)
	dst = jsonrpc.AppendString(dst, r.Method)
	dst = append(dst, `,"params":{`...)
	n := len(dst)
	if r.Params != nil {
		dst = r.Params.AppendMembers(dst)
	}
	hasParams := len(dst) > n
	if hasParams {
		dst = append(dst, ',')
	}
	m := len(dst)
	dst = append(dst, `"_meta":{`...)
	k := len(dst)
	dst = e.appendMeta(dst, r)
	if r.Progress {
		dst = appendMember(dst, k)
		dst = append(dst, `"progressToken":`...)
		dst = strconv.AppendInt(dst, id, 10)
	}
	for _, l := range r.Trace {
		dst = appendMember(dst, k)
		dst = jsonrpc.AppendString(dst, l.Name)
		dst = append(dst, ':')
		dst = jsonrpc.AppendString(dst, l.Value)
	}
	if r.Meta != "" {
		dst = appendMember(dst, k)
		dst = append(dst, r.Meta...)
	}
	if len(dst) > k {
		return append(dst, "}}}"...)
	}
	if hasParams {
		return append(dst[:m-1], "}}"...)
	}
	return append(dst[:n-len(`,"params":{`)], '}')
}

// appendMember separates a member from the one before; the first begins at k.
func appendMember(dst []byte, k int) []byte {
	if len(dst) > k {
		return append(dst, ',')
	}
	return dst
}

// appendNotification writes the frame of a notification.
func appendNotification(dst []byte, r *Request) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = jsonrpc.AppendString(dst, r.Method)
	var params []byte
	if r.Params != nil {
		params = r.Params.AppendMembers(nil)
	}
	if r.Meta != "" {
		if len(params) > 0 {
			params = append(params, ',')
		}
		params = append(append(append(params, `"_meta":{`...), r.Meta...), '}')
	}
	if len(params) > 0 {
		dst = append(append(append(dst, `,"params":{`...), params...), '}')
	}
	return append(dst, '}')
}
