package web

import "strings"

// trace identifies the distributed trace that a request belongs to. See
// https://www.w3.org/TR/trace-context/.
type trace struct{ id, span string }

// parseTraceparent parses the values of the Traceparent header. As the standard requires, it ignores a
// header that is malformed or was sent more than once.
func parseTraceparent(values []string) (t trace, ok bool) {
	if len(values) != 1 {
		return trace{}, false
	}
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	text := values[0]
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return trace{}, false
	}
	version, id, span, flags := text[:2], text[3:35], text[36:52], text[53:length]
	// Later versions may append more fields. Version ff is forbidden.
	if version == "00" && len(text) > length || len(text) > length && text[length] != '-' || version == "ff" {
		return trace{}, false
	}
	if !isHex(version) || !isHex(id) || !isHex(span) || !isHex(flags) || isZero(id) || isZero(span) {
		return trace{}, false
	}
	return trace{id, span}, true
}

// isHex reports whether text consists only of lowercase hexadecimal digits.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

func isZero(digits string) bool { return strings.Trim(digits, "0") == "" }
