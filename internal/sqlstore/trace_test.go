package sqlstore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"animalstore/internal/shop"
)

// Each transaction of a traced request has a span. If a write of the request is in a group, the group has a span, too.
func TestTransactionsOfTracedRequestsHaveSpans(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	store, err := Open(t.Context(), t.TempDir()+"/store.db", Options{Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	traced, request := tracer.Start(t.Context(), "request")
	for _, ctx := range []context.Context{t.Context(), traced} { // only the second context is traced
		if err := store.Read(ctx, shop.Reading{}, func(shop.ReadTx) error { return nil }); err != nil {
			t.Error(err)
		}
		refused := shop.Errorf(shop.PetNotFound, "secret")
		if err := store.Write(ctx, shop.Writing{}, func(shop.WriteTx) error { return refused }); !errors.Is(err, refused) {
			t.Error(err)
		}
	}
	var names []string
	for _, span := range recorder.Ended() {
		names = append(names, span.Name())
		if !slices.Contains(span.Attributes(), attribute.String("db.system.name", "sqlite")) {
			t.Errorf("%s: got the attributes %v, want the engine", span.Name(), span.Attributes())
		}
		if span.Name() == "store.write" && !slices.Contains(span.Attributes(), attribute.String("error.type", "pet_not_found")) {
			t.Errorf("got the attributes %v, want the code of the error", span.Attributes())
		}
		if span.Status() != (sdktrace.Status{}) || span.SpanContext().TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%s: got %v in the trace %v", span.Name(), span.Status(), span.SpanContext().TraceID())
		}
	}
	if want := []string{"store.read", "store.group", "store.write"}; !slices.Equal(names, want) {
		t.Errorf("got the spans %q, want %q", names, want)
	}
}

// The span of a group belongs to its first traced member and is linked to the others.
func TestSpanOfGroupIsLinkedToItsMembers(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	first, firstSpan := tracer.Start(t.Context(), "first")
	second, secondSpan := tracer.Start(t.Context(), "second")
	s := newSpans(Options{Tracer: tracer}, "postgres://db.example/shop")
	s.group(s.now(), []*member{{ctx: t.Context()}, {ctx: first}, {ctx: second}}, errClosed)
	s.group(s.now(), []*member{{ctx: t.Context()}}, nil) // this group has no span, because no member is traced
	ended := recorder.Ended()
	if len(ended) != 1 {
		t.Fatalf("got %d spans, want one", len(ended))
	}
	got := ended[0]
	if got.Parent().SpanID() != firstSpan.SpanContext().SpanID() || len(got.Links()) != 1 ||
		got.Links()[0].SpanContext.SpanID() != secondSpan.SpanContext().SpanID() {
		t.Errorf("got the parent %v and the links %v, want the first member and the second", got.Parent(), got.Links())
	}
	want := []attribute.KeyValue{attribute.String("db.system.name", "postgresql"), attribute.Int("animalstore.group.size", 3),
		attribute.String("error.type", "internal_error")}
	if !slices.Equal(got.Attributes(), want) || got.Status() != (sdktrace.Status{Code: codes.Error}) {
		t.Errorf("got %v and %v, want %v and an error", got.Attributes(), got.Status(), want)
	}
}

// While tracing is off, transactions and groups allocate nothing for it.
func TestStoreWithoutTracerAllocatesNothingForSpans(t *testing.T) {
	var s *spans
	members := []*member{{ctx: t.Context()}}
	if n := testing.AllocsPerRun(100, func() {
		_, span := s.start(t.Context(), "store.write")
		s.group(s.now(), members, nil)
		endSpan(span, errClosed)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
