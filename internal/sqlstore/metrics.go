package sqlstore

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/sqlstore/engine"
)

// metrics contains the store's Prometheus metrics.
type metrics struct {
	engine *engine.Metrics
	writes prometheus.Gauge
	errors *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		engine: engine.NewMetrics(),
		writes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_database_writes_in_progress",
			Help: "Writes that are queued, running or waiting for their commit.",
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_database_errors_total",
			Help: "Reads and writes that failed because of the database, by kind of error.",
		}, []string{"kind"}),
	}
	for _, kind := range engine.Kinds {
		// Export the counters as 0 from the start, so that the first error is visible as an increase.
		m.errors.WithLabelValues(string(kind))
	}
	return m
}

// Collectors returns the Prometheus collectors for the store and its engine.
func (s *Store) Collectors() []prometheus.Collector {
	m := s.metrics
	return append(append(s.engine.Collectors(), m.engine.Collectors()...), m.writes, m.errors)
}

// countError increments the error counter if isFailure reports that err is a failure.
func (m *metrics) countError(ctx context.Context, err error) {
	if err != nil && isFailure(ctx, err) {
		m.errors.WithLabelValues(string(engine.KindOf(err))).Inc()
	}
}
