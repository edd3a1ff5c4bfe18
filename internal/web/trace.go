package web

import (
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// traceIDs identifies the distributed trace that a request belongs to. See
// https://www.w3.org/TR/trace-context/.
type traceIDs struct{ id, span string }

// traceOf returns the ids of the trace that a request belongs to and of a span in it: the span of this service if
// tracing is on, otherwise the span of the client. ok is false if the request belongs to no trace.
func traceOf(r *http.Request) (t traceIDs, ok bool) {
	if span := trace.SpanContextFromContext(r.Context()); span.IsValid() {
		return traceIDs{span.TraceID().String(), span.SpanID().String()}, true
	}
	return parseTraceparent(r.Header.Values("Traceparent"))
}

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// describe names the span of a request and adds attributes. Neither contains text that the client has sent.
func (e Entry) describe(span trace.Span) {
	if !span.IsRecording() {
		return
	}
	method := e.Request.Method
	if !slices.Contains(knownMethods, method) {
		method = "_OTHER"
	}
	span.SetName(method + " " + e.Operation)
	span.SetAttributes(
		attribute.String("http.request.method", method), attribute.Int("http.response.status_code", e.Status),
		attribute.String("animalstore.operation", e.Operation), attribute.String("animalstore.request_id", e.ID))
	if e.Route != "" {
		span.SetName(method + " " + e.Route)
		span.SetAttributes(attribute.String("http.route", e.Route))
	}
	if e.isFault(e.Stopping) {
		span.SetStatus(codes.Error, "")
	}
}

// parseTraceparent parses the values of the Traceparent header. As the standard requires, it ignores a
// header that is malformed or was sent more than once.
func parseTraceparent(values []string) (t traceIDs, ok bool) {
	if len(values) != 1 {
		return traceIDs{}, false
	}
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	text := values[0]
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return traceIDs{}, false
	}
	version, id, span, flags := text[:2], text[3:35], text[36:52], text[53:length]
	// Later versions may append more fields. Version ff is forbidden.
	if version == "00" && len(text) > length || len(text) > length && text[length] != '-' || version == "ff" {
		return traceIDs{}, false
	}
	if !isHex(version) || !isHex(id) || !isHex(span) || !isHex(flags) || isZero(id) || isZero(span) {
		return traceIDs{}, false
	}
	return traceIDs{id, span}, true
}

// isHex reports whether text consists only of lowercase hexadecimal digits.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

func isZero(digits string) bool { return strings.Trim(digits, "0") == "" }
