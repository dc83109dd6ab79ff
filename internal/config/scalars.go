package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// scalar returns the text of a number or a boolean, which may also have been put
// in from outside.
func (d *decoder) scalar(n *node, want kind, path, example string) (string, bool) {
	if n.kind == want {
		return n.text, true
	}
	if n.kind == isString && strings.Contains(n.text, "${") {
		s, ok := d.str(n, path)
		return strings.TrimSpace(s), ok
	}
	d.errorf(n.at, "%swant %s such as %s, not %s", prefix(path), want, example, n.what())
	return "", false
}

func (d *decoder) boolean(to *bool, path string) func(*node) {
	return func(n *node) {
		s, ok := d.scalar(n, isBool, path, "true")
		if !ok {
			return
		}
		switch strings.ToLower(s) {
		case "true":
			*to = true
		case "false":
			*to = false
		default:
			d.errorf(n.at, "%swant true or false, not %s", prefix(path), quote(s))
		}
	}
}

func (d *decoder) optional(to **bool, path string) func(*node) {
	return func(n *node) {
		v, before := false, len(d.errs)
		d.boolean(&v, path)(n)
		if len(d.errs) == before {
			*to = &v
		}
	}
}

func (d *decoder) count(to *int, path string, least int) func(*node) {
	return func(n *node) {
		s, ok := d.scalar(n, isNumber, path, strconv.Itoa(*to))
		if !ok {
			return
		}
		v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		if err != nil || v < int64(least) || v > math.MaxInt32 {
			d.errorf(n.at, "%swant a whole number from %d to %d, not %s", prefix(path), least, math.MaxInt32, quote(s))
			return
		}
		*to = int(v)
	}
}

func (d *decoder) float(to *float64, path string, least, most float64) func(*node) {
	return func(n *node) {
		s, ok := d.scalar(n, isNumber, path, strconv.FormatFloat(*to, 'g', -1, 64))
		if !ok {
			return
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= least && v <= most) {
			d.errorf(n.at, "%swant a number from %g to %g, not %s", prefix(path), least, most, quote(s))
			return
		}
		*to = v
	}
}

// duration takes a time with its unit. A bare number is refused: some clients
// mean seconds by it, others milliseconds.
func (d *decoder) duration(to *time.Duration, path string, least time.Duration) func(*node) {
	return func(n *node) {
		if n.kind == isNumber {
			d.errorf(n.at, "%swant a time with its unit: write \"%ss\" or \"%sms\", not %s", prefix(path), n.text, n.text, n.text)
			return
		}
		s, ok := d.str(n, path)
		if !ok {
			return
		}
		v, err := time.ParseDuration(strings.TrimSpace(s))
		switch {
		case err != nil:
			d.errorf(n.at, "%swant a time such as \"60s\", \"500ms\" or \"1h30m\", not %s", prefix(path), quote(s))
		case v < least:
			d.errorf(n.at, "%swant at least %s, not %s", prefix(path), short(least), quote(s))
		default:
			*to = v
		}
	}
}

// short writes a duration without zero units: 1h, not 1h0m0s.
func short(v time.Duration) string {
	s := v.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// size takes a number of bytes, plain or with a unit.
func (d *decoder) size(to *int64, path string, least int64) func(*node) {
	return func(n *node) {
		s := n.text
		if n.kind != isNumber {
			if n.kind != isString {
				d.errorf(n.at, "%swant a size such as \"64MiB\", not %s", prefix(path), n.what())
				return
			}
			var ok bool
			if s, ok = d.str(n, path); !ok {
				return
			}
		}
		v, err := parseSize(s)
		switch {
		case err != nil:
			d.errorf(n.at, "%swant a size such as \"64MiB\" or a number of bytes, not %s", prefix(path), quote(s))
		case v < least || v > math.MaxInt32:
			d.errorf(n.at, "%swant %d bytes to 2GiB, not %s", prefix(path), least, quote(s))
		default:
			*to = v
		}
	}
}

func parseSize(s string) (int64, error) {
	s = strings.TrimSpace(s)
	unit := int64(1)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64); err == nil && v >= 0 && v <= math.MaxInt64/unit {
		return v * unit, nil
	}
	v, err := strconv.ParseFloat(s, 64) // 1.5MiB
	if err != nil || unit == 1 || !(v >= 0 && v*float64(unit) < math.MaxInt32*2) {
		return 0, strconv.ErrSyntax
	}
	return int64(v * float64(unit)), nil
}
