//go:build unix

package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/anypb"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// A fault is an error of the bridge, whatever the client.
type fault struct {
	code     connect.Code
	message  string
	info     *errdetails.ErrorInfo
	upstream *mcpbridgev1.UpstreamError
	retry    *errdetails.RetryInfo
}

func (f *fault) Error() string {
	return fmt.Sprintf("%v %s %v: %s", f.code, f.info.GetReason(), f.upstream.GetDelivery(), f.message)
}

func (f *fault) add(d *anypb.Any) {
	m, err := d.UnmarshalNew()
	if err != nil {
		f.message += " [a detail that can't be read: " + err.Error() + "]"
		return
	}
	switch m := m.(type) {
	case *errdetails.ErrorInfo:
		f.info = m
	case *mcpbridgev1.UpstreamError:
		f.upstream = m
	case *errdetails.RetryInfo:
		f.retry = m
	}
}

func connectFault(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return &fault{code: connect.CodeOf(err), message: err.Error()}
	}
	f := &fault{code: e.Code(), message: e.Message()}
	for _, d := range e.Details() {
		f.add(connectproto.ErrorDetailToAny(d))
	}
	return f
}

// cutShort reports whether the client gave up by itself, before the bridge's
// error reached it. On a busy machine the bridge's head start may be too short.
func (f *fault) cutShort() bool {
	return f.code == connect.CodeDeadlineExceeded && f.info == nil
}

const (
	notSent  = mcpbridgev1.Delivery_DELIVERY_NOT_SENT
	sent     = mcpbridgev1.Delivery_DELIVERY_SENT
	answered = mcpbridgev1.Delivery_DELIVERY_ANSWERED
)

// A want is what an error must be; what is left out is not looked at.
type want struct {
	code     connect.Code
	reason   string
	delivery mcpbridgev1.Delivery
	says     []string // parts of the message
}

// check compares, and returns the error for a closer look.
func (w want) check(t *testing.T, err error) *fault {
	t.Helper()
	var f *fault
	switch {
	case err == nil:
		t.Errorf("no error, want %v %s", w.code, w.reason)
		return &fault{}
	case !errors.As(err, &f):
		t.Errorf("%T %v, want an error of the bridge", err, err)
		return &fault{}
	}
	if f.cutShort() && w.code == connect.CodeDeadlineExceeded {
		t.Logf("the client's own clock was faster than the details: %v", f)
		return f
	}
	if f.code != w.code || w.reason != "" && f.info.GetReason() != w.reason {
		t.Errorf("got %v\nwant %v %s", f, w.code, w.reason)
	}
	if w.delivery != 0 && f.upstream.GetDelivery() != w.delivery {
		t.Errorf("delivery is %v, want %v (%v)", f.upstream.GetDelivery(), w.delivery, f)
	}
	if f.info != nil && f.info.Domain != "mcpbridge" {
		t.Errorf("domain is %q", f.info.Domain)
	}
	if f.upstream != nil && f.upstream.Reason != f.info.GetReason() {
		t.Errorf("reason is %q in UpstreamError and %q in ErrorInfo", f.upstream.Reason, f.info.GetReason())
	}
	for _, part := range w.says {
		if !strings.Contains(f.message, part) {
			t.Errorf("the message lacks %q: %s", part, f.message)
		}
	}
	if len(f.message) > 1<<10 {
		t.Errorf("the message has %d bytes", len(f.message))
	}
	return f
}
