package sqlstore

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what an operator watches of a database.
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
			Help: "Writes that wait for their turn, run, or wait for the commit.",
		}),
		group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_database_write_group_size",
			Help:    "How many writes shared a commit, on a file; up to 256.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_database_commit_duration_seconds",
			Help:    "How long it took until a commit was durable.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_database_errors_total",
			Help: "Reads and writes that the database did not do, by kind.",
		}, []string{"kind"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_database_retries_total",
			Help: "Transactions that were run again on a server, by kind of what they failed of.",
		}, []string{"kind"}),
	}
	for kind := range readyMessages {
		m.errors.WithLabelValues(string(kind)) // shown from the beginning, so that a first one is an increase
		m.retries.WithLabelValues(string(kind))
	}
	return m
}

// Collectors are what an operator watches of the database.
func (s *Store) Collectors() []prometheus.Collector {
	m := s.metrics
	return append(s.engine.collectors(), m.writes, m.group, m.commits, m.errors, m.retries)
}

// countError counts what the database did not do.
func (m *metrics) countError(ctx context.Context, err error) {
	if err != nil && isFailure(ctx, err) {
		m.errors.WithLabelValues(string(classify(err))).Inc()
	}
}

// commit measures a commit.
func (m *metrics) commit(do func() error) error {
	start := time.Now()
	err := do()
	m.commits.Observe(time.Since(start).Seconds())
	return err
}
