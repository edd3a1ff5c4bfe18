package sqlstore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
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
