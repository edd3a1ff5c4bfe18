package httpapi

import (
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// note counts a request and writes its line into the log. What happens outside the interface, and well, is not worth a
// line: health checks come every second.
func (a *API) note(c *call, took time.Duration, err error) {
	operation := "none"
	if c.route != nil {
		operation = c.route.operation
	}
	a.metrics.count(operation, c.w.status, took)
	level := slog.LevelInfo
	if c.w.status >= 500 {
		level = slog.LevelError
	} else if c.route != nil && !isOrBelow(c.r.URL.Path, "/v1") {
		level = slog.LevelDebug
	}
	ctx := c.r.Context()
	if !a.Log.Enabled(ctx, level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("id", c.id), slog.String("method", printable(c.r.Method)), slog.String("path", printable(c.r.URL.Path)),
		slog.String("operation", operation), slog.Int("status", c.w.status), slog.Int("bytes", c.w.bytes),
		slog.Duration("took", took), slog.String("remote", c.r.RemoteAddr),
	}
	if actor := c.principal.Actor(); actor != "" {
		attributes = append(attributes, slog.String("key", actor))
	}
	if err != nil {
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	if c.stack != "" {
		attributes = append(attributes, slog.String("stack", c.stack))
	}
	a.Log.LogAttrs(ctx, level, "request", attributes...)
}

// secrets finds keys that somebody put where they do not belong.
var secrets = regexp.MustCompile(`ask_(live|test)_[0-9A-Za-z_]+`)

// printable makes a text of the client's fit for a line of ours: short, in visible characters, without a key.
func printable(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "..."
	}
	if strings.Contains(text, "ask_") {
		text = secrets.ReplaceAllString(text, "ask_${1}_REDACTED")
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}
