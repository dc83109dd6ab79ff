package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// Exit statuses.
const (
	StatusOK     = 0
	StatusFailed = 1 // the tool or the server said no
	StatusUsage  = 2 // the command line is wrong
)

// A UsageError means that the command line is wrong.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// A FailedError means that the tool or the server said no. Text has several
// lines; it is empty where all was said already.
type FailedError struct {
	Text string
	Err  error // nil: a tool's own failure
}

func (e *FailedError) Error() string {
	if e.Text == "" {
		return "the tool failed"
	}
	return e.Text
}

func (e *FailedError) Unwrap() error { return e.Err }

// ExitStatus is the exit status for what a subcommand returned.
func ExitStatus(err error) int {
	var wrong *UsageError
	switch {
	case err == nil:
		return StatusOK
	case errors.As(err, &wrong):
		return StatusUsage
	}
	return StatusFailed
}

// Report writes what a subcommand returned to standard error, unless all was said.
func Report(c *Context, err error) {
	var failed *FailedError
	if err == nil || errors.As(err, &failed) && failed.Text == "" {
		return
	}
	st := c.errOut()
	_, _ = io.WriteString(c.Stderr, st.red("error:")+" "+strings.TrimRight(st.clean(err.Error()), "\n")+"\n")
}

// An rpcError is an error of the API, taken apart.
type rpcError struct {
	code     connect.Code
	message  string
	remote   bool // the bridge said it
	reason   string
	metadata map[string]string
	upstream *mcpbridgev1.UpstreamError
	retry    *errdetails.RetryInfo
}

func takeApart(err error) rpcError {
	e := rpcError{code: connect.CodeOf(err), message: err.Error()}
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		return e
	}
	e.remote, e.message = rpc.IsRemote(), rpc.Message()
	for _, d := range rpc.Details() {
		m, err := connectproto.UnmarshalErrorDetail(d)
		if err != nil {
			continue // of a later version
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			e.reason, e.metadata = m.GetReason(), m.GetMetadata()
		case *mcpbridgev1.UpstreamError:
			e.upstream = m
		case *errdetails.RetryInfo:
			e.retry = m
		}
	}
	if e.reason == "" {
		e.reason = e.upstream.GetReason()
	}
	return e
}

// failed makes an error of an RPC one for people; hints say what to do.
func (l *link) failed(err error, hints ...string) error {
	e := takeApart(err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return &FailedError{Err: err, Text: fmt.Sprintf("no bridge at %s: start one with `mcp-bridge serve`, or say with --addr where it is", l.base)}
	case errors.Is(context.Cause(l.ctx), context.DeadlineExceeded) && !e.remote:
		return &FailedError{Err: err, Text: fmt.Sprintf("no answer from %s within --timeout", l.base)}
	case e.code == connect.CodeCanceled && !e.remote:
		return &FailedError{Err: err, Text: "interrupted"}
	case e.reason == "" && e.upstream == nil && (e.code == connect.CodeUnimplemented || e.code == connect.CodeUnknown):
		hints = append(hints, fmt.Sprintf("is that a mcp-bridge of this version at %s?", l.base))
	case !e.remote:
		return &FailedError{Err: err, Text: fmt.Sprintf("cannot reach the bridge at %s: %s", l.base, oneLine(e.message))}
	}
	return &FailedError{Err: err, Text: e.text(hints)}
}

// text tells all that is known.
func (e rpcError) text(hints []string) string {
	var b strings.Builder
	message := e.message
	if message == "" {
		message = codeName(e.code)
	}
	b.WriteString(message)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "\n  %-9s %s", name+":", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n            "))
	}
	code := codeName(e.code)
	if e.reason != "" {
		code += " (" + e.reason + ")"
	}
	line("code", "%s", code)
	u := e.upstream
	if u.GetServer() != "" {
		line("server", "%s", strings.TrimSpace(u.GetServer()+" "+u.GetMethod()))
	}
	if d := deliveryText(u.GetDelivery()); d != "" {
		line("delivery", "%s", d)
	}
	if rpc := u.GetJsonrpcError(); rpc != nil {
		if said := fmt.Sprintf("MCP error %d: %s", rpc.GetCode(), rpc.GetMessage()); said != message {
			line("said", "%s", said)
		}
		if rpc.GetDataJson() != "" {
			line("data", "%s", rpc.GetDataJson())
		}
	}
	if u.GetHttpStatus() != 0 {
		line("HTTP", "status %d", u.GetHttpStatus())
	}
	if u.GetProcessExit() != "" {
		line("process", "%s", u.GetProcessExit())
	}
	if tail := u.GetStderrTail(); len(tail) > 0 {
		line("stderr", "%s", strings.Join(tail, "\n"))
	}
	if phase := e.metadata["phase"]; phase != "" {
		line("phase", "%s", phase)
	}
	if e.retry != nil {
		line("retry", "after %s", e.retry.GetRetryDelay().AsDuration())
	}
	for _, h := range hints {
		if h != "" {
			line("hint", "%s", h)
		}
	}
	return b.String()
}

func codeName(c connect.Code) string {
	if c == connect.CodeCanceled {
		return "CANCELLED" // as gRPC spells it
	}
	return strings.ToUpper(c.String())
}

func deliveryText(d mcpbridgev1.Delivery) string {
	switch d {
	case mcpbridgev1.Delivery_DELIVERY_NOT_SENT:
		return "was not sent: repeating it is safe"
	case mcpbridgev1.Delivery_DELIVERY_SENT:
		return "was sent and not answered: it may have run"
	case mcpbridgev1.Delivery_DELIVERY_ANSWERED:
		return "the server answered"
	}
	return ""
}
