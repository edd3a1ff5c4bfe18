// Package tracing exports traces with OpenTelemetry (OTLP over HTTP) if the usual OTEL_* variables ask for it.
package tracing

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// FlushTimeout limits how long Close waits for the collector.
const FlushTimeout = 3 * time.Second

// Provider exports the spans of its tracer in the background, so that no request waits for the collector. Spans that
// the collector does not accept in time are dropped.
type Provider struct {
	sdk    *sdktrace.TracerProvider
	tracer trace.Tracer
}

// Config configures a Provider. All fields are required.
type Config struct {
	Version string
	// Getenv returns the value of an environment variable. The OpenTelemetry SDK does not use Getenv, but reads the
	// environment of the process. Therefore, a test can only pass os.Getenv or a function that turns tracing off.
	Getenv func(string) string
	// Warn is called for each variable with an invalid value.
	Warn func(Warning)
	// Report is called with each error from the exporter. It must not block.
	Report func(error)
}

// Open returns a provider that is configured by the environment, or nil if the environment does not ask for
// traces. It does not connect to the collector.
func Open(ctx context.Context, c Config) (*Provider, error) {
	on, warnings := examine(c.Getenv)
	for _, warning := range warnings {
		c.Warn(warning)
	}
	if !on {
		return nil, nil
	}
	// The SDK would report invalid values again, including headers, which contain secrets.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", "animalstore"), attribute.String("service.version", c.Version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv()) // WithFromEnv is the last option, so that variables override the attributes above
	if err != nil && described == nil {
		return nil, err
	}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(c.Report))
	return &Provider{sdk, sdk.Tracer("animalstore")}, nil
}

// Tracer returns the tracer, or nil if p is nil.
func (p *Provider) Tracer() trace.Tracer {
	if p == nil {
		return nil
	}
	return p.tracer
}

// Traceparent returns a function that returns the traceparent of the span in a context, or "" if there is none. If p
// is nil, it returns nil.
func (p *Provider) Traceparent() func(context.Context) string {
	if p == nil {
		return nil
	}
	return func(ctx context.Context) string {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		return carrier["traceparent"]
	}
}

// maxTracestate is the maximum size of a Tracestate header in bytes. A longer header is dropped, because anybody can
// send one, and spans keep it in memory while they wait for the collector. The standard asks for at least 512 bytes.
const maxTracestate = 512

// extract returns a context with the trace that a request's headers describe.
func extract(r *http.Request) context.Context {
	headers := propagation.HeaderCarrier{"Traceparent": r.Header.Values("Traceparent")}
	if state := r.Header.Values("Tracestate"); len(strings.Join(state, ",")) <= maxTracestate {
		headers["Tracestate"] = state
	}
	return propagation.TraceContext{}.Extract(r.Context(), headers)
}

// Handler returns a handler that starts a span for each request, except for requests for which skip returns true. The
// span continues the trace in the Traceparent header. The access log sets its name and its attributes. If p is nil,
// Handler returns next.
func (p *Provider) Handler(next http.Handler, skip func(*http.Request) bool) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if skip(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx := extract(r)
		ctx, span := p.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End() // end the span even if the handler panics to drop the connection
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Close sends the remaining spans and stops the exporter. It gives up after FlushTimeout.
func (p *Provider) Close() error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), FlushTimeout)
	defer cancel()
	return p.sdk.Shutdown(ctx)
}
