package web

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
)

// A request's span contains the same information as its log line, except for texts that the client has sent. The log
// line contains the ids of the trace and the span.
func TestSpanDescribesTheRequest(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	for _, lines := range []bool{false, true} {
		var log bytes.Buffer
		access := &AccessLog{Log: slog.New(slog.NewTextHandler(&log, nil)), Redact: (&shop.Service{}).Redact}
		if lines {
			access.Lines = &log
		}
		for _, e := range []Entry{
			{Outcome: Outcome{Status: 200}, Operation: "getPet", Route: "/v1/pets/{petId}"},
			{Outcome: Outcome{Status: 500, Err: errors.New("secret")}, Operation: "staff.home"},
		} {
			log.Reset()
			r := httptest.NewRequest("GET", "/v1/pets/secret?q=secret", nil)
			if e.Err != nil {
				r.Method = "SECRET"
			}
			ctx, span := tracer.Start(t.Context(), "HTTP")
			r.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
			e.ID, e.Request, e.Response = "abcdefgh", r.WithContext(ctx), &Recorder{}
			access.Write(e)
			span.End()
			ended := recorder.Ended()
			got := ended[len(ended)-1]
			attributes := ""
			for _, a := range got.Attributes() {
				attributes += string(a.Key) + "=" + a.Value.String() + " "
			}
			name, want, code := "GET /v1/pets/{petId}", "http.request.method=GET http.response.status_code=200 "+
				"animalstore.operation=getPet animalstore.request_id=abcdefgh http.route=/v1/pets/{petId} ", codes.Unset
			if e.Err != nil {
				name, want, code = "_OTHER staff.home", "http.request.method=_OTHER http.response.status_code=500 "+
					"animalstore.operation=staff.home animalstore.request_id=abcdefgh ", codes.Error
			}
			if got.Name() != name || attributes != want || got.Status() != (sdktrace.Status{Code: code}) {
				t.Errorf("got %s with %s and %v, want %s with %s and %v", got.Name(), attributes, got.Status(), name, want, code)
			}
			ids := " trace_id=" + got.SpanContext().TraceID().String() + " span_id=" + got.SpanContext().SpanID().String()
			if line := log.String(); !strings.Contains(line, " id=abcdefgh ") || !strings.Contains(line, ids) {
				t.Errorf("got the line %q, want%s in it", line, ids)
			}
		}
	}
}

// While tracing is off, looking for the span of a request allocates nothing.
func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	e := Entry{Outcome: Outcome{Status: 200}, Operation: "getPet", Request: httptest.NewRequest("GET", "/v1/pets/1", nil)}
	if n := testing.AllocsPerRun(100, func() {
		e.describe(trace.SpanFromContext(e.Request.Context()))
		if _, ok := traceOf(e.Request); ok {
			t.Error("the request has a trace")
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
