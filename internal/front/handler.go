package front

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	connect "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectgzip"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect/v2"
)

// Options say how the front behaves. Zero values mean the defaults.
type Options struct {
	Loopback       bool // the listener is on loopback only
	AllowedHosts   []string
	AllowedOrigins []string
	// MaxRequestBytes bounds a request's message; 0: 64 MiB.
	MaxRequestBytes int
	// Compress answers of 16 KiB and more, where the caller offers it.
	Compress     bool
	BodyPatience time.Duration // for each read of a body; 0: 30 s
	SendPatience time.Duration // for each write; 0: 30 s
	// Probes are answered on this port, too: /livez and /readyz.
	Probes bool
	// Ready tells whether the bridge wants traffic.
	Ready func() bool
}

// maxCheckBytes bounds a request for health, which has no limit of its own.
const maxCheckBytes = 64 << 10

// compressFrom is the size from which compression pays.
const compressFrom = 16 << 10

// never is a size that no message has.
const never = math.MaxInt

// NewHandler makes the handler of everything on the port. The service itself is
// registered on server already.
func NewHandler(server *connect.Server, health *Health, o Options) http.Handler {
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = 64 << 20
	}
	if o.BodyPatience <= 0 {
		o.BodyPatience = 30 * time.Second
	}
	if o.SendPatience <= 0 {
		o.SendPatience = 30 * time.Second
	}
	grpcreflect.Register(server)
	options := []connecthttp.Option{
		connecthttp.WithReadMaxBytes(o.MaxRequestBytes),
		connecthttp.WithCompressors(connectgzip.New(connectgzip.WithLevel(1))),
		connecthttp.WithCompressMinBytes(never),
	}
	if o.Compress {
		options[2] = connecthttp.WithCompressMinBytes(compressFrom)
	}
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server, options...)
	path, checks := grpchealth.NewHandler(health.checker)
	mux.Handle(path, http.MaxBytesHandler(checks, maxCheckBytes))
	if o.Probes {
		probes(mux, o.Ready)
	}
	mux.Handle("/", unknown(options))
	guard := &originGuard{allowedOrigins: o.AllowedOrigins, allowedHosts: o.AllowedHosts, checkHost: o.Loopback}
	h := guard.wrap(crossOrigin(o.AllowedOrigins, trailersOnly(mux)))
	return patient(o.BodyPatience, o.SendPatience, h)
}

// NewAdminHandler makes the handler of a port for operators only.
func NewAdminHandler(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	probes(mux, ready)
	return mux
}

// probes answers what container orchestrators ask.
func probes(mux *http.ServeMux, ready func() bool) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ready != nil && !ready() {
			plain(w, http.StatusServiceUnavailable, "not ready\n")
			return
		}
		plain(w, http.StatusOK, "ok\n")
	})
}

// unknown answers RPCs of services that do not exist as such, and everything
// else as not found.
func unknown(options []connecthttp.Option) http.Handler {
	errors := connecthttp.NewErrorWriter(options...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const text = "no such method: "
		switch {
		case r.ProtoMajor == 2 && r.Method == http.MethodPost && isGRPC(r):
			// By one frame, as trailersOnly does for methods that exist.
			h := w.Header()
			h.Set("Content-Type", r.Header.Get("Content-Type"))
			h.Set("Grpc-Status", strconv.Itoa(int(connect.CodeUnimplemented)))
			h.Set("Grpc-Message", url.PathEscape(text+clean(r.URL.Path)))
			return
		case errors.IsSupported(r) && r.Method == http.MethodPost:
			_ = errors.Write(w, r, connect.NewError(connect.CodeUnimplemented, text+clean(r.URL.Path)))
			return
		}
		plain(w, http.StatusNotFound, "mcp-bridge: nothing here. The API is mcpbridge.v1.McpService, as in\n"+
			"  curl -H 'content-type: application/json' -d '{}' http://"+clean(r.Host)+"/mcpbridge.v1.McpService/ListServers\n")
	})
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
