package jsonrpc

import "fmt"

// Version is the value of the member "jsonrpc" in every message.
const Version = "2.0"

// A Message is a *Call, a *Notification or a *Response.
type Message interface{ isMessage() }

// A Call is a request: it has an id and wants a Response.
type Call struct {
	ID     ID
	Method string
	Params []byte // a JSON object; nil: none
}

// A Notification has no id and is never answered.
type Notification struct {
	Method string
	Params []byte // a JSON value, an object if the sender keeps to the rules; nil: none
}

// A Response answers a Call. Error is nil where it succeeded.
type Response struct {
	ID     ID     // the zero ID where the peer could not read it (JSON null, or absent)
	Result []byte // any JSON value
	Error  *Error
}

func (*Call) isMessage()         {}
func (*Notification) isMessage() {}
func (*Response) isMessage()     {}

// An Error is the error member of a response, as the peer sent it.
type Error struct {
	Code    int64
	Message string
	Data    []byte // any JSON value; nil: none
}

func (e *Error) Error() string { return fmt.Sprintf("MCP error %d: %s", e.Code, e.Message) }

// Error codes of JSON-RPC and of MCP (2026-07-28 §basic, Error codes; older
// revisions where noted).
const (
	ParseError                 = -32700
	InvalidRequest             = -32600
	MethodNotFound             = -32601
	InvalidParams              = -32602
	InternalError              = -32603
	ResourceNotFound           = -32002 // up to 2025-11-25
	URLElicitationRequired     = -32042 // 2025-11-25 only
	HeaderMismatch             = -32020 // from 2026-07-28
	MissingCapability          = -32021 // from 2026-07-28
	UnsupportedProtocolVersion = -32022 // from 2026-07-28
	UserRejected               = -1     // sampling, up to 2025-11-25
)
