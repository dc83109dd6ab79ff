package origin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

const maxRedirects = 5

// redirect returns where a request has to be sent again, method, body and
// headers unchanged; nil where the answer is no redirect. A redirect that is not
// followed is a *transport.RefusedError.
//
// 301 and 302 would allow to go on with GET; that is never wanted here. After
// 303 the request may have been carried out (RFC 9110 §15.4.4), so it is not
// repeated.
func redirect(method string, from *url.URL, resp *http.Response, hop int) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusSeeOther:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	refused := &transport.RefusedError{Status: resp.StatusCode, Text: statusText(resp)}
	to, err := from.Parse(location)
	if err != nil {
		refused.Text += ": its Location is no URL"
		return nil, refused
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	switch {
	case !Same(from, to):
		refused.Location = to.String()
		return nil, refused
	case resp.StatusCode == http.StatusSeeOther && method == http.MethodPost:
		refused.Text += ": not followed to " + to.Path + ", as the request may have been carried out"
		return nil, refused
	case hop == maxRedirects:
		refused.Text += ": too many redirects"
		return nil, refused
	}
	return to, nil
}

// Same tells whether a and b have the same origin: scheme, host and port.
func Same(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}
