package webhook

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
)

// startSpan starts the span of an attempt. The span belongs to the trace of the request that caused the event, or
// begins a new trace if that request was not traced. While tracing is off, the returned span is nil.
func (d *Dispatcher) startSpan(ctx context.Context, message shop.Message) (context.Context, trace.Span) {
	if d.tracer == nil {
		return ctx, nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": message.Traceparent})
	return d.tracer.Start(ctx, "webhook.deliver", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", "POST"), attribute.String("animalstore.event_id", message.EventID),
		attribute.Int("animalstore.attempt", len(message.Attempts)+1)))
}

// endSpan ends the span of an attempt. The span may be nil.
func endSpan(span trace.Span, attempt shop.Attempt) {
	if span == nil {
		return
	}
	if attempt.Status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", attempt.Status))
	}
	if attempt.Status < 200 || attempt.Status > 299 {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
