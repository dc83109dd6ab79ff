package front

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
)

// originGuard refuses what a page of another origin makes a browser send, and
// what comes under a name that is not ours: a page can reach a listener on
// loopback, by a DNS name that it controls even as its own origin.
type originGuard struct {
	allowedOrigins []string
	allowedHosts   []string
	checkHost      bool // the listener is on loopback
}

func (g *originGuard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) && r.Header.Get("Origin") == "" { // a browser names the origin of every POST
			next.ServeHTTP(w, r)
			return
		}
		if g.checkHost && !g.hostAllowed(r.Host) {
			http.Error(w, "host "+clean(r.Host)+" is not served here: see allowed_hosts", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if !g.originAllowed(origin, r.Host) {
				http.Error(w, "origin "+clean(origin)+" is not allowed: see cors.allowed_origins", http.StatusForbidden)
				return
			}
		} else if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "requests of another site are not allowed: see cors.allowed_origins", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *originGuard) originAllowed(origin, host string) bool {
	if slices.Contains(g.allowedOrigins, origin) || slices.Contains(g.allowedOrigins, "*") {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(withoutPort(u.Host, u.Scheme), withoutPort(host, u.Scheme))
}

// withoutPort takes a scheme's own port off a host, where a browser leaves it out
// and other clients may not.
func withoutPort(host, scheme string) string {
	switch scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

func (g *originGuard) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	for _, a := range g.allowedHosts {
		if a == "*" || strings.EqualFold(a, host) || strings.EqualFold(a, hostport) {
			return true
		}
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// clean makes a header's text fit to be shown.
func clean(s string) string {
	if len(s) > 100 {
		s = s[:100]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// crossOrigin answers preflights, and lets pages of the allowed origins read.
func crossOrigin(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	session := []string{"Mcp-Session-Id", "Mcp-Session-Generation"}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: connectcors.AllowedMethods(),
		AllowedHeaders: append(connectcors.AllowedHeaders(), append(session, "Authorization", "Traceparent", "Tracestate", "Baggage", "X-Request-Id")...),
		ExposedHeaders: append(connectcors.ExposedHeaders(), append(session, "Etag")...),
		MaxAge:         7200,
	}).Handler(next)
}
