package engine

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// The span of a group belongs to its first traced write and is linked to the others.
func TestSpanOfGroupIsLinkedToItsWrites(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	first, firstSpan := tracer.Start(t.Context(), "first")
	second, secondSpan := tracer.Start(t.Context(), "second")
	s := &Spans{Tracer: tracer, System: "postgresql", Code: func(error) (string, bool) { return "internal_error", true }}
	s.Group(s.Now(), []*Write{{Ctx: t.Context()}, {Ctx: first}, {Ctx: second}}, ErrClosed)
	s.Group(s.Now(), []*Write{{Ctx: t.Context()}}, nil) // this group has no span, because no write is traced
	ended := recorder.Ended()
	if len(ended) != 1 {
		t.Fatalf("got %d spans, want one", len(ended))
	}
	got := ended[0]
	if got.Parent().SpanID() != firstSpan.SpanContext().SpanID() || len(got.Links()) != 1 ||
		got.Links()[0].SpanContext.SpanID() != secondSpan.SpanContext().SpanID() {
		t.Errorf("got the parent %v and the links %v, want the first write and the second", got.Parent(), got.Links())
	}
	want := []attribute.KeyValue{attribute.String("db.system.name", "postgresql"), attribute.Int("animalstore.group.size", 3),
		attribute.String("error.type", "internal_error")}
	if !slices.Equal(got.Attributes(), want) || got.Status() != (sdktrace.Status{Code: codes.Error}) {
		t.Errorf("got %v and %v, want %v and an error", got.Attributes(), got.Status(), want)
	}
}

// While tracing is off, transactions and groups allocate nothing for it.
func TestNoTracerAllocatesNothingForSpans(t *testing.T) {
	var s *Spans
	writes := []*Write{{Ctx: t.Context()}}
	if n := testing.AllocsPerRun(100, func() {
		_, span := s.Start(t.Context(), "store.write")
		s.Group(s.Now(), writes, nil)
		s.End(span, ErrClosed)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
