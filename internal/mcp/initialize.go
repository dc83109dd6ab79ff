package mcp

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

// initialize makes the handshake of the legacy era. late is a probe that may
// still be answered; nil: none. A server that refuses and names revisions is
// asked once more, in the era and with the revision that it wants.
func (c *Client) initialize(ctx context.Context, late *lateProbe) error {
	defer late.leave(&c.table)
	version, ok := newestUpTo(legacyVersions, c.o.MaxVersion)
	if c.o.Protocol.Era == EraLegacy && c.o.Protocol.Version != "" {
		version, ok = c.o.Protocol.Version, true
	}
	if !ok {
		return transport.NotSent(&VersionError{Server: legacyVersions, Limit: c.o.MaxVersion})
	}
	res, modern, err := c.askInitialize(ctx, version, late)
	if modern != nil {
		return modern(ctx)
	}
	if want, ok := wanted(err); ok {
		other := c.mutualLegacy(want)
		v, ok := c.mutual(want)
		switch {
		case other != "" && other != version:
			res, _, err = c.askInitialize(ctx, other, nil)
		case ok && c.o.mayBeModern():
			return c.discoverAs(ctx, v)
		default:
			return &VersionError{Server: want, Limit: c.o.MaxVersion, Only: c.o.Protocol.Version}
		}
	}
	if want, ok := wanted(err); ok {
		return &VersionError{Server: want, Limit: c.o.MaxVersion}
	}
	if err != nil {
		return c.initializeFailed(err)
	}
	late.leave(&c.table) // what has come until now counts
	return c.initialized(ctx, &res, late.open())
}

// askInitialize sends initialize. Where it turns out that the server is modern,
// the handshake that it gets instead is returned.
func (c *Client) askInitialize(ctx context.Context, version string, late *lateProbe) (Result, handshake, error) {
	params := append([]byte(nil), `"protocolVersion":"`+version+`","capabilities":`...)
	params = append(params, c.o.capabilities(version)...)
	params = append(append(params, `,"clientInfo":`...), c.o.ClientInfo...)
	r := &Request{Method: methodInitialize, Params: Members(params)}
	if late != nil {
		return c.initializeBeside(ctx, r, late)
	}
	res, err := c.do(ctx, r, handshakeEra{})
	return res, nil, err
}

// A handshake finishes the opening of a session.
type handshake func(context.Context) error

// initialized reads the result of initialize and completes the handshake.
func (c *Client) initialized(ctx context.Context, res *Result, provisional bool) error {
	var v struct {
		Version      string         `json:"protocolVersion"`
		Capabilities jsontext.Value `json:"capabilities"`
		ServerInfo   jsontext.Value `json:"serverInfo"`
		Instructions jsontext.Value `json:"instructions"`
		Meta         jsontext.Value `json:"_meta"`
	}
	err := res.Read(func(b []byte) error { return json.Unmarshal(b, &v, jsontext.AllowDuplicateNames(true)) })
	if err != nil {
		return err
	}
	only := c.o.Protocol.Version
	switch {
	case v.Version == "":
		return protocolErrorf("the result of initialize has no protocolVersion")
	case !slices.Contains(legacyVersions, v.Version), !c.o.wants(v.Version), only != "" && v.Version != only:
		return &VersionError{Server: []string{v.Version}, Limit: c.o.MaxVersion, Only: only}
	}
	c.info = Info{
		Era: EraLegacy, Version: v.Version, Capabilities: notNull(v.Capabilities), ServerInfo: notNull(v.ServerInfo),
		Instructions: text(v.Instructions), Meta: notNull(v.Meta), Result: res.Payload,
		Verdict: Hint{Era: EraLegacy, Provisional: provisional},
	}
	c.caps = readCapabilities(v.Capabilities)
	if v.Version == Version20241105 && c.caps.known {
		c.caps.has["completions"] = true // had no capability of its own then
	}
	e := &legacyEra{version: v.Version}
	c.setEra(e)
	// At once: some servers refuse whatever comes between (2025-11-25 §lifecycle).
	err = c.notify(ctx, &Request{Method: notificationInitialized}, e)
	if errors.Is(err, ErrGone) || !isServerError(err) && !isStatus(err) {
		return err
	}
	c.o.Log.Warn("the server refused notifications/initialized", "err", err)
	return nil
}

// wanted gives the revisions that a server names when it refuses ours: by
// -32022, or, before there was that, by -32602. Where -32022 names none, it is
// the modern ones that were meant, because only they have that code.
func wanted(err error) ([]string, bool) {
	var se *ServerError
	if !errors.As(err, &se) {
		return nil, false
	}
	v := supportedVersions(se.RPC.Data)
	switch se.RPC.Code {
	case jsonrpc.UnsupportedProtocolVersion:
		if len(v) == 0 {
			v = modernVersions
		}
		return v, true
	case jsonrpc.InvalidParams:
		return v, len(v) > 0
	}
	return nil, false
}

// mutualLegacy is the newest legacy revision among versions that may be used;
// empty: none.
func (c *Client) mutualLegacy(versions []string) string {
	for _, v := range legacyVersions {
		if slices.Contains(versions, v) && c.o.wants(v) && (c.o.Protocol.Version == "" || v == c.o.Protocol.Version) {
			return v
		}
	}
	return ""
}

// initializeFailed says what a failed handshake means.
func (c *Client) initializeFailed(err error) error {
	if c.binding.Shared {
		return err
	}
	var st *StatusError
	if errors.As(err, &st) {
		switch st.Status {
		case 400, 404, 405:
			return &WrongBindingError{Err: err}
		}
	}
	var se *ServerError
	if errors.As(err, &se) && (se.Status == 404 || se.Status == 405) {
		return &WrongBindingError{Err: err}
	}
	return err
}

// supportedVersions reads data.supported of a refusal of the revision.
func supportedVersions(data []byte) []string {
	var v struct {
		Supported []string `json:"supported"`
	}
	if len(data) == 0 || json.Unmarshal(data, &v, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return v.Supported
}
