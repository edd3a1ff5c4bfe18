package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"animalstore/internal/sqlstore/engine"
)

// The time spent waiting for a connection is measured, whether the wait ends with a connection or at the caller's
// deadline.
func TestPoolMetricsCountWaits(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t)+"&pool_max_conns=2", Options{})
	value := func(name string) float64 { return measured(t, store, "go_sql_"+name, "") }
	before := value("wait_count_total")
	holdingBoth := func(fn func(*engine.Tx) error) error {
		return store.Read(t.Context(), func(*engine.Tx) error { return store.Read(t.Context(), fn) })
	}
	must(t, holdingBoth(func(*engine.Tx) error {
		if n := value("in_use_connections"); n != 2 {
			t.Errorf("%v connections are in use, want 2", n)
		}
		// On a busy machine, a deadline may pass before the read has begun to wait.
		for timeout := 50 * time.Millisecond; value("wait_count_total") == before; timeout *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if err := store.Read(ctx, func(*engine.Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a read without a connection returned %v", err)
			}
		}
		return nil
	}))
	if seconds := value("wait_duration_seconds_total"); seconds <= 0 {
		t.Errorf("%v seconds of waiting were counted, want more", seconds)
	}
	for name, want := range map[string]float64{
		"wait_count_total": before + 1, "max_open_connections": 2, "open_connections": 2, "idle_connections": 2,
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
		"":                  {defaultMaxConns, 5 * time.Minute, time.Hour},
		"&pool_max_conns=3": {3, 5 * time.Minute, time.Hour},
		"&pool_max_conn_idle_time=10s&pool_max_conn_lifetime=90m": {defaultMaxConns, 10 * time.Second, 90 * time.Minute},
	} {
		config, got, err := parseURL(server + query)
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
	for _, query := range []string{"s=1", "s=x", "_idle_time=5", "_lifetime=-1s"} {
		if err := CheckURL(server + "&pool_max_conn" + query); err == nil || !strings.Contains(err.Error(), "pool_max_conn") {
			t.Errorf("%s: %v", query, err)
		}
	}
	store := open(t, newDatabase(t)+"&pool_max_conns=2", Options{})
	if n := store.pool.Stat().MaxConns(); n != 2 {
		t.Errorf("the pool has up to %d connections, want 2", n)
	}
}
