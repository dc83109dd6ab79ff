package mcp

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpbridge/mcp-bridge/internal/mcp/jsonrpc"
)

// A discovery is the result of server/discover.
type discovery struct {
	Versions     []string
	Capabilities []byte
	ServerInfo   []byte
	Instructions string
	Meta         []byte
	raw          []byte
}

// discoverAs opens a session with a server that is known to be modern, in one
// revision.
func (c *Client) discoverAs(ctx context.Context, version string) error {
	e := newModernEra(version, &c.o)
	c.setEra(e)
	res, err := c.do(ctx, &Request{Method: methodDiscover}, e)
	var se *ServerError
	if errors.As(err, &se) && se.RPC.Code == jsonrpc.UnsupportedProtocolVersion {
		return &VersionError{Server: supportedVersions(se.RPC.Data), Only: version}
	}
	if err != nil {
		return err
	}
	d, err := readDiscover(&res)
	if err != nil {
		return err
	}
	if len(d.Versions) == 0 {
		return protocolErrorf("the result of server/discover has no supportedVersions")
	}
	if !slices.Contains(d.Versions, version) {
		return &VersionError{Server: d.Versions, Only: version}
	}
	c.adopt(d, version)
	return nil
}

// adopt makes the session a modern one.
func (c *Client) adopt(d *discovery, version string) {
	c.info = Info{
		Era: EraModern, Version: version, Capabilities: d.Capabilities, ServerInfo: d.ServerInfo,
		Instructions: d.Instructions, Meta: d.Meta, Result: d.raw,
		Verdict: Hint{Era: EraModern, Version: version},
	}
	c.caps = readCapabilities(d.Capabilities)
	c.setEra(newModernEra(version, &c.o))
}

// mutual is the newest modern revision that both speak.
func (c *Client) mutual(versions []string) (string, bool) {
	for _, v := range modernVersions {
		if slices.Contains(versions, v) && c.o.wants(v) {
			return v, true
		}
	}
	return "", false
}

func readDiscover(res *Result) (*discovery, error) {
	var v struct {
		Versions     []string       `json:"supportedVersions"`
		Capabilities jsontext.Value `json:"capabilities"`
		ServerInfo   jsontext.Value `json:"serverInfo"` // early builds
		Instructions jsontext.Value `json:"instructions"`
		Meta         jsontext.Value `json:"_meta"`
	}
	err := res.Read(func(b []byte) error { return json.Unmarshal(b, &v, jsontext.AllowDuplicateNames(true)) })
	if err != nil {
		return nil, err
	}
	d := &discovery{
		Versions: v.Versions, Capabilities: notNull(v.Capabilities), ServerInfo: notNull(v.ServerInfo),
		Instructions: text(v.Instructions), Meta: notNull(v.Meta), raw: res.Payload,
	}
	var m struct {
		Info jsontext.Value `json:"io.modelcontextprotocol/serverInfo"`
	}
	if len(d.Meta) > 0 && json.Unmarshal(d.Meta, &m, jsontext.AllowDuplicateNames(true)) == nil && notNull(m.Info) != nil {
		d.ServerInfo = m.Info
	}
	return d, nil
}
