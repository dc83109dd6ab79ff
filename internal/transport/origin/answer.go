package origin

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbridge/mcp-bridge/internal/transport"
)

const (
	maxRefusalBody = 1 << 20
	maxRefusalText = 512
	// refusalTime is how long the body of a refusal may take.
	refusalTime = 2 * time.Second
	// presize is how much memory a Content-Length gets on credit.
	presize = 2 << 20
)

// Type returns the media type of an answer in lower case and without
// parameters; empty if it names none.
func Type(resp *http.Response) string {
	h := resp.Header["Content-Type"]
	if len(h) == 0 {
		return ""
	}
	switch h[0] { // the usual ones need no parsing
	case "application/json", "text/event-stream":
		return h[0]
	}
	name, _, _ := strings.Cut(h[0], ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// IsJSON tells whether a media type promises JSON.
func IsJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// ReadAll reads the body of an answer. Its error is an inbound
// *transport.TooLargeError, or what Broken says.
func (x *Exchange) ReadAll(limit int64) ([]byte, error) {
	size := x.resp.ContentLength
	if size > limit {
		return nil, &transport.TooLargeError{Limit: limit, Size: size, Inbound: true}
	}
	buf := make([]byte, 0, min(max(size+1, 512), presize)) // one more byte, to see the end
	for {
		if len(buf) == cap(buf) {
			buf = grow(buf, size)
		}
		n, err := x.resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, &transport.TooLargeError{Limit: limit, Inbound: true}
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, x.Broken(err)
		}
	}
}

// grow makes room: up to the promised size once a good part has come, else by
// doubling.
func grow(buf []byte, promised int64) []byte {
	room := max(2*len(buf), 512)
	if left := promised - int64(len(buf)); left > 0 && left < int64(15*len(buf)) {
		room = int(promised) + 1
	}
	return append(make([]byte, 0, room), buf...)
}

// Refusal reads an answer that is no success into an error. The caller says
// whether the request named a session.
func (x *Exchange) Refusal() *transport.RefusedError {
	h := x.resp.Header
	e := &transport.RefusedError{
		Status:          x.resp.StatusCode,
		Text:            statusText(x.resp),
		Type:            Type(x.resp),
		RetryAfter:      retryAfter(h.Get("Retry-After")),
		WWWAuthenticate: strings.Join(h.Values("Www-Authenticate"), ", "),
		MCPAuthServer:   h.Get("Mcp-Auth-Server"),
	}
	// Half a body is better than none; what matters is the status.
	late := time.AfterFunc(refusalTime, func() { x.resp.Body.Close() })
	defer late.Stop()
	e.Body, _ = io.ReadAll(io.LimitReader(x.resp.Body, maxRefusalBody))
	if e.Type == "text/plain" || e.Type == "" {
		if said := sentence(e.Body); said != "" && !strings.EqualFold(said, e.Text) {
			e.Text += ": " + said
		}
	}
	return e
}

// statusText prefers the standard's phrase for a status to the server's.
func statusText(resp *http.Response) string {
	if s := http.StatusText(resp.StatusCode); s != "" {
		return s
	}
	_, phrase, _ := strings.Cut(resp.Status, " ")
	if s := sentence([]byte(phrase)); s != "" {
		return s
	}
	return "unknown status"
}

// sentence makes one line of what the server wrote, fit for an error message;
// empty if it is no text or begins like JSON or HTML, which is for programs.
func sentence(body []byte) string {
	cut := len(body) > maxRefusalText
	s := strings.ToValidUTF8(string(body[:min(len(body), maxRefusalText)]), "")
	if !cut && !utf8.Valid(body) {
		return ""
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if s == "" || strings.ContainsRune("{[<", rune(s[0])) {
		return ""
	}
	if cut {
		s += "…"
	}
	return s
}

// retryAfter reads seconds or a date; 0 where there is neither.
func retryAfter(v string) time.Duration {
	if v == "" {
		return 0
	}
	s, err := strconv.ParseInt(v, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(s, 0), 1<<31)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
