package typed

import (
	"encoding/base64"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpbridge/mcp-bridge/internal/jsonscan"

	v1 "github.com/mcpbridge/mcp-bridge/gen/go/mcpbridge/v1"
)

// want prepares for reading a value of one kind.
func (r *reader) want(k jsonscan.Kind) fit {
	switch r.Peek() {
	case k:
		return yes
	case jsonscan.Null:
		r.ReadNull()
		return absent
	}
	return no
}

func (r *reader) str(dst *string) fit {
	f := r.want(jsonscan.String)
	if f != yes {
		return f
	}
	s, exact := r.ReadString()
	*dst = s
	if !exact {
		return part
	}
	return yes
}

func (r *reader) optStr(dst **string) fit {
	var s string
	f := r.str(&s)
	if f >= part {
		*dst = &s
	}
	return f
}

func (r *reader) strPtr(dst **string) fit { return r.optStr(dst) }

// strs reads an array of strings.
func (r *reader) strs(dst *[]string) fit {
	var items []*string
	f := list(r, &items, (*reader).strPtr)
	if f < part {
		return f
	}
	*dst = make([]string, len(items))
	for i, s := range items {
		(*dst)[i] = *s
	}
	return f
}

func (r *reader) boolean(dst *bool) fit {
	f := r.want(jsonscan.Bool)
	if f == yes {
		*dst = r.ReadBool()
	}
	return f
}

func (r *reader) optBool(dst **bool) fit {
	var b bool
	f := r.boolean(&b)
	if f == yes {
		*dst = &b
	}
	return f
}

func (r *reader) float(dst *float64) fit {
	f := r.want(jsonscan.Number)
	if f != yes {
		return f
	}
	x, exact, ok := r.ReadExactFloat64()
	if !ok {
		return no
	}
	*dst = x
	if !exact {
		return part
	}
	return yes
}

func (r *reader) optFloat(dst **float64) fit {
	var x float64
	f := r.float(&x)
	if f >= part {
		*dst = &x
	}
	return f
}

func (r *reader) optInt(dst **int64) fit {
	f := r.want(jsonscan.Number)
	if f != yes {
		return f
	}
	n, ok := r.ReadInt64()
	if !ok {
		return no
	}
	*dst = &n
	return yes
}

// nearInt32 reads a number as the nearest int32.
func (r *reader) nearInt32(dst *int32) fit {
	f := r.want(jsonscan.Number)
	if f != yes {
		return f
	}
	at := r.Mark()
	if n, ok := r.ReadInt64(); ok {
		*dst = int32(min(max(n, math.MinInt32), math.MaxInt32))
		if int64(*dst) == n {
			return yes
		}
		return part
	}
	r.Rewind(at)
	x, _ := r.ReadFloat64() // ±Inf where it is out of range
	*dst = int32(math.RoundToEven(min(max(x, math.MinInt32), math.MaxInt32)))
	return part
}

// maxSeconds is the most that a google.protobuf.Duration may hold.
const maxSeconds = 315_576_000_000

// millis reads a number of milliseconds. Less than nothing is nothing.
func (r *reader) millis(dst **durationpb.Duration) fit {
	f := r.want(jsonscan.Number)
	if f != yes {
		return f
	}
	at := r.Mark()
	n, ok := r.ReadInt64()
	if ok && n >= 0 && n/1000 < maxSeconds {
		*dst = &durationpb.Duration{Seconds: n / 1000, Nanos: int32(n % 1000 * int64(time.Millisecond))}
		return yes
	}
	r.Rewind(at)
	x, _ := r.ReadFloat64()
	if x = min(max(x, 0), maxSeconds*1000); x == maxSeconds*1000 {
		*dst = &durationpb.Duration{Seconds: maxSeconds}
		return part
	}
	seconds, rest := math.Modf(x / 1000)
	nanos := min(math.Round(rest*1e9), 999_999_999)
	*dst = &durationpb.Duration{Seconds: int64(seconds), Nanos: int32(nanos)}
	return part
}

// any reads any value but null.
func (r *reader) any(dst **v1.Json) fit {
	if r.Peek() == jsonscan.Null {
		r.ReadNull()
		return absent
	}
	*dst = r.newJSON(r.ReadRaw())
	return yes
}

// anyOrNull reads any value.
func (r *reader) anyOrNull(dst **v1.Json) fit {
	*dst = r.newJSON(r.ReadRaw())
	return yes
}

// jsonObject reads an object as JSON.
func (r *reader) jsonObject(dst **v1.Json) fit {
	f := r.want(jsonscan.Object)
	if f == yes {
		*dst = r.newJSON(r.ReadRaw())
	}
	return f
}

// structured reads a structuredContent: null is a value since 2026-07-28.
func (r *reader) structured(dst **v1.Json) fit {
	if r.opt.Modern {
		return r.anyOrNull(dst)
	}
	return r.any(dst)
}

var canonicalBase64 = base64.StdEncoding.Strict()

// base64 reads bytes. Text that encoding them would not give back (line ends,
// missing padding) fits only in part.
func (r *reader) base64(dst *[]byte) fit {
	f := r.want(jsonscan.String)
	if f != yes {
		return f
	}
	s, _ := r.ReadString()
	if !strings.ContainsAny(s, "\r\n") {
		if b, err := canonicalBase64.DecodeString(s); err == nil {
			*dst = b
			return yes
		}
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		if b, err = base64.RawStdEncoding.DecodeString(s); err != nil {
			return no
		}
	}
	*dst = b
	return part
}
