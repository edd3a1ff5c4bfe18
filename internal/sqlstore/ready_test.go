package sqlstore

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

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
	if err != nil && strings.Count(err.Error(), string(shop.Unavailable)) != 1 {
		t.Errorf("the error repeats its code: %v", err)
	}
	if e := shop.AsError(err); err == nil || words == "" || e.Code != shop.Unavailable || !strings.Contains(e.Message, words) {
		t.Fatalf("it is ready: %v, want %q", err, words)
	}
}

// After a failed write, a SQLite store is not ready until a write would succeed again.
func TestFileIsNotReadyUntilAWriteWorks(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) })
	wantReady(t, store, "")
	// A trigger is used to make writes fail, because a file that is already open cannot be made to refuse
	// them.
	path := sqliteOf(store).file.path
	execFile(t, path, "CREATE TRIGGER no_settings BEFORE UPDATE ON settings BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
	wantReady(t, store, "") // the store is still ready, because no write has been tried
	err := store.Write(t.Context(), shop.Writing{}, func(w shop.WriteTx) error {
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
	setPragma(t, store, "max_page_count = 20")
	if err := store.Write(t.Context(), shop.Writing{}, flood); classify(err) != diskFull {
		t.Errorf("%v is %s", err, classify(err))
	}
	setPragma(t, store, "max_page_count = 100000")
	wantReady(t, store, "")
	// The two failed calls of Ready are included in these numbers, because Ready tried to write.
	for kind, n := range map[errorKind]float64{diskFull: 1, readOnly: 1, otherError: 2, unreachable: 0} {
		if got := measured(t, store, "animalstore_database_errors_total", string(kind)); got != n {
			t.Errorf("%s was counted %v times, want %v", kind, got, n)
		}
	}
	must(t, os.Remove(path))
	wantReady(t, store, "removed or replaced")
}

// A SQLite store is ready even while all of its readers are in use, because readiness checks have their own connection.
func TestReadinessDoesNotWaitForReads(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) })
	release := make(chan struct{})
	var reads sync.WaitGroup
	defer reads.Wait()
	defer close(release)
	for range cap(sqliteOf(store).readers) {
		began := make(chan struct{})
		reads.Go(func() {
			err := store.Read(t.Context(), shop.Reading{}, func(shop.ReadTx) error {
				close(began)
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-began
	}
	for range 3 {
		wantReady(t, store, "")
	}
}
