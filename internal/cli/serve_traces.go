package cli

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"animalstore/internal/admission"
	"animalstore/internal/httpapi"
	"animalstore/internal/tracing"
	"animalstore/internal/version"
)

// openTraces sets up the traces that the OTEL_* variables ask for. It returns nil if they ask for none, or if the
// exporter cannot be set up, because the service must start even then.
func openTraces(ctx context.Context, log *slog.Logger, throttle *admission.LogThrottle) *tracing.Provider {
	traces, err := tracing.Open(ctx, tracing.Config{
		Version: version.Number,
		Getenv:  os.Getenv,
		Warn: func(w tracing.Warning) {
			log.Warn("an OpenTelemetry variable is invalid", "variable", w.Variable, "problem", w.Problem)
		},
		// All errors of the exporter are logged under the kind "traces", so that the throttle recognizes them as
		// repeats. Their texts could not serve as the kind, because the text of a repeated error differs each time.
		Report: func(err error) {
			throttle.Log(log, admission.BackgroundErrors, slog.LevelWarn, "traces", "cannot export traces", "error", err)
		},
	})
	if err != nil {
		log.Warn("cannot set up traces; traces are off", "error", err)
	}
	return traces
}

// traced returns a handler that starts a span for each request, except for probes, which would fill the collector.
func traced(traces *tracing.Provider, handler http.Handler) http.Handler {
	return traces.Handler(handler, httpapi.IsProbe)
}

// closeTraces exports the remaining traces.
func closeTraces(traces *tracing.Provider, log *slog.Logger) {
	if err := traces.Close(); err != nil {
		log.Warn("cannot export the last traces", "error", err)
	}
}
