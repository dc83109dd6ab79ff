package typed

import (
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// serverInfoKey is where a 2026-07-28 server says its name (§basic, _meta).
const serverInfoKey = "io.modelcontextprotocol/serverInfo"

// tasksExtension is the identifier of the tasks extension.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Initialize reads the result of initialize. Capabilities that are absent or
// null stay nil: the server said nothing.
func (d Decoder) Initialize(result []byte) (*v1.InitializeResponse, error) {
	res := &v1.InitializeResponse{Server: d.Server}
	extra, err := d.body(result, func(r *reader, o *object) {
		switch o.Name {
		case "protocolVersion":
			r.took(o, r.str(&res.ProtocolVersion))
		case "capabilities":
			r.took(o, r.capabilities(&res.Capabilities))
		case "serverInfo":
			r.took(o, r.implementation(&res.ServerInfo))
		case "instructions":
			r.took(o, r.str(&res.Instructions))
		case "_meta":
			r.took(o, r.jsonObject(&res.Meta))
		default:
			r.keep(o)
		}
	})
	if err != nil {
		return nil, err
	}
	res.ExtraJson = extra
	return res, nil
}

// Discovery is the result of server/discover.
type Discovery struct {
	SupportedVersions []string
	Capabilities      *v1.ServerCapabilities // nil: the server said nothing
	ServerInfo        *v1.Implementation     // nil: not said
	Instructions      string
	Cache             *v1.CacheHint
	Meta              *v1.Json
	ExtraJSON         string
}

// Discover reads the result of server/discover. Who the server is it may say in
// _meta or, as early ones did, beside it.
func (d Decoder) Discover(result []byte) (*Discovery, error) {
	res := &Discovery{}
	var f frame
	var meta []byte
	extra, err := d.body(result, func(r *reader, o *object) {
		switch o.Name {
		case "supportedVersions":
			r.took(o, r.strs(&res.SupportedVersions))
		case "capabilities":
			r.took(o, r.capabilities(&res.Capabilities))
		case "serverInfo":
			r.took(o, r.implementation(&res.ServerInfo))
		case "instructions":
			r.took(o, r.str(&res.Instructions))
		default:
			r.inCacheable(o, &f)
			if o.Name == "_meta" && f.meta != nil {
				meta = r.Slice(o.val.Offset(), r.Offset())
			}
		}
	})
	if err == nil {
		err = f.complete()
	}
	if err != nil {
		return nil, err
	}
	if info := d.ServerInfo(meta); info != nil {
		res.ServerInfo = info
	}
	res.Cache, res.Meta, res.ExtraJSON = f.cache, f.meta, extra
	return res, nil
}

// ServerInfo reads what a 2026-07-28 server says of itself in the _meta of any
// result; nil where it does not.
func (d Decoder) ServerInfo(meta []byte) (info *v1.Implementation) {
	if len(meta) == 0 {
		return nil
	}
	_, err := d.body(meta, func(r *reader, o *object) {
		if o.Name != serverInfoKey || r.implementation(&info) == no {
			r.Skip()
		}
	})
	if err != nil {
		return nil
	}
	return info
}

// Implementation reads an Implementation.
func (d Decoder) Implementation(text []byte) (*v1.Implementation, error) {
	return whole(d, text, (*reader).implementation)
}

// ServerCapabilities reads a capabilities object.
func (d Decoder) ServerCapabilities(text []byte) (*v1.ServerCapabilities, error) {
	return whole(d, text, (*reader).capabilities)
}

// capabilities needs no extra_json: it has all in raw.
func (r *reader) capabilities(dst **v1.ServerCapabilities) fit {
	r.Peek()
	start := r.Offset()
	o, f := r.open()
	if f != yes {
		return f
	}
	c := &v1.ServerCapabilities{}
	for r.next(&o) {
		switch o.Name {
		case "tools":
			r.capability(&c.Tools, map[string]*bool{"listChanged": &c.ToolsListChanged})
		case "resources":
			r.capability(&c.Resources, map[string]*bool{"listChanged": &c.ResourcesListChanged, "subscribe": &c.ResourcesSubscribe})
		case "prompts":
			r.capability(&c.Prompts, map[string]*bool{"listChanged": &c.PromptsListChanged})
		case "completions":
			r.capability(&c.Completions, nil)
		case "logging":
			r.capability(&c.Logging, nil)
		case "tasks":
			r.capability(&c.Tasks, nil)
		case "extensions":
			r.extensions(c)
		default:
			r.Skip()
		}
	}
	if r.Err() == nil {
		c.Raw = r.newJSON(r.Slice(start, r.Offset()))
	}
	*dst = c
	return yes
}

// capability reads one capability. Anything but null and false means that the
// server has it; its object may say more.
func (r *reader) capability(has *bool, more map[string]*bool) {
	switch r.Peek() {
	case jsonscan.Null:
		r.ReadNull()
	case jsonscan.Bool:
		*has = r.ReadBool()
	case jsonscan.Object:
		*has = true
		o, _ := r.open()
		for r.next(&o) {
			dst := more[o.Name]
			if dst == nil || r.boolean(dst) == no {
				r.Skip()
			}
		}
	default:
		*has = true
		r.Skip()
	}
}

func (r *reader) extensions(c *v1.ServerCapabilities) {
	o, f := r.open()
	if f == no {
		r.Skip()
	}
	if f != yes {
		return
	}
	c.Extensions = map[string]*v1.Json{}
	for r.next(&o) {
		var settings *v1.Json
		if r.any(&settings) == yes && settings != nil {
			c.Extensions[o.Name] = settings
			c.Tasks = c.Tasks || o.Name == tasksExtension
		}
	}
}
