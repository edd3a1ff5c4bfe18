package tracing

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"animalstore/internal/otlptest"
)

const traceID, spanID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

func open(t *testing.T, report func(error)) *Provider {
	t.Helper()
	p, err := Open(t.Context(), Config{
		Version: "1.2.3", Getenv: os.Getenv, Report: report,
		Warn: func(w Warning) { t.Errorf("got the warning %v, want none", w) },
	})
	if err != nil || p == nil {
		t.Fatalf("got %v, %v, want a provider", p, err)
	}
	return p
}

func never(*http.Request) bool { return false }

func TestRequestContinuesTheTraceOfItsClient(t *testing.T) {
	collector := otlptest.NewCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_SERVICE_NAME", "shop-north")
	p := open(t, func(err error) { t.Error(err) })
	var inHandler trace.SpanContext
	handler := p.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		inHandler = trace.SpanContextFromContext(r.Context())
		panic(http.ErrAbortHandler)
	}), func(r *http.Request) bool { return r.URL.Path == "/skipped" })
	for _, path := range []string{"/skipped", "/traced"} {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
		func() {
			defer func() { recover() }()
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if inHandler.IsValid() != (path == "/traced") {
			t.Errorf("%s: got the span %v", path, inHandler)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	spans := collector.Spans()
	if len(spans) != 1 || spans[0].TraceID != traceID || spans[0].ParentID != spanID || spans[0].ID != inHandler.SpanID().String() {
		t.Fatalf("got %+v, want one span that continues the trace", spans)
	}
	if r := spans[0].Resource; r["service.name"] != "shop-north" || r["service.version"] != "1.2.3" || r["service.instance.id"] == "" {
		t.Errorf("got the resource %v, want the name, the version and the instance", r)
	}
}

// A Tracestate header that is too long is dropped, because a span keeps it in memory until the collector has received
// the span. The trace continues without the header.
func TestLongTracestateIsDropped(t *testing.T) {
	t.Parallel()
	member := "a=" + strings.Repeat("v", 253)
	for _, test := range []struct{ sent, want []string }{
		{nil, nil},
		{[]string{"a=1,b=2"}, []string{"a=1,b=2"}},
		{[]string{member + ",b" + member}, []string{member + ",b" + member}}, // exactly 512 bytes
		{[]string{member + ",bb" + member}, nil},
		{[]string{member, "bb" + member}, nil},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
		r.Header["Tracestate"] = test.sent
		got := trace.SpanContextFromContext(extract(r))
		if want := strings.Join(test.want, ","); got.TraceState().String() != want || got.TraceID().String() != traceID {
			t.Errorf("got the trace %v with the state %q, want %q", got.TraceID(), got.TraceState(), want)
		}
	}
}

// If the collector cannot be reached, the exporter reports this, requests are served as usual, and Close does not wait
// for long.
func TestUnreachableCollectorIsReportedAndHoldsUpNothing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // its port now refuses connections
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.URL+"/v1/traces")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "10")
	reported := make(chan error, 1)
	p := open(t, func(err error) {
		select {
		case reported <- err:
		default:
		}
	})
	served := 0
	handler := p.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }), never)
	for range 10_000 { // start more spans than the queue holds
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	if err := <-reported; err == nil || served != 10_000 {
		t.Errorf("got %v after %d requests, want an error after all", err, served)
	}
	start := time.Now()
	// Whether Close returns an error depends on what is left in the queue.
	_ = p.Close()
	if took := time.Since(start); took > 10*FlushTimeout {
		t.Errorf("Close took %v, want about %v at most", took, FlushTimeout)
	}
}

func TestTracesAreOffUnlessVariablesAskForThem(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
	for variables, want := range map[string]struct {
		on      bool
		warning string // the variable in the only warning; empty if there is no warning
	}{
		"":                       {},
		"OTEL_SERVICE_NAME=shop": {},
		endpoint:                 {on: true},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://a.example/x":   {on: true},
		"OTEL_TRACES_EXPORTER=otlp":                                {on: true},
		endpoint + " OTEL_SDK_DISABLED=TRUE":                       {},
		endpoint + " OTEL_SDK_DISABLED=yes":                        {true, "OTEL_SDK_DISABLED"},
		endpoint + " OTEL_TRACES_EXPORTER=none":                    {},
		endpoint + " OTEL_TRACES_EXPORTER=zipkin":                  {false, "OTEL_TRACES_EXPORTER"},
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc":             {false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf":    {on: true},
		"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318":               {false, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		endpoint + " OTEL_TRACES_SAMPLER=sometimes":                {true, "OTEL_TRACES_SAMPLER"},
		endpoint + " OTEL_TRACES_SAMPLER=traceidratio":             {on: true},
		endpoint + " OTEL_TRACES_SAMPLER_ARG=2":                    {true, "OTEL_TRACES_SAMPLER_ARG"},
		endpoint + " OTEL_TRACES_SAMPLER_ARG=0.25":                 {on: true},
		endpoint + " OTEL_EXPORTER_OTLP_HEADERS=secret":            {true, "OTEL_EXPORTER_OTLP_HEADERS"},
		endpoint + " OTEL_EXPORTER_OTLP_HEADERS=key=secret,a=b":    {on: true},
		endpoint + " OTEL_EXPORTER_OTLP_TIMEOUT=10s":               {true, "OTEL_EXPORTER_OTLP_TIMEOUT"},
		endpoint + " OTEL_BSP_MAX_QUEUE_SIZE=-1":                   {true, "OTEL_BSP_MAX_QUEUE_SIZE"},
		endpoint + " OTEL_EXPORTER_OTLP_COMPRESSION=zip":           {true, "OTEL_EXPORTER_OTLP_COMPRESSION"},
		endpoint + " OTEL_EXPORTER_OTLP_CERTIFICATE=/does/not/be":  {true, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		endpoint + " OTEL_RESOURCE_ATTRIBUTES=deployment":          {true, "OTEL_RESOURCE_ATTRIBUTES"},
		endpoint + " OTEL_RESOURCE_ATTRIBUTES=a=%zz":               {true, "OTEL_RESOURCE_ATTRIBUTES"},
		endpoint + " OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json": {false, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
	} {
		environment := map[string]string{}
		for _, variable := range strings.Fields(variables) {
			name, value, _ := strings.Cut(variable, "=")
			environment[name] = value
		}
		on, warnings := examine(func(name string) string { return environment[name] })
		warned := ""
		for _, w := range warnings {
			warned += w.Variable
			if w.Problem == "" || strings.Contains(w.Problem, "secret") {
				t.Errorf("%s: got the problem %q, want one without the value", variables, w.Problem)
			}
		}
		if on != want.on || warned != want.warning {
			t.Errorf("%s: got %v and a warning about %q, want %v and %q", variables, on, warned, want.on, want.warning)
		}
	}
}

// If tracing is off, there is no provider and no tracer, and Handler returns the given handler unchanged.
func TestTracingThatIsOffIsNotInstalled(t *testing.T) {
	t.Parallel()
	p, err := Open(t.Context(), Config{Getenv: func(string) string { return "" }})
	mux := http.NewServeMux()
	if got := p.Handler(mux, never); p != nil || err != nil || got != http.Handler(mux) || p.Tracer() != nil || p.Traceparent() != nil || p.Close() != nil {
		t.Errorf("got %v, %v, %v, want nothing", p, err, got)
	}
}
