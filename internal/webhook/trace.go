package webhook

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
)

// trace calls send with the span of an attempt, which belongs to the trace of the request that caused the event. If
// that request was not traced, the span begins a new trace.
func (d *Dispatcher) trace(ctx context.Context, claim shop.Claim, send func(context.Context) shop.Attempt) {
	if d.tracer == nil {
		send(ctx)
		return
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": claim.Traceparent})
	ctx, span := d.tracer.Start(ctx, "webhook.deliver", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", "POST"), attribute.String("animalstore.event_id", claim.EventID),
		attribute.Int("animalstore.attempt", len(claim.Attempts)+1)))
	defer span.End()
	attempt := send(ctx)
	if attempt.Status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", attempt.Status))
	}
	if attempt.Status < 200 || attempt.Status > 299 {
		span.SetStatus(codes.Error, "")
	}
}
