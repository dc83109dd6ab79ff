package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"

	mcpbridgev1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"
	"github.com/mcpbridge/mcp-bridge/internal/mcp"
	"github.com/mcpbridge/mcp-bridge/internal/transport"
	"github.com/mcpbridge/mcp-bridge/internal/upstream"
)

const methodListTools = "tools/list"

// ListTools lists one page of tools, or all of them.
func (s *Service) ListTools(ctx context.Context, r *mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) {
	if s.o.Draining.Err() != nil {
		return nil, s.fail(errDraining, s.about(ctx, nil, methodListTools, ""))
	}
	if s.everybody(ctx, r) {
		return s.listToolsOfAll(ctx, r)
	}
	x, err := s.target(ctx, r)
	if err != nil {
		return nil, s.fail(err, s.about(ctx, nil, methodListTools, ""))
	}
	ctx, cancel, clock := bound(ctx, x.Upstream().Options(), r.GetOptions().GetProgressExtendsTimeout())
	defer cancel()
	p := &mcp.Page{Cursor: r.GetCursor(), HasCursor: r.Cursor != nil}
	res, err := s.listTools(x, r, p, s.toolsFrom(ctx, x, r.Options, p, clock))
	if err != nil {
		return nil, s.fail(err, s.about(ctx, x, methodListTools, ""))
	}
	answered(ctx, x)
	return res, nil
}

// listTools follows one server's list as far as is asked for. page gets what p
// points at.
func (s *Service) listTools(x *upstream.Session, r *mcpbridgev1.ListToolsRequest, p *mcp.Page, page func() (*mcpbridgev1.ListToolsResponse, error)) (*mcpbridgev1.ListToolsResponse, error) {
	if !r.AllPages {
		one, err := page()
		if err == nil {
			s.learn(x, one, !p.HasCursor && one.NextCursor == nil)
		}
		return one, err
	}
	if format(r.Options) == mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
		return nil, invalid("all_pages: several results can't be merged in RESULT_FORMAT_RAW")
	}
	whole := !p.HasCursor
	var all *mcpbridgev1.ListToolsResponse
	err := s.pages(p, func() (*string, int, error) {
		one, err := page()
		if err != nil {
			return nil, 0, err
		}
		next := one.NextCursor
		if all == nil {
			all = one
			all.NextCursor = nil
		} else {
			all.Tools = append(all.Tools, one.Tools...)
			all.Skipped = append(all.Skipped, one.Skipped...)
			all.Stale = all.Stale || one.Stale
			all.Cache = sooner(all.Cache, one.Cache)
		}
		return next, len(all.Tools), nil
	})
	if err != nil {
		return nil, err
	}
	s.learn(x, all, whole)
	return all, nil
}

// learn remembers what a list says about repeating its tools, where the operator
// trusts that.
func (s *Service) learn(x *upstream.Session, list *mcpbridgev1.ListToolsResponse, whole bool) {
	if !x.Upstream().Options().TrustAnnotations {
		return
	}
	tools := list.Tools
	if list.RawJson != "" {
		d := decoder(x, mcpbridgev1.ResultFormat_RESULT_FORMAT_TYPED)
		if read, err := d.ListTools(jsonscan.AsBytes(list.RawJson)); err == nil {
			tools = read.Tools
		}
	}
	s.hints.learn(x.Upstream(), tools, whole, s.o.MaxItems)
}

// toolsFrom gets pages from the server.
func (s *Service) toolsFrom(ctx context.Context, x *upstream.Session, o *mcpbridgev1.RequestOptions, p *mcp.Page, clock *transport.Clock) func() (*mcpbridgev1.ListToolsResponse, error) {
	return func() (*mcpbridgev1.ListToolsResponse, error) {
		req := &mcp.Request{Method: methodListTools, Clock: clock}
		if err := s.apply(ctx, x, o, req); err != nil {
			return nil, err
		}
		result, stale, err := x.List(ctx, req, p)
		if err != nil {
			return nil, err
		}
		page, err := readTools(x, format(o), &result)
		if err != nil {
			return nil, err
		}
		page.Stale = stale
		if !stale {
			x.Keep(req.Method, p.Cursor, result.Payload)
		}
		return page, nil
	}
}

// knownTools gets pages from what was last known of a server, and does not start
// it.
func (s *Service) knownTools(x *upstream.Session, o *mcpbridgev1.RequestOptions, p *mcp.Page) func() (*mcpbridgev1.ListToolsResponse, error) {
	return func() (*mcpbridgev1.ListToolsResponse, error) {
		text, ok := x.Upstream().Options().Lists.Get(methodListTools, p.Cursor)
		if !ok {
			return nil, errNotStarted
		}
		page, err := readTools(x, format(o), &mcp.Result{Payload: text})
		if err == nil {
			page.Stale = true
		}
		return page, err
	}
}

// readTools reads a page of tools.
func readTools(x *upstream.Session, f mcpbridgev1.ResultFormat, result *mcp.Result) (page *mcpbridgev1.ListToolsResponse, err error) {
	d := decoder(x, f)
	err = result.Read(func(b []byte) (err error) {
		if f == mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
			st, err := d.Steer(b)
			page = &mcpbridgev1.ListToolsResponse{RawJson: jsonscan.AsString(b), NextCursor: st.NextCursor}
			return err
		}
		page, err = d.ListTools(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	if page.NextCursor != nil && *page.NextCursor == "" && !d.Modern {
		// Before 2026-07-28 an empty cursor was the end; since then only its absence
		// is (§pagination).
		page.NextCursor = nil
	}
	return page, nil
}

// listToolsOfAll asks all servers at once. It starts none that is idle.
func (s *Service) listToolsOfAll(ctx context.Context, r *mcpbridgev1.ListToolsRequest) (*mcpbridgev1.ListToolsResponse, error) {
	a := s.about(ctx, nil, methodListTools, "")
	if r.Cursor != nil {
		return nil, s.fail(invalid("cursor: a cursor belongs to one server; name it"), a)
	}
	if format(r.Options) == mcpbridgev1.ResultFormat_RESULT_FORMAT_RAW {
		return nil, s.fail(invalid("the results of several servers can't be merged in RESULT_FORMAT_RAW"), a)
	}
	parts := make([]*mcpbridgev1.ListToolsResponse, len(s.o.Servers.All()))
	errs := s.eachServer(ctx, methodListTools, func(ctx context.Context, i int, x *upstream.Session) (err error) {
		p := &mcp.Page{}
		page := s.toolsFrom(ctx, x, r.Options, p, nil)
		if x.Status().State == upstream.Idle {
			page = s.knownTools(x, r.Options, p)
		}
		parts[i], err = s.listTools(x, &mcpbridgev1.ListToolsRequest{Options: r.Options, AllPages: true}, p, page)
		return err
	})
	all := &mcpbridgev1.ListToolsResponse{Errors: errs}
	for _, p := range parts {
		if p != nil {
			all.Tools = append(all.Tools, p.Tools...)
			all.Skipped = append(all.Skipped, p.Skipped...)
			all.Stale = all.Stale || p.Stale
		}
	}
	return all, nil
}

// atOnce is how many servers are asked side by side.
const atOnce = 16

// eachServer asks all servers for something.
func (s *Service) eachServer(ctx context.Context, method string, ask func(context.Context, int, *upstream.Session) error) []*mcpbridgev1.ServerError {
	servers := s.o.Servers.All()
	failed := make([]*mcpbridgev1.ServerError, len(servers))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, u := range servers {
		slots <- struct{}{} // whoever holds one is bounded by ctx
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel, _ := bound(ctx, u.Options(), false)
			defer cancel()
			if err := ask(ctx, i, u.Shared()); err != nil {
				failed[i] = s.serverError(err, s.about(ctx, u.Shared(), method, ""))
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(failed, func(e *mcpbridgev1.ServerError) bool { return e == nil })
}

// errNotStarted means that a server would have to be started for an answer that
// nobody asked of it by name.
var errNotStarted = errors.New("not started yet: ask for this server by name to start it")

// serverError is an error as one of several servers' answers.
func (s *Service) serverError(err error, a about) *mcpbridgev1.ServerError {
	f := s.classify(err, a)
	return &mcpbridgev1.ServerError{
		Server: a.server, Code: int32(f.code), Message: cut(s.o.Redact(f.message), maxMessage),
		UpstreamError: f.upstreamError(a, s.o.Redact),
	}
}
