package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// measured returns the value of a metric or, for a histogram, the number of samples. If kind is not empty, measured
// returns the value for this kind of error.
func measured(t *testing.T, store *Store, name, kind string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(store.Collectors()...)
	families, err := registry.Gather()
	must(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if labels := metric.GetLabel(); family.GetName() == name && (kind == "" || labels[0].GetValue() == kind) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("there is no metric %s of the kind %q", name, kind)
	return 0
}

func TestMetricsCountWrites(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, func(shop.WriteTx) error {
		if n := measured(t, store, "animalstore_database_writes_in_progress", ""); n != 1 {
			t.Errorf("%v writes are in progress, want 1", n)
		}
		return nil
	})
	for range 3 {
		write(t, store, adding("A"))
	}
	for _, name := range []string{"animalstore_database_write_group_size", "animalstore_database_commit_duration_seconds"} {
		if n := measured(t, store, name, ""); n != 4 {
			t.Errorf("%s has seen %v, want 4", name, n)
		}
	}
}

// The time spent waiting for a connection is measured, whether the wait ends with a connection or at the caller's
// deadline.
func TestPoolMetricsCountWaits(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t)+"&pool_max_conns=1", Options{})
	value := func(name string) float64 { return measured(t, store, "go_sql_"+name, "") }
	before := value("wait_count_total")
	read(t, store, func(tx shop.ReadTx) error {
		if n := value("in_use_connections"); n != 1 {
			t.Errorf("%v connections are in use, want 1", n)
		}
		// On a busy machine, a deadline may pass before the read has begun to wait.
		for timeout := 50 * time.Millisecond; value("wait_count_total") == before; timeout *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if err := store.Read(ctx, shop.Reading{}, func(shop.ReadTx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a read without a connection returned %v", err)
			}
		}
		return nil
	})
	if seconds := value("wait_duration_seconds_total"); seconds <= 0 {
		t.Errorf("%v seconds of waiting were counted, want more", seconds)
	}
	for name, want := range map[string]float64{
		"wait_count_total": before + 1, "max_open_connections": 1, "open_connections": 1, "idle_connections": 1,
	} {
		if got := value(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestPoolSettingsComeFromTheURL(t *testing.T) {
	t.Parallel()
	const server = "postgres://animalstore@db.example.com/animalstore?sslmode=disable"
	for query, want := range map[string]poolSettings{
		"":                  {pgMaxConns, 5 * time.Minute, time.Hour},
		"&pool_max_conns=3": {3, 5 * time.Minute, time.Hour},
		"&pool_max_conn_idle_time=10s&pool_max_conn_lifetime=90m": {pgMaxConns, 10 * time.Second, 90 * time.Minute},
	} {
		config, got, err := parsePostgresURL(server + query)
		if err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", query, got, err, want)
			continue
		}
		for name := range config.RuntimeParams {
			if strings.HasPrefix(name, "pool_") {
				t.Errorf("%s: the parameter %s would be sent to the server", query, name)
			}
		}
	}
	for _, query := range []string{"s=0", "s=x", "_idle_time=5", "_lifetime=-1s"} {
		if err := CheckURL(server + "&pool_max_conn" + query); err == nil || !strings.Contains(err.Error(), "pool_max_conn") {
			t.Errorf("%s: %v", query, err)
		}
	}
	store := open(t, newDatabase(t)+"&pool_max_conns=2", Options{})
	if n := postgresOf(store).pool.Stat().MaxConns(); n != 2 {
		t.Errorf("the pool has up to %d connections, want 2", n)
	}
}
