package sqlstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
)

// Tidying removes all rows that are due, even if that takes more than one transaction.
func TestMaintainLeavesNothing(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	service, err := shop.Open(t.Context(), open(t, database, Options{}), shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	direct := openDirect(t, database)
	exec(t, direct, "INSERT INTO inventory_changes (status, n) SELECT 'sold', 1 FROM generate_series(1, 25000)")
	exec(t, direct, "INSERT INTO commits (id, at, done) SELECT decode(md5(CAST(n AS TEXT)), 'hex'), n, TRUE FROM generate_series(1, 35000) AS n")
	if err := service.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"inventory_changes", "commits WHERE at <= 35000"} {
		var n int
		if err := direct.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows are left in %s: %v", n, table, err)
		}
	}
	if inventory, err := service.Inventory(t.Context()); err != nil || inventory.Sold != 25000 {
		t.Errorf("%+v, %v", inventory, err)
	}
}

// A node with a clock that is years behind commits a write. Tidying must not remove this write's row from
// commits as if it were old. If the node then resolved its commit, the missing row would mean "not
// committed", and the write would run twice.
func TestMaintainUsesTheServersClock(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	tidying, direct := open(t, database, Options{}), openDirect(t, database)
	synctest.Test(t, func(t *testing.T) { // the clock in this bubble starts in the year 2000
		store, err := Open(context.Background(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Write(context.Background(), adding("Rex")); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := tidying.Write(t.Context(), func(tx shop.WriteTx) error { _, err := tx.Maintain(time.Now().Add(-time.Hour)); return err }); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := direct.QueryRowContext(t.Context(), "SELECT count(*) FROM commits").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows are in commits, want 2: %v", n, err)
	}
}

// Tidying finds the rows to remove through an index. Scanning all responses that were stored in a day, or all
// commits in an hour, would take longer than a write is allowed to take.
func TestMaintainUsesIndexes(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), openDirect(t, database)
	service, err := shop.Open(t.Context(), store, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const times = "(CASE WHEN n < 100 THEN 0 ELSE CAST(extract(epoch FROM now()) * 1000000 AS BIGINT) END) + n"
	for _, statement := range []string{
		"INSERT INTO commits (id, at, done) SELECT decode(md5(CAST(n AS TEXT)), 'hex'), " + times + ", TRUE FROM generate_series(1, 50000) AS n",
		"INSERT INTO kept_answers (principal, key, fingerprint, status, header, body, kept_at) SELECT 1, n, '', 201, '{}', '', " + times +
			" FROM generate_series(1, 50000) AS n",
		"ANALYZE",
	} {
		exec(t, direct, statement)
	}
	if err := errors.Join(service.Maintain(t.Context()), service.PruneIdempotencyRecords(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
	awaitRow(t, direct, "the statistics of the removed rows",
		"SELECT sum(n_tup_del) = 198 FROM pg_stat_user_tables WHERE relname IN ('commits', 'kept_answers')")
	var read int
	err = direct.QueryRowContext(t.Context(), "SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('commits', 'kept_answers')").Scan(&read)
	if err != nil || read != 0 {
		t.Errorf("%d rows were read by sequential scans: %v", read, err)
	}
}
