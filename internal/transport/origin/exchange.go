package origin

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

const (
	// What a server still sends after the answer is waited for so long and so far,
	// because a connection whose answer was not read to its end is lost.
	drainTime  = 100 * time.Millisecond
	drainBytes = 64 << 10
	// maxDrains bounds how many answers are read to their end at once. Beyond it a
	// connection is cheaper than a goroutine.
	maxDrains = 64
	// smallBody is up to which size a body is copied rather than guarded: net/http
	// may hold on to it after the exchange.
	smallBody = 32 << 10
)

// An Exchange is one request and its answer. It is used by one goroutine. Each
// ends with End or Drain.
//
// Its request does not run under the caller's context itself but follows it:
// what is left of an answer may still be read when the caller has gone.
type Exchange struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // stops following the caller's context
	resp   *http.Response
	sent   sent
	body   *payload
}

// Begin begins an exchange. Its error wraps transport.ErrNotSent.
func (c *Client) Begin(ctx context.Context) (*Exchange, error) {
	if ctx.Err() != nil {
		return nil, transport.NotSent(context.Cause(ctx))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil, transport.NotSent(transport.ErrClosed)
	}
	x := c.begin(ctx)
	c.live[x] = struct{}{}
	return x, nil
}

func (c *Client) begin(ctx context.Context) *Exchange {
	x := &Exchange{c: c}
	x.ctx, x.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	x.stop = context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })
	x.sent.trace.GotConn = x.sent.gotConn
	x.ctx = httptrace.WithClientTrace(x.ctx, &x.sent.trace)
	return x
}

// Do sends a request and returns what the server answered, which may be any
// status but a redirect within the origin. The headers are used as they are.
// The answer's body belongs to the exchange.
//
// Its error is the cause of the exchange's end, a *transport.LostError, or a
// *transport.RefusedError for a redirect that is not followed.
func (x *Exchange) Do(method string, to *url.URL, h http.Header, body []byte) (*http.Response, error) {
	for hop := 0; ; hop++ {
		resp, err := x.once(method, to, h, body)
		if err != nil {
			return nil, x.failed(err, hop > 0)
		}
		next, err := redirect(method, to, resp, hop)
		if err != nil {
			x.drop(resp)
			return nil, err
		}
		if next == nil {
			x.resp = resp
			return resp, nil
		}
		x.drop(resp)
		to = next
	}
}

// once makes one request, and another one if a connection from before has
// turned out to be dead before anything was written to it.
func (x *Exchange) once(method string, to *url.URL, h http.Header, body []byte) (*http.Response, error) {
	resp, err := x.try(method, to, h, body)
	if err != nil && x.sent.staleConn() && x.ctx.Err() == nil {
		return x.try(method, to, h, body)
	}
	return resp, err
}

func (x *Exchange) try(method string, to *url.URL, h http.Header, body []byte) (*http.Response, error) {
	x.sent.reset()
	r := (&http.Request{
		Method: method, URL: to, Host: x.c.host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(x.ctx)
	x.body.detach()
	x.body = nil
	switch {
	case body == nil:
	case len(body) <= smallBody:
		// Of this form of body net/http knows that it needs no packet of its own.
		r.Body = io.NopCloser(bytes.NewReader(bytes.Clone(body)))
	default:
		x.body = &payload{b: body}
		r.Body = x.body
	}
	r.ContentLength = int64(len(body))
	// No GetBody: with it net/http would repeat a POST by itself.
	return x.c.rt.RoundTrip(r)
}

// drop gives an answer up that only told where to go.
func (x *Exchange) drop(resp *http.Response) {
	late := time.AfterFunc(drainTime, func() { resp.Body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	resp.Body.Close()
}

// failed says what a failed round trip means. After a redirect the server has
// seen the request, whatever became of the next one.
func (x *Exchange) failed(err error, redirected bool) error {
	unsent := !redirected && x.sent.certainlyNot()
	switch {
	case x.ctx.Err() != nil:
		err = context.Cause(x.ctx)
	case unsent:
		err = &connectError{&transport.LostError{Err: err}}
	default:
		err = &transport.LostError{Err: err}
	}
	if unsent {
		return transport.NotSent(err)
	}
	return err
}

// connectError is a loss that happened before there was a connection to lose.
type connectError struct{ lost *transport.LostError }

func (e *connectError) Error() string { return "cannot connect: " + e.lost.Err.Error() }
func (e *connectError) Unwrap() error { return e.lost }

// Broken says what an error in the middle of an answer means: the cause of the
// exchange's end, or a *transport.LostError.
func (x *Exchange) Broken(err error) error {
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	return &transport.LostError{Err: err}
}

// Abort makes everything that the exchange waits for end with cause. It may be
// called from any goroutine.
func (x *Exchange) Abort(cause error) { x.cancel(cause) }

// End ends the exchange at once. If the answer was not read to its end, that
// hangs up, which tells the server.
func (x *Exchange) End() {
	x.stop()
	x.finish()
}

func (x *Exchange) finish() {
	x.body.detach()
	x.cancel(context.Canceled)
	if x.resp != nil {
		x.resp.Body.Close()
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	delete(x.c.live, x)
}

// Drain ends the exchange as End does, but gives the rest of the answer a short
// time to come, without the caller. The connection can then be used again.
func (x *Exchange) Drain() {
	x.stop()
	x.body.detach()
	if x.resp == nil || x.resp.Body == http.NoBody || !x.c.beginDrain() {
		x.finish()
		return
	}
	go func() {
		defer x.c.endDrain()
		late := time.AfterFunc(drainTime, func() { x.cancel(context.DeadlineExceeded) })
		defer late.Stop()
		_, _ = io.CopyN(io.Discard, x.resp.Body, drainBytes)
		x.finish()
	}()
}

func (c *Client) beginDrain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.draining == maxDrains {
		return false
	}
	c.draining++
	c.drains.Add(1)
	return true
}

func (c *Client) endDrain() {
	c.mu.Lock()
	c.draining--
	c.mu.Unlock()
	c.drains.Done()
}
