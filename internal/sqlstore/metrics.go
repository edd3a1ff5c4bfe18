package sqlstore

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics contains the store's Prometheus metrics, except those for the connection pool.
type metrics struct {
	writes  prometheus.Gauge
	group   prometheus.Histogram
	commits prometheus.Histogram
	errors  *prometheus.CounterVec
	retries *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		writes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_database_writes_in_progress",
			Help: "Writes that are queued, running or waiting for their commit.",
		}),
		group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_database_write_group_size",
			Help:    "Number of writes that shared a commit; at most 256. On PostgreSQL, only creates and orders do.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_database_commit_duration_seconds",
			Help:    "Time until a commit was durable.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_database_errors_total",
			Help: "Reads and writes that failed because of the database, by kind of error.",
		}, []string{"kind"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_database_retries_total",
			Help: "Transactions that were retried (PostgreSQL only), by kind of error.",
		}, []string{"kind"}),
	}
	for kind := range readyMessages {
		// Export the counters as 0 from the start, so that the first error is visible as an increase.
		m.errors.WithLabelValues(string(kind))
		m.retries.WithLabelValues(string(kind))
	}
	return m
}

// Collectors returns the Prometheus collectors for the store and its engine.
func (s *Store) Collectors() []prometheus.Collector {
	m := s.metrics
	return append(s.engine.collectors(), m.writes, m.group, m.commits, m.errors, m.retries)
}

// countError increments the error counter if isFailure reports that err is a failure.
func (m *metrics) countError(ctx context.Context, err error) {
	if err != nil && isFailure(ctx, err) {
		m.errors.WithLabelValues(string(classify(err))).Inc()
	}
}

// commit commits a transaction by calling do, and records how long that takes.
func (m *metrics) commit(do func() error) error {
	start := time.Now()
	err := do()
	m.commits.Observe(time.Since(start).Seconds())
	return err
}

// collectors returns the metrics that only this engine has.
func (s *sqliteEngine) collectors() []prometheus.Collector { return nil }
