package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics contains the Prometheus metrics that both engines record.
type Metrics struct {
	Group   prometheus.Histogram
	Commits prometheus.Histogram
	Retries *prometheus.CounterVec
}

// NewMetrics returns the metrics of one database.
func NewMetrics() *Metrics {
	m := &Metrics{
		Group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_database_write_group_size",
			Help:    "Number of writes that shared a commit; at most 256. On PostgreSQL, only creates and orders do.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		Commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_database_commit_duration_seconds",
			Help:    "Time until a commit was durable.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		Retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_database_retries_total",
			Help: "Transactions that were retried (PostgreSQL only), by kind of error.",
		}, []string{"kind"}),
	}
	for _, kind := range Kinds {
		// Export the counters as 0 from the start, so that the first retry is visible as an increase.
		m.Retries.WithLabelValues(string(kind))
	}
	return m
}

// Collectors returns the metrics for registration.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.Group, m.Commits, m.Retries}
}

// Commit commits a transaction by calling do, and records how long that takes.
func (m *Metrics) Commit(do func() error) error {
	start := time.Now()
	err := do()
	m.Commits.Observe(time.Since(start).Seconds())
	return err
}
