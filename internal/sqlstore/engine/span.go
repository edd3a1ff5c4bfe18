package engine

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Spans starts the spans of a database. A nil *Spans starts none.
type Spans struct {
	Tracer trace.Tracer
	System string // the name of the database system, such as sqlite
	// Code returns the code of an error, and whether the error is a failure and not merely a refused request.
	Code func(error) (code string, failure bool)
}

// Start starts a span for a transaction of a traced request. It returns no span for any other transaction, such as
// that of a background job.
func (s *Spans) Start(ctx context.Context, name string) (context.Context, trace.Span) {
	if s == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	return s.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(s.system()))
}

func (s *Spans) system() attribute.KeyValue { return attribute.String("db.system.name", s.System) }

// Now returns the current time. It returns the zero time if there are no spans, so that the clock is not read
// needlessly.
func (s *Spans) Now() (start time.Time) {
	if s != nil {
		start = time.Now()
	}
	return start
}

// Group records the span of a group of writes that began at start and ends now. The span belongs to the first write
// that is traced, and has links to the others.
func (s *Spans) Group(start time.Time, group []*Write, err error) {
	if s == nil {
		return
	}
	var parent context.Context
	var links []trace.Link
	for _, w := range group {
		switch write := trace.SpanContextFromContext(w.Ctx); {
		case !write.IsSampled():
		case parent == nil:
			parent = w.Ctx
		default:
			links = append(links, trace.Link{SpanContext: write})
		}
	}
	if parent == nil {
		return
	}
	_, span := s.Tracer.Start(parent, "store.group", trace.WithTimestamp(start), trace.WithLinks(links...),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(s.system(), attribute.Int("animalstore.group.size", len(group))))
	s.End(span, err)
}

// End ends a span, which may be nil. It records only the code of an error, because the message may contain data that a
// client has sent.
func (s *Spans) End(span trace.Span, err error) {
	if span == nil {
		return
	}
	if err != nil {
		code, failure := s.Code(err)
		span.SetAttributes(attribute.String("error.type", code))
		if failure {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}
