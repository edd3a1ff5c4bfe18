package httpapi

import "strings"

// trace is where a request stands among those that others made for the same reason: https://www.w3.org/TR/trace-context/.
type trace struct{ id, span string }

// traceOf reads the header traceparent. What is not as the standard says is as if it had not been sent.
func traceOf(fields []string) (t trace, ok bool) {
	if len(fields) != 1 {
		return trace{}, false
	}
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	text := fields[0]
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return trace{}, false
	}
	version, id, span, flags := text[:2], text[3:35], text[36:52], text[53:length]
	// A later version may add to the end what it likes; no version is called ff.
	if version == "00" && len(text) > length || len(text) > length && text[length] != '-' || version == "ff" {
		return trace{}, false
	}
	if !isHex(version) || !isHex(id) || !isHex(span) || !isHex(flags) || isZero(id) || isZero(span) {
		return trace{}, false
	}
	return trace{id, span}, true
}

// isHex tells whether a text has hexadecimal digits alone, in lower case.
func isHex(text string) bool {
	for i := range len(text) {
		if b := text[i]; (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}

func isZero(digits string) bool { return strings.Trim(digits, "0") == "" }
