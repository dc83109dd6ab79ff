package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validName says whether a server may be called that: the name stands in URLs,
// metrics and, before a slash, in the names of its tools.
func validName(name string) bool {
	if len(name) == 0 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// CheckAddress checks an address to listen on.
func CheckAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("want host:port such as 127.0.0.1:8080, not %s", quote(address))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("want a port from 0 (any free one) to 65535, not %s", quote(port))
	}
	return nil
}

func (d *decoder) address(to *string, path string) func(*node) {
	return func(n *node) {
		s, ok := d.str(n, path)
		if !ok {
			return
		}
		if err := CheckAddress(s); err != nil {
			d.errorf(n.at, "%s: %v", path, err)
			return
		}
		*to = s
	}
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // without the URL, which may hold a secret
		}
		return fmt.Errorf("not a valid URL: %v", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("want a URL that begins with http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.Fragment != "":
		return errors.New("the URL has a fragment (#…), which is never sent")
	}
	return nil
}

func (d *decoder) url(to *string, path string) func(*node) {
	return func(n *node) {
		s, ok := d.str(n, path)
		if !ok {
			return
		}
		if err := checkURL(s); err != nil {
			d.errorf(n.at, "%s: %v", path, err)
			return
		}
		*to = s
	}
}

// origins takes origins of pages, or "*".
func (d *decoder) origins(to *[]string, path string) func(*node) {
	return func(n *node) {
		d.texts(to, path)(n)
		for _, o := range *to {
			u, err := url.Parse(o)
			if o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "") {
				d.errorf(n.at, "%s: want an origin such as https://app.example.com, not %s", path, quote(o))
			}
		}
	}
}

// protocol takes auto, an era, or a revision.
func (d *decoder) protocol(to *string, path string) func(*node) {
	return func(n *node) {
		s, ok := d.str(n, path)
		if !ok {
			return
		}
		_, notDate := time.Parse(time.DateOnly, s)
		switch {
		case s == "auto", s == "legacy", s == "modern":
		case notDate != nil:
			d.errorf(n.at, "%s: want auto, legacy, modern or a revision such as 2025-06-18, not %s", path, quote(s))
			return
		case d.known != nil && !d.known(s):
			d.errorf(n.at, "%s: unknown revision %s", path, quote(s))
			return
		}
		*to = s
	}
}

// envNames takes names of variables; a * at the end stands for any rest.
func (d *decoder) envNames(to *[]string, path string) func(*node) {
	return func(n *node) {
		d.texts(to, path)(n)
		for _, name := range *to {
			if plain := strings.TrimSuffix(name, "*"); name != "*" && !validEnvName(plain) {
				d.errorf(n.at, "%s: want a name such as PATH, or the beginning of names such as LC_*, not %s", path, quote(name))
			}
		}
	}
}

// checkHeader checks a header's name and value against RFC 9110, section 5.
func checkHeader(name, value string) error {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return fmt.Errorf("%s is no name of a header", quote(name))
		}
	}
	if name == "" {
		return errors.New(`"" is no name of a header`)
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("the value of %s holds a control character, such as a line's end", quote(name))
		}
	}
	return nil
}

// ownHeader says whether a header is one that the transport sets.
func ownHeader(name string) bool {
	return slices.Contains([]string{"mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "accept", "content-type", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "last-event-id"},
		strings.ToLower(name))
}
