package sqlstore

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/shop"
)

// spans starts the spans of a store. A nil *spans starts none.
type spans struct {
	tracer trace.Tracer
	engine attribute.KeyValue
}

func newSpans(o Options, database string) *spans {
	if o.Tracer == nil {
		return nil
	}
	engine := "sqlite"
	if IsURL(database) {
		engine = "postgresql"
	}
	return &spans{o.Tracer, attribute.String("db.system.name", engine)}
}

// start starts a span for a transaction of a traced request. It returns no span for any other transaction, such as
// that of a background job.
func (s *spans) start(ctx context.Context, name string) (context.Context, trace.Span) {
	if s == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	return s.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(s.engine))
}

// now returns the current time. It returns the zero time if there are no spans, so that the clock is not read
// needlessly.
func (s *spans) now() (start time.Time) {
	if s != nil {
		start = time.Now()
	}
	return start
}

// group records the span of a group of writes that began at start and ends now. The span belongs to the first member
// that is traced, and has links to the others.
func (s *spans) group(start time.Time, members []*member, err error) {
	if s == nil {
		return
	}
	var parent context.Context
	var links []trace.Link
	for _, m := range members {
		switch write := trace.SpanContextFromContext(m.ctx); {
		case !write.IsSampled():
		case parent == nil:
			parent = m.ctx
		default:
			links = append(links, trace.Link{SpanContext: write})
		}
	}
	if parent == nil {
		return
	}
	_, span := s.tracer.Start(parent, "store.group", trace.WithTimestamp(start), trace.WithLinks(links...),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(s.engine, attribute.Int("animalstore.group.size", len(members))))
	endSpan(span, err)
}

// endSpan ends a span, which may be nil. It records only the code of an error, because the message may contain data
// that a client has sent.
func endSpan(span trace.Span, err error) {
	if span == nil {
		return
	}
	if err != nil {
		code := shop.AsError(err).Code
		span.SetAttributes(attribute.String("error.type", string(code)))
		if code == shop.Internal || code == shop.Unavailable { // any other code means that a rule refused the request
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}
