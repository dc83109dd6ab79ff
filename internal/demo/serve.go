package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/httpserve"
	"github.com/mcpbridge/mcp-bridge/internal/mcp/serve/stdio"
)

// grace is how long handlers may take to notice the end.
const grace = 2 * time.Second

// ServeStdio serves a demo server to one client on two byte streams, until the
// input ends or ctx does.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, log *slog.Logger) error {
	return serve(ctx, log, func(ctx context.Context, s *mcp.Server) error {
		err := stdio.Serve(ctx, s, in, out, stdio.Options{Logger: log})
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
}

// ServeHTTP serves a demo server as Streamable HTTP at /mcp and / of l, which it
// closes, until ctx ends.
func ServeHTTP(ctx context.Context, l net.Listener, log *slog.Logger) error {
	return serve(ctx, log, func(ctx context.Context, s *mcp.Server) error {
		h := httpserve.New(s, httpserve.Options{Logger: log})
		mux := http.NewServeMux()
		mux.Handle("/mcp", h)
		mux.Handle("/{$}", h)
		srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
		var own sync.WaitGroup
		ctx, cancel := context.WithCancel(ctx)
		own.Go(func() {
			<-ctx.Done()
			h.Close()
			end, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer done()
			if srv.Shutdown(end) != nil {
				_ = srv.Close() // what could not end well ends now
			}
		})
		err := srv.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		cancel() // the listener may have failed by itself
		own.Wait()
		return err
	})
}

// serve runs a demo server with its clock.
func serve(ctx context.Context, log *slog.Logger, over func(context.Context, *mcp.Server) error) error {
	s, err := New(Options{Logger: log})
	if err != nil {
		return fmt.Errorf("demo server: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var own sync.WaitGroup
	own.Go(func() { Tick(ctx, s) })
	err = over(ctx, s)
	cancel()
	own.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, s.Close(end))
}
