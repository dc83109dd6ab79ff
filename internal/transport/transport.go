package transport

import "context"

// A Conn is one live link to one MCP server.
//
// Send may be called from many goroutines at once. Listen is called once, by
// whoever owns the Conn. Close may be called at any time and more than once;
// it releases every pending Send and Listen.
type Conn interface {
	// Send hands one frame to the server.
	//
	// On a shared binding Send returns nil as soon as the whole frame has left;
	// answers come out of Listen, and replies is not used. On a private binding a
	// frame that expects an answer opens an exchange, and Send lasts as long as
	// the exchange: each frame that the server sends for it goes to replies, in
	// order, on the calling goroutine, and Send returns nil when replies returns
	// ErrEnough. A frame that expects no answer is done when the server has taken
	// it over (HTTP: when the status has come).
	//
	// Otherwise Send tells why: the cause of ctx, a *RefusedError (this frame
	// only, the link is well), a *NoReplyError (the server ended the exchange
	// without an answer), a *LostError (the connection broke), a *TooLargeError,
	// ErrQueueFull or ErrClosed, or the error that replies returned. An error that
	// wraps ErrNotSent promises that the server has not seen the frame; any other
	// leaves that open.
	//
	// f.Body belongs to the binding until Send returns nil or an error that wraps
	// ErrNotSent. After any other error a writer may still hold it: drop it.
	Send(ctx context.Context, f Frame, replies Sink) error

	// Listen passes on what the server says outside every exchange. It blocks
	// until the link or ctx ends and returns the reason: a *LostError, ErrClosed
	// or the cause of ctx. On a shared binding it carries all inbound traffic: it
	// must run while the Conn is in use, and its sink must not wait. A binding
	// that has no such channel returns ErrUnsupported at once.
	Listen(ctx context.Context, unsolicited Sink) error

	// Close ends the link, gently while ctx lasts and by force afterwards. When
	// it returns, nothing of the link is left: no goroutine, process or socket.
	Close(ctx context.Context) error

	// Binding describes the link. It does not change during the link's life.
	Binding() Binding
}

// A Dialer makes links of one kind to one server. Supervisors hold a Dialer and
// never learn which kind it is.
type Dialer interface {
	// Dial opens a link. ctx bounds the dialling only, not the life of the link.
	// Its error wraps ErrNotSent.
	Dial(ctx context.Context) (Conn, error)
}

// A Sink takes one inbound frame. Sinks of different exchanges may be called at
// once. An error from a sink ends its exchange (or Listen) with that error;
// ErrEnough ends it well. Waiting inside a sink is how a slow reader holds back
// a private stream; a sink must never wait for something that needs the same
// stream to move on.
type Sink func(in Inbound) error

// Inbound is one frame that the server sent.
type Inbound struct {
	// Body is one JSON-RPC message, or whatever else the server wrote in its
	// place. The sink owns the bytes.
	Body []byte
	// Size is 0, or the whole size of a frame over the limit, of which Body
	// holds the beginning and Tail the end (a few KiB each). Only shared bindings
	// do that, because only they can't tell whose frame it was.
	Size int64
	Tail []byte
	// Note says where the frame comes from, for people, where that is unusual:
	// "HTTP 200 text/html".
	Note string
}

// A Frame is one JSON-RPC message on its way out, as opaque bytes.
type Frame struct {
	Body    []byte // one JSON value in UTF-8, without a newline
	Expects bool   // the server owes an answer
	Link    Link   // how the frame relates to the server's memory of the link
	Labels  Labels // facts that a binding with headers must repeat outside the body
}

// Link says how a frame relates to what the server remembers about the link.
// Bindings without such a memory outside the body ignore it.
type Link uint8

const (
	// LinkNone: the frame stands for itself. Nothing remembered is sent with it,
	// nothing is kept from its answer, and a broken answer can't be resumed.
	LinkNone Link = iota
	// LinkOpen: the frame asks the server to begin a session. None is sent; the
	// one that comes with the answer is kept.
	LinkOpen
	// LinkWithin: the frame belongs to the session that LinkOpen began. A broken
	// answer may be resumed.
	LinkWithin
)

// Labels are chosen by the protocol layer and spelled by the binding. Bindings
// without headers ignore them.
type Labels struct {
	Version string  // protocol revision; empty: not to be named
	Method  string  // empty: not to be named
	Name    string  // what the request is about
	HasName bool    // Name is meant, even if empty
	Params  []Label // arguments to be repeated
	Trace   []Label // headers as they are: traceparent, tracestate, baggage
}

// A Label is a name and a value, both unencoded.
type Label struct{ Name, Value string }

// A Binding tells the few facts the protocol layer may depend on.
type Binding struct {
	Name   string // "stdio", "streamable-http", "sse", "memory"
	Peer   string // for people: "pid 4711", "https://…"
	Shared bool   // all traffic on one stream; a single exchange cannot be hung up
}
