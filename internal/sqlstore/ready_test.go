package sqlstore

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// wantReady checks that a store is ready if words is empty. Otherwise it checks that the store is not ready
// and that its error contains words.
func wantReady(t *testing.T, store *Store, words string) {
	t.Helper()
	err := store.Ready(t.Context())
	if err == nil && words == "" {
		return
	}
	if e := shop.AsError(err); err == nil || words == "" || e.Code != shop.Unavailable || !strings.Contains(e.Message, words) {
		t.Errorf("it is ready: %v, want %q", err, words)
	}
}

// After a failed write, a SQLite store is not ready until a write would succeed again.
func TestFileIsNotReadyUntilAWriteWorks(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	if err := store.Write(t.Context(), func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) }); err != nil {
		t.Fatal(err)
	}
	wantReady(t, store, "")
	// A trigger is used to make writes fail, because a file that is already open cannot be made to refuse
	// them.
	path := sqliteOf(store).file.path
	execFile(t, path, "CREATE TRIGGER no_settings BEFORE UPDATE ON settings BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
	wantReady(t, store, "") // the store is still ready, because no write has been tried
	err := store.Write(t.Context(), func(w shop.WriteTx) error {
		conn := w.(*tx).runner
		defer conn.exec(t.Context(), "PRAGMA query_only = 0", nil)
		return errors.Join(conn.exec(t.Context(), "PRAGMA query_only = 1", nil), adding("A")(w))
	})
	if got := classify(err); got != readOnly {
		t.Errorf("%v is %s", err, got)
	}
	wantReady(t, store, "the log has the error")
	wantReady(t, store, "the log has the error")
	execFile(t, path, "DROP TRIGGER no_settings")
	wantReady(t, store, "")
	wantReady(t, store, "")
	setPragma(t, store, "max_page_count = 20")
	err = store.Write(t.Context(), func(tx shop.WriteTx) error {
		for range 10000 {
			if err := adding("flood")(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if got := classify(err); got != diskFull {
		t.Errorf("%v is %s", err, got)
	}
	setPragma(t, store, "max_page_count = 100000")
	wantReady(t, store, "")
	// The two failed calls of Ready are included in these numbers, because Ready tried to write.
	for kind, n := range map[errorKind]float64{diskFull: 1, readOnly: 1, otherError: 2, unreachable: 0} {
		if got := measured(t, store, "animalstore_database_errors_total", string(kind)); got != n {
			t.Errorf("%s was counted %v times, want %v", kind, got, n)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantReady(t, store, "removed or replaced")
}

// A server that becomes read-only is not ready, even before a write fails. When another server is promoted,
// the store finds the new primary.
func TestReadyFollowsFailover(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.StartWithReplica(t, false)
	store := open(t, pgtest.FailoverURL(primary, replica), Options{})
	fillPool(t, store)
	wantReady(t, store, "")
	demote(t, store, primary)
	awaitReadOnly(t, store) // checked over a pooled connection
	awaitReadOnly(t, store) // checked over a new connection
	replica.Promote(t)
	store.engine.(*postgresEngine).retryBudget = ample
	wantReady(t, store, "")
	if err := store.Write(t.Context(), adding("after")); err != nil {
		t.Error(err)
	}
	if n := measured(t, store, "animalstore_database_errors_total", string(readOnly)); n != 0 {
		t.Errorf("%v reads or writes failed", n)
	}
}

// awaitReadOnly checks that the store says that its server is read-only. If the server has not responded within
// the budget, which may happen on a busy machine, the store gets a larger budget.
func awaitReadOnly(t *testing.T, store *Store) {
	t.Helper()
	var err error
	for budget := shortBudget; budget <= 2*ample; budget *= 2 {
		store.engine.(*postgresEngine).retryBudget = budget
		if err = store.Ready(t.Context()); err != nil && strings.Contains(shop.AsError(err).Message, "but not written") {
			return
		}
	}
	t.Fatalf("the store of a read-only server says %v", err)
}

func TestReadyReportsAnUnreachableServer(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	wantReady(t, h.store, "")
	h.proxy.Cut()
	h.engine().retryBudget = time.Second
	wantReady(t, h.store, "cannot be reached")
	h.proxy.Heal()
	h.engine().retryBudget = ample
	wantReady(t, h.store, "")
}

func TestMetricsCountWritesAndErrors(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		store.Write(context.Background(), func(tx shop.WriteTx) error {
			close(entered)
			<-leave
			return nil
		})
	})
	<-entered
	if n := measured(t, store, "animalstore_database_writes_in_progress", ""); n != 1 {
		t.Errorf("%v writes are in progress", n)
	}
	close(leave)
	writing.Wait()
	for range 3 {
		if err := store.Write(t.Context(), adding("A")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"animalstore_database_write_group_size", "animalstore_database_commit_duration_seconds"} {
		if n := measured(t, store, name, ""); n != 4 {
			t.Errorf("%s has seen %v", name, n)
		}
	}
}

// measured returns the value of a metric, or the number of samples in a histogram. If kind is not empty, it
// selects the metric with this kind of error.
func measured(t *testing.T, store *Store, name, kind string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(store.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
