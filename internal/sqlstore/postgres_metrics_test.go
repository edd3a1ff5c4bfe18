package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"animalstore/internal/shop"
)

// The pool's metrics have the same names, types, labels and help texts as the metrics from the Prometheus
// collector for database/sql.
func TestPoolMetricsAreThoseOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{})
	var empty sql.DB
	got := describeMetrics(t, poolCollector{store.engine.(*postgresEngine)})
	want := describeMetrics(t, collectors.NewDBStatsCollector(&empty, "animalstore"))
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// describeMetrics returns everything about a collector's metrics except their values.
func describeMetrics(t *testing.T, collector prometheus.Collector) (metrics []string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.Metric {
			metric.Gauge, metric.Counter = nil, nil
		}
		metrics = append(metrics, family.String())
	}
	return metrics
}

// The time spent waiting for a connection is measured whether the wait ends with a connection or with the
// caller's deadline.
func TestPoolMetricsCountWaits(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t)+"&pool_max_conns=1", Options{})
	value := func(name string) float64 { return measured(t, store, "go_sql_"+name, "") }
	before := value("wait_count_total")
	err := store.Read(t.Context(), func(tx shop.ReadTx) error {
		if n := value("in_use_connections"); n != 1 {
			t.Errorf("%v connections are in use, want 1", n)
		}
		// On a busy machine, a deadline may pass before the read has begun to wait.
		for timeout := 50 * time.Millisecond; value("wait_count_total") == before; timeout *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if err := store.Read(ctx, func(shop.ReadTx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a read without a connection returned %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := value("wait_count_total") - before; n != 1 {
		t.Errorf("%v waits were counted, want 1", n)
	}
	if seconds := value("wait_duration_seconds_total"); seconds <= 0 {
		t.Errorf("%v seconds of waiting were counted, want more", seconds)
	}
	for name, want := range map[string]float64{"max_open_connections": 1, "open_connections": 1, "idle_connections": 1} {
		if got := value(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
