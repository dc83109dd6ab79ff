package httpserve

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// forbidden tells why a request must not be served; empty: it may. Both checks
// are against web pages that reach a server on the user's machine, one by being
// open in his browser, the other by a name that suddenly resolves to loopback
// (2025-11-25 §transports, Security Warning).
func (h *Handler) forbidden(r *http.Request) string {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && isLoopback(local.String()) {
		if !isLoopback(r.Host) && !slices.Contains(h.o.AllowedHosts, hostOf(r.Host)) {
			return "host not allowed"
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(h.o.AllowedOrigins, origin) {
		return ""
	}
	if u, err := url.Parse(origin); err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) {
		return ""
	}
	return "origin not allowed"
}

// hostOf is a host without its port and brackets.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(hostport string) bool {
	host := hostOf(hostport)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// accepts tells whether an Accept header allows all of the types. It does not
// weigh: a client that names a type can read it.
func accepts(accept []string, types ...string) bool {
	if len(accept) == 0 {
		return true
	}
	return !slices.ContainsFunc(types, func(want string) bool {
		for _, list := range accept {
			for _, one := range strings.Split(list, ",") {
				got, params, err := mime.ParseMediaType(one)
				if err != nil || params["q"] == "0" {
					continue
				}
				if got == want || got == "*/*" || got == strings.SplitN(want, "/", 2)[0]+"/*" {
					return false
				}
			}
		}
		return true
	})
}
