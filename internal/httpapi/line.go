package httpapi

import (
	"strconv"
	"time"
)

// line is the line of a request that went well, as slog's handler would write it, at a fifth of its cost.
func (a *API) line(line []byte, c *call, at time.Time, operation string, status int, took time.Duration) []byte {
	line = append(line, "time="...)
	line = at.AppendFormat(line, "2006-01-02T15:04:05.000Z07:00")
	line = append(line, " level=INFO msg=request id="...)
	line = append(line, c.id...)
	line = appendText(line, " method=", a.printable(c.r.Method))
	line = appendText(line, " path=", a.printable(c.r.URL.Path))
	line = append(append(line, " operation="...), operation...)
	line = strconv.AppendInt(append(line, " status="...), int64(status), 10)
	line = strconv.AppendInt(append(line, " bytes="...), int64(c.w.bytes), 10)
	line = append(append(line, " took="...), took.String()...)
	line = appendText(line, " remote=", c.r.RemoteAddr)
	if actor := c.principal.Actor(); actor != "" {
		line = appendText(line, " key=", actor)
	}
	if trace, ok := traceOf(c.r.Header["Traceparent"]); ok {
		line = append(append(line, " trace_id="...), trace.id...)
		line = append(append(line, " span_id="...), trace.span...)
	}
	return append(line, '\n')
}

// appendText adds a text after its name, in quotes where it could be taken for something else.
func appendText(line []byte, name, text string) []byte {
	line = append(line, name...)
	for i := range len(text) {
		if b := text[i]; b <= ' ' || b >= 0x7f || b == '"' || b == '=' {
			return strconv.AppendQuote(line, text)
		}
	}
	if text == "" {
		return append(line, `""`...)
	}
	return append(line, text...)
}
