package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Collectors returns the metrics that only this engine has.
func (e *Engine) Collectors() []prometheus.Collector {
	return []prometheus.Collector{poolCollector{e}, e.timelineRefusals, newTimelineGauge(&e.timelines), newCacheGauge(e.detector)}
}

// poolCollector exports statistics about the connection pool. It uses the names, types, labels and help texts
// of the Prometheus collector for database/sql (collectors.NewDBStatsCollector), because dashboards and
// alerts for that collector already exist.
type poolCollector struct{ engine *Engine }

type poolMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Engine, *pgxpool.Stat) float64
}

var poolMetrics = []poolMetric{
	newPoolMetric("max_open_connections", prometheus.GaugeValue,
		"Maximum number of open connections to the database.",
		func(_ *Engine, s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }),
	newPoolMetric("open_connections", prometheus.GaugeValue,
		"The number of established connections both in use and idle.",
		func(_ *Engine, s *pgxpool.Stat) float64 { return float64(s.TotalConns()) }),
	newPoolMetric("in_use_connections", prometheus.GaugeValue,
		"The number of connections currently in use.",
		func(_ *Engine, s *pgxpool.Stat) float64 { return float64(s.TotalConns() - s.IdleConns()) }),
	newPoolMetric("idle_connections", prometheus.GaugeValue,
		"The number of idle connections.",
		func(_ *Engine, s *pgxpool.Stat) float64 { return float64(s.IdleConns()) }),
	newPoolMetric("wait_count_total", prometheus.CounterValue,
		"The total number of connections waited for.",
		func(e *Engine, s *pgxpool.Stat) float64 {
			return float64(s.EmptyAcquireCount() + e.failedWaits.Load())
		}),
	newPoolMetric("wait_duration_seconds_total", prometheus.CounterValue,
		"The total time blocked waiting for a new connection.",
		func(e *Engine, s *pgxpool.Stat) float64 {
			return (s.EmptyAcquireWaitTime() + time.Duration(e.failedWaitTime.Load())).Seconds()
		}),
	newPoolMetric("max_idle_closed_total", prometheus.CounterValue,
		"The total number of connections closed due to SetMaxIdleConns.",
		func(*Engine, *pgxpool.Stat) float64 { return 0 }), // pgxpool has no limit for idle connections
	newPoolMetric("max_idle_time_closed_total", prometheus.CounterValue,
		"The total number of connections closed due to SetConnMaxIdleTime.",
		func(_ *Engine, s *pgxpool.Stat) float64 { return float64(s.MaxIdleDestroyCount()) }),
	newPoolMetric("max_lifetime_closed_total", prometheus.CounterValue,
		"The total number of connections closed due to SetConnMaxLifetime.",
		func(_ *Engine, s *pgxpool.Stat) float64 { return float64(s.MaxLifetimeDestroyCount()) }),
}

func newPoolMetric(
	name string, kind prometheus.ValueType, help string, value func(*Engine, *pgxpool.Stat) float64,
) poolMetric {
	return poolMetric{prometheus.NewDesc("go_sql_"+name, help, nil, prometheus.Labels{"db_name": "animalstore"}), kind, value}
}

func (c poolCollector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range poolMetrics {
		to <- m.desc
	}
}

func (c poolCollector) Collect(to chan<- prometheus.Metric) {
	stat := c.engine.pool.Stat()
	for _, m := range poolMetrics {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(c.engine, stat))
	}
}

func newTimelineRefusals() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "animalstore_postgres_timeline_refusals_total",
		Help: "Times that a PostgreSQL server was refused because it has lost a part of its history or belongs to another cluster.",
	})
}

func newTimelineGauge(timelines *timelineGuard) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_postgres_timeline",
		Help: "Highest timeline of PostgreSQL that this node has seen; 0 if the server does not say.",
	}, func() float64 { return float64(timelines.highest().Number) })
}

func newCacheGauge(d *changeDetector) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_postgres_response_cache_usable",
		Help: "Whether cached responses can be confirmed by the PostgreSQL server (1) or every read asks the database (0).",
	}, func() float64 {
		if d.session.Load() == nil {
			return 0
		}
		return 1
	})
}
