package web

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// AccessLog writes one line per request: at level error if the request failed because of a fault in this service,
// otherwise at level info or debug. It logs only a sample of the requests without a valid API key, but always logs
// faults.
type AccessLog struct {
	Log *slog.Logger
	// Lines receives the lines for successful requests, one per Write, in the format of slog.TextHandler.
	// If Lines is nil, these lines go to Log like all other lines.
	Lines io.Writer
	// Redact removes API keys from a text.
	Redact func(string) string

	strangers admission.LogThrottle
}

// Entry holds what the access log records about one request.
type Entry struct {
	Outcome
	ID        string
	Operation string
	Route     string // the pattern of the path, or "" if it is unknown
	Request   *http.Request
	Response  *Recorder
	Principal shop.Principal
	End       time.Time
	Took      time.Duration
	Routine   bool // a health check or static file, logged at level debug unless it fails
	Stopping  bool // the node is shutting down
}

// Write logs one request at the level that fits its outcome.
func (l *AccessLog) Write(e Entry) {
	level := slog.LevelInfo
	if e.isFault(e.Stopping) {
		level = slog.LevelError
	} else if e.Routine {
		level = slog.LevelDebug
	}
	ctx := e.Request.Context()
	e.describe(trace.SpanFromContext(ctx))
	if !l.Log.Enabled(ctx, level) {
		return
	}
	isStranger := e.Principal.Actor() == "" && (level < slog.LevelError || isRefusal(e.Err))
	if isStranger && !l.strangers.Allow(admission.StrangerLines, strconv.Itoa(e.Status), func(leftOut int) {
		l.Log.Info("requests without a valid key were left out", "status", e.Status, "requests", leftOut)
	}) {
		return
	}
	if level == slog.LevelInfo && e.Err == nil && l.Lines != nil {
		l.Lines.Write(l.appendLine(make([]byte, 0, 256), e)) // a log failure cannot be reported anywhere
		return
	}
	record := slog.NewRecord(e.End, level, "request", 0)
	record.AddAttrs(
		slog.String("id", e.ID), slog.String("method", l.Printable(e.Request.Method)),
		slog.String("path", l.Printable(e.Request.URL.Path)), slog.String("operation", e.Operation), slog.Int("status", e.Status),
		slog.Int("bytes", e.Response.bytes), slog.Duration("took", e.Took), slog.String("remote", e.Request.RemoteAddr))
	if actor := e.Principal.Actor(); actor != "" {
		record.AddAttrs(slog.String("key", actor))
	}
	if trace, ok := traceOf(e.Request); ok {
		record.AddAttrs(slog.String("trace_id", trace.id), slog.String("span_id", trace.span))
	}
	if e.Err != nil {
		record.AddAttrs(slog.String("error", shortened(l.Redact(e.Err.Error()))))
	}
	if e.Stack != "" {
		record.AddAttrs(slog.String("stack", e.Stack))
	}
	l.Log.Handler().Handle(ctx, record) // a log failure cannot be reported anywhere
}

// appendLine formats the line for a successful request exactly as slog.TextHandler would. A test compares the
// two. appendLine exists because slog would take as long to format the line as the service takes for the rest
// of a cached response.
func (l *AccessLog) appendLine(line []byte, e Entry) []byte {
	line = append(line, "time="...)
	line = e.End.AppendFormat(line, "2006-01-02T15:04:05.000Z07:00")
	line = append(line, " level=INFO msg=request id="...)
	line = append(line, e.ID...)
	line = appendText(line, " method=", l.Printable(e.Request.Method))
	line = appendText(line, " path=", l.Printable(e.Request.URL.Path))
	line = append(append(line, " operation="...), e.Operation...)
	line = strconv.AppendInt(append(line, " status="...), int64(e.Status), 10)
	line = strconv.AppendInt(append(line, " bytes="...), int64(e.Response.bytes), 10)
	line = append(append(line, " took="...), e.Took.String()...)
	line = appendText(line, " remote=", e.Request.RemoteAddr)
	if actor := e.Principal.Actor(); actor != "" {
		line = appendText(line, " key=", actor)
	}
	if trace, ok := traceOf(e.Request); ok {
		line = append(append(line, " trace_id="...), trace.id...)
		line = append(append(line, " span_id="...), trace.span...)
	}
	return append(line, '\n')
}

// appendText appends a name, such as " path=", and a text. It quotes the text if it is empty or contains
// spaces, quotes, equals signs, control characters or characters outside ASCII.
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

// Printable makes a text from a client safe to log or display. The result contains no API keys and only
// printable ASCII. Texts are cut off after 200 bytes, not counting escapes.
func (l *AccessLog) Printable(text string) string {
	const maxLength = 200
	text = l.Redact(text)
	if len(text) > maxLength {
		text = text[:maxLength] + "..."
	}
	if !strings.ContainsFunc(text, needsEscape) { // true for nearly all texts
		return text
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

// maxErrorText is the maximum number of bytes of an error in the access log.
const maxErrorText = 2048

// shortened cuts off the text of an error after maxErrorText bytes, without leaving half a character at the
// end.
func shortened(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "..."
}

func needsEscape(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
