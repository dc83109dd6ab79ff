package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// probe asks server/discover and decides by the answer (2026-07-28 §versioning,
// Backward Compatibility). Only a modern answer is evidence of a modern server;
// the fallback depends on no particular code.
func (c *Client) probe(ctx context.Context) error {
	limit := &transport.TimeoutError{Limit: c.o.ProbeTimeout, Total: true}
	pctx, cancel := context.WithTimeoutCause(ctx, c.o.ProbeTimeout, limit)
	defer cancel()
	r, e := &Request{Method: methodDiscover}, newModernEra(modernVersions[0], &c.o)
	var res Result
	var err error
	if c.binding.Shared {
		var late *lateProbe
		if res, late, err = c.probeShared(pctx, r, e); late != nil && ctx.Err() == nil {
			return c.initialize(ctx, late)
		} else if late != nil {
			late.leave(&c.table)
			err = &InterruptedError{Phase: PhaseWait, Err: context.Cause(ctx)}
		}
	} else {
		res, err = c.do(pctx, r, e)
	}
	switch {
	case err == nil:
		return c.probeAnswered(ctx, &res)
	case ctx.Err() != nil:
		return err
	}
	return c.probeFailed(ctx, err)
}

// probeAnswered decides where the probe has a result.
func (c *Client) probeAnswered(ctx context.Context, res *Result) error {
	d, err := readDiscover(res)
	if errors.As(err, new(*ServerError)) {
		return c.probeFailed(ctx, err)
	}
	if err != nil || len(d.Versions) == 0 {
		return c.initialize(ctx, nil)
	}
	if v, ok := c.mutual(d.Versions); ok {
		c.adopt(d, v)
		return nil
	}
	return c.noneShared(ctx, d.Versions)
}

// probeFailed decides where it has none.
func (c *Client) probeFailed(ctx context.Context, err error) error {
	var se *ServerError
	var st *StatusError
	var ie *InterruptedError
	switch {
	case errors.As(err, &se):
		return c.probeRefused(ctx, se)
	case errors.As(err, &st):
		if s := st.Status; s >= 400 && s < 500 && s != 401 && s != 403 && s != 429 {
			return c.initialize(ctx, nil)
		}
		return err // redirects, authorization, overload, faults: no evidence
	case errors.As(err, &ie) && errors.Is(err, transport.ErrNotSent):
		// Not the time of a caller ran out, but that of the probe.
		return transport.NotSent(fmt.Errorf("server/discover could not be sent within %v", c.o.ProbeTimeout))
	case errors.As(err, &ie): // accepted, but not answered
		err := c.initialize(ctx, nil)
		c.info.Verdict.Provisional = c.info.Era == EraLegacy
		return err
	case isProtocolError(err), isNoReply(err):
		return c.initialize(ctx, nil)
	case c.binding.Shared && isLost(err) && !errors.Is(err, transport.ErrNotSent):
		return &ProbeCrashError{Err: err}
	}
	return err
}

// probeRefused decides where it was answered with a JSON-RPC error.
func (c *Client) probeRefused(ctx context.Context, se *ServerError) error {
	switch se.RPC.Code {
	case jsonrpc.UnsupportedProtocolVersion:
		if versions := supportedVersions(se.RPC.Data); len(versions) > 0 {
			if v, ok := c.mutual(versions); ok {
				return c.discoverAs(ctx, v)
			}
			return c.noneShared(ctx, versions)
		}
	case jsonrpc.HeaderMismatch, jsonrpc.MissingCapability:
		if se.Status == 400 {
			return se // modern, and not content with us
		}
	}
	if se.Status >= 500 {
		return se // no evidence
	}
	return c.initialize(ctx, nil)
}

// noneShared decides where no modern revision is shared: a server that names
// legacy ones too is spoken to in those.
func (c *Client) noneShared(ctx context.Context, versions []string) error {
	if slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(legacyVersions, v) }) {
		return c.initialize(ctx, nil)
	}
	return &VersionError{Server: versions, Limit: c.o.MaxVersion}
}

func isServerError(err error) bool   { return errors.As(err, new(*ServerError)) }
func isStatus(err error) bool        { return errors.As(err, new(*StatusError)) }
func isProtocolError(err error) bool { return errors.As(err, new(*ProtocolError)) }
func isNoReply(err error) bool       { return errors.As(err, new(*transport.NoReplyError)) }
func isLost(err error) bool          { return errors.As(err, new(*transport.LostError)) }
