package origin

import "bytes"

// MayBeJSON looks at the first byte only: the protocol layer will read all of
// it, and a text of 16 MiB should not be walked twice.
func MayBeJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 {
		return false
	}
	switch b := data[0]; b {
	case '{', '[', '"', '-':
		return true
	case 't', 'f', 'n':
		switch string(bytes.TrimRight(data, " \t\r\n")) {
		case "true", "false", "null":
			return true
		}
		return false
	default:
		return b >= '0' && b <= '9'
	}
}
