package jsonrpc

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Append writes m as one JSON object without white space around its own
// members. Params, results and data go out as they are.
func Append(dst []byte, m Message) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	switch m := m.(type) {
	case *Call:
		dst = append(append(dst, `,"id":`...), m.ID.String()...)
		dst = appendMethod(dst, m.Method, m.Params)
	case *Notification:
		dst = appendMethod(dst, m.Method, m.Params)
	case *Response:
		dst = append(append(dst, `,"id":`...), m.ID.String()...)
		if m.Error != nil {
			dst = append(dst, `,"error":{"code":`...)
			dst = strconv.AppendInt(dst, m.Error.Code, 10)
			dst = append(dst, `,"message":`...)
			dst = AppendString(dst, m.Error.Message)
			if m.Error.Data != nil {
				dst = append(append(dst, `,"data":`...), m.Error.Data...)
			}
			dst = append(dst, '}')
		} else if m.Result == nil {
			dst = append(dst, `,"result":{}`...)
		} else {
			dst = append(append(dst, `,"result":`...), m.Result...)
		}
	}
	return append(dst, '}')
}

func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return dst
}

// AppendString writes s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			dst, _ = jsontext.AppendQuote(dst, s)
			return dst
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
