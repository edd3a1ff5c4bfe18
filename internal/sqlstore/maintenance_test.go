package sqlstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// addChanges is the beginning of a statement that sells one animal in category 1 for each row of a table.
const addChanges = "INSERT INTO pet_count_changes (begins_at, " + countColumns + ", arrivals, sales) SELECT 900000000, 1, 0, 0, 1, 0, 0, 1 FROM "

// The jobs remove all rows that are due, even if that takes more than one transaction.
func TestMaintainLeavesNothing(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	service, err := shop.Open(t.Context(), open(t, database, Options{}), shop.Options{})
	must(t, err)
	direct := pgtest.Connect(t, database)
	direct.Do(addChanges+"generate_series(1, 25000)",
		"INSERT INTO write_outcomes (id, at, done) SELECT decode(md5(CAST(n AS TEXT)), 'hex'), n, TRUE FROM generate_series(1, 35000) AS n")
	must(t, errors.Join(service.Maintain(t.Context()), service.FoldCounts(t.Context())))
	for _, table := range []string{"pet_count_changes", "write_outcomes WHERE at <= 35000"} {
		if n := pgtest.Value[int](direct, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if inventory, err := service.Inventory(t.Context()); err != nil || inventory.Sold != 25000 {
		t.Errorf("%+v, %v", inventory, err)
	}
}

// A node whose clock is years behind commits a write. Maintain must not treat the write's row in write_outcomes as
// old and remove it. If the node then looked for the row to find out whether its commit succeeded, the missing row
// would mean "not committed", and the write would run twice.
func TestMaintainUsesTheServersClock(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	tidying := open(t, database, Options{})
	synctest.Test(t, func(t *testing.T) { // the clock in this bubble starts in the year 2000
		store, err := Open(context.Background(), database, Options{})
		must(t, err)
		must(t, errors.Join(store.Write(context.Background(), shop.Writing{}, adding("Rex")), store.Close()))
	})
	write(t, tidying, func(tx shop.WriteTx) error { _, err := tx.Maintain(time.Now()); return err })
	if n := pgtest.Value[int](pgtest.Connect(t, database), "SELECT count(*) FROM write_outcomes"); n != 2 {
		t.Errorf("%d rows are in write_outcomes, want 2", n)
	}
}

// Maintain finds the rows to remove through an index. A scan of all responses that were stored in a day, or of all
// commits in an hour, would take longer than a write is allowed to take.
func TestMaintainUsesIndexes(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	service, err := shop.Open(t.Context(), store, shop.Options{})
	must(t, err)
	const times = "(CASE WHEN n < 100 THEN 0 ELSE CAST(extract(epoch FROM now()) * 1000000 AS BIGINT) END) + n"
	const rows = " FROM generate_series(1, 50000) AS n"
	direct.Do("INSERT INTO write_outcomes (id, at, done) SELECT decode(md5(CAST(n AS TEXT)), 'hex'), "+times+", TRUE"+rows,
		"INSERT INTO idempotency_records (principal, key, fingerprint, status, header, body, kept_at) "+
			"SELECT 1, n, '', 201, '{}', '', "+times+rows,
		"ANALYZE")
	must(t, errors.Join(service.Maintain(t.Context()), service.PruneIdempotencyRecords(t.Context()), store.Close()))
	const statistics = " FROM pg_stat_user_tables WHERE relname IN ('write_outcomes', 'idempotency_records')"
	direct.Await("the statistics of the removed rows", "SELECT sum(n_tup_del) = 198"+statistics)
	if n := pgtest.Value[int](direct, "SELECT sum(seq_tup_read)"+statistics); n != 0 {
		t.Errorf("%d rows were read by sequential scans", n)
	}
}
