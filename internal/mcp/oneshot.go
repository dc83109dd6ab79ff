package mcp

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// Once makes a single request to a server and keeps nothing: no session, and no
// stream for what belongs to no call. A server known to be modern, by
// Options.Protocol or a Hint that is not provisional, sees one request and no
// more; any other is opened first.
//
// envelope is the server's JSON-RPC response as it came, valid JSON. There is one
// with a *ServerError, too. info is nil where the session could not be opened.
func Once(ctx context.Context, dial transport.Dialer, o Options, r *Request) (envelope []byte, info *Info, err error) {
	c, err := openOnce(ctx, dial, o)
	var crash *ProbeCrashError
	if errors.As(err, &crash) {
		o.Hint = Hint{Era: EraLegacy}
		c, err = openOnce(ctx, dial, o)
	}
	if err != nil {
		return nil, nil, err
	}
	defer c.discard(ctx)
	envelope, err = c.doRaw(ctx, r)
	info = new(Info)
	*info = c.info
	return envelope, info, err
}

// openOnce opens a link for one request.
func openOnce(ctx context.Context, dial transport.Dialer, o Options) (*Client, error) {
	conn, err := dial.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := newClient(conn, o)
	version, ok := c.knownModern()
	if !ok {
		return c.start(ctx)
	}
	if c.binding.Shared {
		c.side.start(c.listenShared)
	}
	c.info = Info{Era: EraModern, Version: version, Verdict: Hint{Era: EraModern, Version: version}}
	c.setEra(newModernEra(version, &c.o))
	return c, nil
}

// knownModern gives the revision of a server that need not be asked for it.
func (c *Client) knownModern() (string, bool) {
	version := modernVersions[0]
	switch p, h := c.o.Protocol, c.o.Hint; {
	case p.Era == EraModern && p.Version != "":
		version = p.Version
	case p.Era == EraModern:
	case p.Era == EraUnknown && h.Era == EraModern && !h.Provisional:
		if h.Version != "" {
			version = h.Version
		}
	default:
		return "", false
	}
	return version, slices.Contains(modernVersions, version) && c.o.wants(version)
}

// doRaw is Do for who wants the response as text.
func (c *Client) doRaw(ctx context.Context, r *Request) ([]byte, error) {
	res, err := c.Do(ctx, r)
	var se *ServerError
	switch {
	case errors.As(err, &se):
		return errorEnvelope(&res, se), err
	case err != nil:
		return nil, err
	}
	if err := res.Read(checkJSON); errors.As(err, &se) {
		return res.Envelope(), err
	} else if err != nil {
		return nil, err
	}
	if checkJSON(res.Envelope()) != nil { // valid where it was looked at, broken around it
		return nil, res.invalid(jsonrpc.ErrInvalidJSON.Error())
	}
	return res.Envelope(), nil
}

// errorEnvelope is the response that an error came in.
func errorEnvelope(res *Result, se *ServerError) []byte {
	if b := res.Envelope(); b != nil {
		return b
	}
	return se.body
}
