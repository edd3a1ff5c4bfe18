package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// statusGone stands in the log and the metrics for a client that went away before its answer: no fault of ours.
const statusGone = 499

// note counts a request and writes its line into the log. What happens outside the interface, and well, is not worth a
// line: health checks come every second.
func (a *API) note(c *call, at time.Time, took time.Duration, err error) {
	operation := "none"
	if c.route != nil {
		operation = c.route.operation
	}
	status := c.w.status
	if errors.Is(err, context.Canceled) && c.r.Context().Err() != nil {
		status = statusGone
	}
	a.metrics.count(operation, status, took, c.streamed)
	level := slog.LevelInfo
	if c.cut && status != statusGone || status >= 500 && !(a.isStopping() && isRefusal(err)) { // that it stops is no fault
		level = slog.LevelError
	} else if status < 400 && c.route != nil && !isOrBelow(c.r.URL.Path, "/v1") {
		level = slog.LevelDebug
	}
	ctx := c.r.Context()
	if !a.Log.Enabled(ctx, level) {
		return
	}
	if level == slog.LevelInfo && err == nil && a.Lines != nil {
		a.Lines.Write(a.line(make([]byte, 0, 256), c, at, operation, status, took)) // nobody could be told of an error
		return
	}
	line := slog.NewRecord(at, level, "request", 0) // where it is written is no news
	line.AddAttrs(
		slog.String("id", c.id), slog.String("method", a.printable(c.r.Method)), slog.String("path", a.printable(c.r.URL.Path)),
		slog.String("operation", operation), slog.Int("status", status), slog.Int("bytes", c.w.bytes),
		slog.Duration("took", took), slog.String("remote", c.r.RemoteAddr))
	if actor := c.principal.Actor(); actor != "" {
		line.AddAttrs(slog.String("key", actor))
	}
	if trace, ok := traceOf(c.r.Header["Traceparent"]); ok {
		line.AddAttrs(slog.String("trace_id", trace.id), slog.String("span_id", trace.span))
	}
	if err != nil {
		line.AddAttrs(slog.String("error", a.Service.Redact(err.Error())))
	}
	if c.stack != "" {
		line.AddAttrs(slog.String("stack", c.stack))
	}
	a.Log.Handler().Handle(ctx, line) // nobody could be told of an error
}

// isRefusal tells whether an error is one that nothing has caused but the state of this node.
func isRefusal(err error) bool {
	e := shop.AsError(err)
	return e.Code == shop.Unavailable && e.Unwrap() == nil
}

// printable makes a text of the client's fit for a line of ours: short, in visible characters, without a key.
func (a *API) printable(text string) string {
	text = a.Service.Redact(text)
	const most = 200
	if len(text) > most {
		text = text[:most] + "..."
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}
