package rpc

import (
	"math"
	"strings"
	"unicode/utf8"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Bounds of what an error carries. Clients of several languages read at most
// 8 KiB of trailers, in which the status lies as base64 and the message once
// more, percent-encoded.
const (
	maxMessage   = 1<<10 - 1
	maxStatus    = 4<<10 - 1
	maxTailLines = 3
	maxTailLine  = 200
	maxMetadata  = 512
	maxName      = 128
	short        = 256
)

// Domain is that of ErrorInfo.
const Domain = "mcpbridge"

// build makes the connect error. What does not fit is left out, the least
// important first.
func (f *failure) build(a about, redact func(string) string) *connect.Error {
	st := &status{message: redact(f.message)}
	info := &errdetails.ErrorInfo{Reason: f.reason, Domain: Domain, Metadata: map[string]string{}}
	for k, v := range f.metadata {
		info.Metadata[k] = cut(redact(v), maxMetadata)
	}
	st.details = []proto.Message{info}
	if a.server != "" {
		info.Metadata["server"] = cut(a.server, maxName)
		st.up = f.upstreamError(a, redact)
		if len(st.up.StderrTail) > 0 {
			st.message += "; stderr: " + strings.Join(st.up.StderrTail, " | ")
		}
		st.details = append(st.details, st.up)
	}
	if f.retry > 0 {
		st.details = append(st.details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.retry)})
	}
	st.message = cut(st.message, maxMessage)
	st.shrink(info)
	e := connect.NewError(f.code, st.message)
	for _, d := range st.details {
		if detail, err := connectproto.NewErrorDetail(d); err == nil {
			e = e.WithDetail(detail)
		}
	}
	return e
}

// upstreamError is the detail of an error in which a server had a part.
func (f *failure) upstreamError(a about, redact func(string) string) *mcpbridgev1.UpstreamError {
	u := &mcpbridgev1.UpstreamError{
		Server: cut(a.server, maxName), Method: cut(a.method, maxName), Reason: f.reason,
		Origin: f.origin, Delivery: f.delivery, HttpStatus: int32(f.status),
	}
	if f.rpc != nil {
		u.JsonrpcError = &mcpbridgev1.JsonRpcError{
			Code:    int32(min(max(f.rpc.Code, math.MinInt32), math.MaxInt32)),
			Message: cut(redact(f.rpc.Message), maxMessage), DataJson: redact(string(f.rpc.Data)),
		}
	}
	if f.lost != nil {
		u.ProcessExit = cut(f.lost.Exit, maxTailLine)
		if a.exposeStderr {
			tail := f.lost.Stderr[max(0, len(f.lost.Stderr)-maxTailLines):]
			for _, line := range tail {
				u.StderrTail = append(u.StderrTail, cut(redact(line), maxTailLine))
			}
		}
	}
	return u
}

// A status is what goes out, before it is one.
type status struct {
	message string
	details []proto.Message
	up      *mcpbridgev1.UpstreamError // one of details; nil: no server had a part
}

// size is what the status costs: its bytes as a google.rpc.Status, and by how
// much percent-encoding makes the message's second copy longer.
func (s *status) size() int {
	const tags = 2 * 4 // of a field of less than 16 KiB, and of code
	n := tags + len(s.message)
	for _, d := range s.details {
		url := len("type.googleapis.com/") + len(d.ProtoReflect().Descriptor().FullName())
		n += proto.Size(d) + url + 3*4
	}
	odd := 0
	for i := range len(s.message) {
		if c := s.message[i]; c < ' ' || c > '~' || c == '%' {
			odd += 2
		}
	}
	return n + odd*3/4 // base64 makes four bytes of three
}

// shrink makes a status fit: first the server's own data goes, then its message
// is cut, for it stands in the status's, then the tail of standard error, then
// metadata, and the message at last.
func (s *status) shrink(info *errdetails.ErrorInfo) {
	var rpc *mcpbridgev1.JsonRpcError
	if s.up != nil {
		rpc = s.up.JsonrpcError
	}
	for step := 0; s.size() > maxStatus; step++ {
		switch step {
		case 0:
			if rpc != nil && rpc.DataJson != "" {
				rpc.DataJson, rpc.DataOmitted = "", true
			}
		case 1:
			if rpc != nil {
				rpc.Message = cut(rpc.Message, short)
			}
		case 2:
			if s.up != nil {
				s.up.StderrTail = nil
			}
		case 3:
			for k, v := range info.Metadata {
				info.Metadata[k] = cut(v, short)
			}
		case 4:
			s.message = cut(s.message, short)
		default:
			return
		}
	}
}

// cut shortens a text to at most n bytes, between characters.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	const more = "…"
	i := n - len(more)
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return s[:i] + more
}
