package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	connect "connectrpc.com/connect/v2"

	"github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1/mcpbridgev1connect"
	"github.com/mcpbridge/mcp-bridge/internal/config"
	"github.com/mcpbridge/mcp-bridge/internal/front"
	"github.com/mcpbridge/mcp-bridge/internal/guard"
	"github.com/mcpbridge/mcp-bridge/internal/rpc"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

// Options are what Run needs.
type Options struct {
	Config    *config.Config
	ReadyFile string // gets the base URL once everything listens; empty: none
	Version   string
	Exe       string   // our own binary, for the guard
	Environ   []string // of which children inherit what their server allows
	CacheDir  string   // empty: nothing is kept on disk
	Log       *slog.Logger
}

type daemon struct {
	o        Options
	log      *slog.Logger
	loopback bool
	dialing  dialing
	guard    *guard.Guard
	set      *upstream.Set
}

// closeGrace is what the ending of children may take beyond their own graces.
const closeGrace = 10 * time.Second

// Run serves until ctx ends, then drains: no new work, streams end, calls in
// flight get the grace of the configuration, and every child is gone when it
// returns. When now ends, it does not wait for calls.
func Run(ctx, now context.Context, o Options) error {
	d := &daemon{o: o, log: o.Log}
	listener, err := net.Listen("tcp", o.Config.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.Config.Listen, err)
	}
	defer listener.Close()
	d.loopback = isLoopback(listener.Addr())
	if err := d.build(); err != nil {
		return err
	}
	defer d.guard.Close()

	draining, drain := context.WithCancel(context.Background())
	defer drain()
	health := front.NewHealth(mcpbridgev1connect.McpServiceName)
	endAdmin, err := d.serveAdmin(d.ready(draining))
	if err != nil {
		return err
	}
	defer endAdmin() // last: until then /readyz says that the bridge is ending
	srv := front.NewServer(d.handler(draining, health), slog.NewLogLogger(d.log.Handler(), slog.LevelDebug))
	served := make(chan error, 1)
	go func() { served <- d.serve(srv, listener) }()

	base := d.baseURL(listener.Addr())
	if err := writeReady(o.ReadyFile, base); err != nil {
		d.log.Error("the ready file can't be written", "err", err)
	}
	d.log.Info("listening", "url", base, "servers", strings.Join(d.set.Names(), " "), "version", o.Version)
	d.startEager()

	select {
	case <-ctx.Done():
	case err = <-served:
	}
	removeReady(o.ReadyFile)
	d.log.Info("draining", "grace", o.Config.ShutdownGrace)
	health.Drain()
	drain()
	d.drain(now, srv)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	d.log.Info("ended")
	return err
}

// build makes the servers.
func (d *daemon) build() error {
	d.guard = guard.New(guard.Options{Exe: d.o.Exe, Args: []string{"guard"}, Log: d.log})
	d.dialing = dialing{environ: d.o.Environ, guard: d.guard, userAgent: "mcp-bridge/" + d.o.Version, log: d.log}
	var all []*upstream.Upstream
	for i := range d.o.Config.Servers {
		u, err := d.newUpstream(&d.o.Config.Servers[i])
		if err != nil {
			return err
		}
		all = append(all, u)
	}
	d.set = upstream.NewSet(all)
	return nil
}

// handler makes what answers on the port.
func (d *daemon) handler(draining context.Context, health *front.Health) http.Handler {
	c := d.o.Config
	service := rpc.New(rpc.Options{
		Servers: d.set, Redact: d.redactor(), MaxPages: c.MaxPages, MaxItems: c.MaxItems,
		WatchBuffer: c.WatchBuffer, Draining: draining, Log: d.log,
	})
	server := connect.NewServer()
	service.Register(server)
	return front.NewHandler(server, health, front.Options{
		Loopback: d.loopback, AllowedHosts: c.AllowedHosts, AllowedOrigins: c.CORS.AllowedOrigins,
		Compress: c.Compression == "auto" && !d.loopback,
		Probes:   c.AdminListen == "",
		Ready:    d.ready(draining),
	})
}

// ready tells whether the bridge wants traffic.
func (d *daemon) ready(draining context.Context) func() bool {
	return func() bool { return draining.Err() == nil && d.eagerReady() }
}

// serveAdmin serves the probes on a port of their own, if the configuration
// gives them one. What it returns ends that, and waits.
func (d *daemon) serveAdmin(ready func() bool) (end func(), err error) {
	address := d.o.Config.AdminListen
	if address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("admin_listen: listen on %s: %w", address, err)
	}
	srv := front.NewServer(front.NewAdminHandler(ready), slog.NewLogLogger(d.log.Handler(), slog.LevelDebug))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // until end
	}()
	d.log.Info("listening for probes", "url", "http://"+l.Addr().String())
	return func() {
		_ = srv.Close()
		<-done
	}, nil
}

func (d *daemon) serve(srv *http.Server, l net.Listener) error {
	if t := d.o.Config.TLS; t.CertFile != "" {
		return srv.ServeTLS(l, t.CertFile, t.KeyFile)
	}
	return srv.Serve(l)
}

// drain lets calls in flight end, then ends everything.
func (d *daemon) drain(now context.Context, srv *http.Server) {
	calls, cancel := context.WithTimeout(now, d.o.Config.ShutdownGrace)
	if err := srv.Shutdown(calls); err != nil {
		d.log.Warn("calls in flight are cut off", "err", err)
		_ = srv.Close()
	}
	cancel()
	ending, cancel := context.WithTimeout(now, closeGrace)
	defer cancel()
	d.set.Close(ending)
}

func (d *daemon) startEager() {
	for i, s := range d.o.Config.Servers {
		if s.Eager {
			d.set.All()[i].Shared().Want()
		}
	}
}

// eagerReady reports whether the servers that are started with the bridge are.
func (d *daemon) eagerReady() bool {
	for i, s := range d.o.Config.Servers {
		if s.Eager && d.set.All()[i].Shared().Status().State != upstream.Ready {
			return false
		}
	}
	return true
}

// redactor removes the configured secrets from text that callers will see.
func (d *daemon) redactor() func(string) string {
	var pairs []string
	for _, s := range d.o.Config.Servers {
		for _, secret := range s.Secrets() {
			if len(secret) >= 4 {
				pairs = append(pairs, secret, "[redacted]")
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// baseURL is the URL that a caller on this machine can use.
func (d *daemon) baseURL(a net.Addr) string {
	scheme := "http"
	if d.o.Config.TLS.CertFile != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return scheme + "://" + a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// writeReady writes the base URL as a whole: who sees the file sees all of it.
func writeReady(file, base string) error {
	if file == "" {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ready-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(base + "\n")
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

func removeReady(file string) {
	if file != "" {
		_ = os.Remove(file)
	}
}
