package sqlstore

import (
	"testing"

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
