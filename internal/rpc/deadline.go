package rpc

import (
	"context"
	"strconv"
	"time"

	connect "connectrpc.com/connect/v2"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// headStart is by how much the bridge gives up before the caller's deadline, so
// that the error's details still reach him: a tenth of the time, at most 50 ms.
func headStart(left time.Duration) time.Duration {
	return min(50*time.Millisecond, left/10)
}

// bound bounds a request by the caller's deadline, or by the server's timeout
// where he set none. With extend, a clock is returned that progress restarts.
func bound(ctx context.Context, o *upstream.Options, extend bool) (context.Context, context.CancelFunc, *transport.Clock) {
	end, has := ctx.Deadline()
	left := time.Duration(0)
	if has {
		left = time.Until(end)
	}
	if extend {
		stop := context.CancelFunc(func() {})
		if has {
			ctx, stop = context.WithTimeoutCause(ctx, left-headStart(left), &transport.TimeoutError{Limit: wished(ctx, left), Total: true})
		}
		clock := &transport.Clock{Idle: o.Timeout, Total: o.MaxTimeout}
		ctx, unbind := clock.Bind(ctx)
		return ctx, func() { unbind(); stop() }, clock
	}
	limit, wait := o.Timeout, o.Timeout
	if has {
		limit, wait = wished(ctx, left), left-headStart(left)
	}
	if o.MaxTimeout > 0 && (wait > o.MaxTimeout || wait <= 0 && !has) {
		limit, wait = o.MaxTimeout, o.MaxTimeout
	}
	if wait <= 0 && !has {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, &transport.TimeoutError{Limit: limit})
	return ctx, cancel, nil
}

// wished is the caller's timeout as he gave it, for people: what is left of it
// when it is looked at is a number that he has never seen.
func wished(ctx context.Context, left time.Duration) time.Duration {
	if d := given(ctx); d > 0 {
		return d
	}
	return max(left.Round(time.Millisecond), 0)
}

// given reads the timeout that came with the RPC; 0: none, or not readable.
func given(ctx context.Context) time.Duration {
	info, ok := connect.CallInfoForServerContext(ctx)
	if !ok {
		return 0
	}
	var value string
	unit := time.Millisecond
	if info.Protocol == connect.ProtocolNameConnect {
		value = info.RequestHeader().Get("Connect-Timeout-Ms")
	} else if value = info.RequestHeader().Get("Grpc-Timeout"); value != "" {
		last := len(value) - 1
		value, unit = value[:last], grpcUnit(value[last])
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > 1e10 || unit == 0 || n > int64(1<<63-1)/int64(unit) {
		return 0
	}
	return (time.Duration(n) * unit).Round(time.Millisecond)
}

// grpcUnit is the unit of a grpc-timeout; 0: none.
func grpcUnit(c byte) time.Duration {
	switch c {
	case 'n':
		return time.Nanosecond
	case 'u':
		return time.Microsecond
	case 'm':
		return time.Millisecond
	case 'S':
		return time.Second
	case 'M':
		return time.Minute
	case 'H':
		return time.Hour
	}
	return 0
}
