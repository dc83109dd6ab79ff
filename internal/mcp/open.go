package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// A Hint is what is known of a server from an earlier link.
type Hint struct {
	Era Era
	// Version is the modern revision that both speak; empty for legacy.
	Version string
	// Provisional: the server did not answer the probe, which is no proof.
	Provisional bool
}

// closeGrace bounds the gentle part of closing a link that nobody will use.
const closeGrace = 5 * time.Second

// Open finds out which era the server speaks, unless it is known, and opens a
// session on conn. On success the Client owns conn; on failure conn is closed.
//
// Besides the errors of Do, it returns *ProbeCrashError (dial again, with a
// Hint), *WrongBindingError (try another transport), and *VersionError. Where
// ctx ended first, the phase of the *InterruptedError is PhaseStart.
func Open(ctx context.Context, conn transport.Conn, o Options) (*Client, error) {
	c, err := newClient(conn, o).start(ctx)
	if err == nil && !c.binding.Shared && c.info.Era == EraLegacy {
		c.side.start(c.listenPrivate)
	}
	return c, err
}

// start opens the session. On failure the link is closed.
func (c *Client) start(ctx context.Context) (*Client, error) {
	if c.binding.Shared {
		c.side.start(c.listenShared)
	}
	err := c.open(ctx)
	if err == nil {
		return c, nil
	}
	c.discard(ctx)
	if ctx.Err() != nil && errors.As(err, new(*InterruptedError)) {
		err = &InterruptedError{Phase: PhaseStart, Err: context.Cause(ctx)}
	}
	return nil, err
}

// discard closes a client that nobody will use: gently even where ctx has ended,
// because a child must be told.
func (c *Client) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	_ = c.Close(ctx)
}

// listenShared takes all that comes in, until the link ends, and with it the
// session.
func (c *Client) listenShared() {
	err := c.conn.Listen(c.ctx, c.receiveShared)
	if err == nil {
		err = &transport.LostError{}
	}
	c.end(err, true)
	c.cancel(err)
}

// listenPrivate takes what belongs to no exchange. The channel is optional, so
// its end means nothing.
func (c *Client) listenPrivate() {
	err := c.conn.Listen(c.ctx, c.receiveShared)
	if c.ctx.Err() != nil || errors.Is(err, transport.ErrUnsupported) {
		return
	}
	c.o.Log.Debug("the stream for what belongs to no call has ended", "err", err)
	var refused *transport.RefusedError
	if !errors.As(err, &refused) || refused.Status != 404 || !refused.Session {
		return
	}
	// Either the session is forgotten, or the server has no such stream and says
	// so with the wrong status, as web frameworks do by themselves. A request
	// tells which.
	ctx, cancel := context.WithTimeoutCause(c.ctx, sendGrace, errSendGrace)
	defer cancel()
	if err := c.Ping(ctx); errors.Is(err, ErrGone) {
		c.o.Log.Debug("the server has forgotten the session")
	}
}

func (c *Client) open(ctx context.Context) error {
	p := c.o.Protocol
	if p.Version != "" && !KnownVersion(p.Version) {
		return transport.NotSent(fmt.Errorf("unknown protocol revision %q", p.Version))
	}
	switch {
	case p.Era == EraModern:
		version := p.Version
		if version == "" {
			version = modernVersions[0]
		}
		if !c.o.wants(version) {
			return transport.NotSent(&VersionError{Server: []string{version}, Limit: c.o.MaxVersion})
		}
		return c.discoverAs(ctx, version)
	case !c.o.mayBeModern(), c.o.Hint.Era == EraLegacy:
		return c.initialize(ctx, nil)
	}
	return c.probe(ctx)
}

// Ping checks that the server answers: ping, or server/discover where that no
// longer exists.
func (c *Client) Ping(ctx context.Context) error {
	method := methodPing
	if c.info.Era == EraModern {
		method = methodDiscover
	}
	res, err := c.Do(ctx, &Request{Method: method})
	if err != nil {
		return err
	}
	return res.Read(checkJSON)
}

// checkJSON fails where the bytes are not one JSON value.
func checkJSON(b []byte) error {
	if !jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true)) {
		return jsonrpc.ErrInvalidJSON
	}
	return nil
}

func notNull(v jsontext.Value) []byte {
	if string(v) == "null" {
		return nil
	}
	return v
}

// text reads a JSON string; anything else is no text.
func text(v jsontext.Value) string {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
