package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// buffers returns the number of pages that a statement reads, and the plan of the statement.
func buffers(t *testing.T, db *pgtest.DB, statement string, args ...any) (pages int, plan string) {
	t.Helper()
	plan = pgtest.Value[string](db, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+statement, args...)
	var explained []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	must(t, json.Unmarshal([]byte(plan), &explained))
	return explained[0].Plan.Hit + explained[0].Plan.Read, plan
}

// snapshotBound returns the xmin or the xmax of the current snapshot.
func snapshotBound(db *pgtest.DB, bound string) int64 {
	return pgtest.Value[int64](db, "SELECT CAST(CAST(pg_snapshot_"+bound+"(pg_current_snapshot()) AS TEXT) AS BIGINT)")
}

// While a backup holds a snapshot, the server keeps all rows that were deleted after the snapshot was taken. The
// service does not read all these rows every time it looks for events, adds up counts, searches or deletes old rows.
func TestLongSnapshotDoesNotSlowDownQueues(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	service, err := shop.Open(t.Context(), store, shop.Options{EventRetention: time.Hour})
	must(t, err)
	backup, err := pgtest.Connect(t, database).BeginTx(t.Context(), nil)
	must(t, err)
	defer backup.Rollback()
	_, err = backup.ExecContext(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pets")
	must(t, err)
	direct.Do("INSERT INTO categories (id) VALUES (1)")
	for n := range 30 {
		const rows = " FROM generate_series(1, 1000) AS n"
		direct.Do("INSERT INTO event_inbox (at, type, subject, actor, data) SELECT n, 'key.created', 'keys/1', 'system', '{}'"+rows,
			addChanges+"generate_series(1, 1000)",
			"INSERT INTO pets (name, category_id) SELECT 'Rex ' || n, 1"+rows,
			"INSERT INTO write_outcomes (id, at, done) SELECT CAST('"+string(rune('a'+n))+"' || n AS BYTEA), "+postgres.NowMicros+", TRUE"+rows,
			"INSERT INTO idempotency_records (principal, key, fingerprint, status, header, body, kept_at) SELECT "+
				"0, '"+string(rune('a'+n))+"' || n, '', 201, '{}', '', "+postgres.NowMicros+rows)
		// The jobs count the rows of a transaction as done only when no earlier transaction of the server runs any more,
		// and other tests use the same server.
		next := snapshotBound(direct, "xmax")
		programtest.Await(t, "the transactions of other tests", func() bool { return snapshotBound(direct, "xmin") >= next })
		must(t, service.IndexSearch(t.Context()))
		must(t, store.Publish(t.Context()))
		must(t, service.RemoveEvents(t.Context()))
		must(t, service.FoldCounts(t.Context()))
		write(t, store, func(tx shop.WriteTx) error { // at this time the rows of done commits are just old enough
			_, err := tx.Maintain(time.Now().Add(postgres.DoneRetention))
			return err
		})
		for more := true; more; {
			write(t, store, func(tx shop.WriteTx) (err error) {
				more, err = tx.DeleteIdempotencyRecords(time.Now())
				return err
			})
		}
	}
	tables := []string{"event_inbox", "pet_count_changes", "pet_search_changes", "events", "write_outcomes", "idempotency_records"}
	// Like autovacuum, VACUUM removes nothing while the backup holds its snapshot.
	direct.Do("VACUUM ANALYZE " + strings.Join(tables, ", "))
	for _, table := range tables {
		if pages := pgtest.Value[int](direct, "SELECT pg_relation_size('"+table+"') / 8192"); pages < 130 {
			t.Errorf("%s has only %d pages, so the test proves nothing", table, pages)
		}
	}
	direct.Do("SET enable_seqscan = off; SET jit = off") // as the engine does before it looks for events
	sweeps := store.dialect.sweeps
	now := time.Now().UnixMicro()
	for name, query := range map[string]pageQuery{
		"a look for events":       {"SELECT id FROM event_inbox WHERE " + postgres.FromWatermark("event_inbox") + " LIMIT 1", nil},
		"the inventory":           {"SELECT " + sums(statusColumns) + " FROM " + PostgresCounts.Inventory, nil},
		"the largest categories":  {postgresLargestCategories, []any{12}},
		"counts of categories":    {"SELECT " + sums(statusColumns) + " FROM " + PostgresCounts.Categories + " WHERE category_id IN (1, 2)", nil},
		"arrivals and sales":      {"SELECT " + sums("arrivals, sales") + " FROM " + PostgresCounts.Periods + " WHERE begins_at > 1", nil},
		"unindexed animals":       {"SELECT id FROM " + postgres.WaitingRows(petNames.Changes) + " LIMIT 1", nil},
		"changes to index":        {changesQuery(t, store), []any{10}},
		"changes during a search": {"SELECT DISTINCT id FROM " + postgres.WaitingRows(petNames.Changes) + " WHERE id >= 1 ORDER BY id DESC LIMIT 200", nil},
		"old commits":             {"SELECT at FROM write_outcomes WHERE at >= $1 AND at <= $2 AND done ORDER BY at LIMIT 10", []any{sweeps["done commits"].begin(), now}},
		"old responses":           {"SELECT kept_at FROM idempotency_records WHERE kept_at >= $1 AND kept_at <= $2 ORDER BY kept_at LIMIT 10", []any{sweeps["responses"].begin(), now}},
		"old events":              {"SELECT id, at FROM events WHERE id > $1 AND at <= $2 ORDER BY id LIMIT 10", []any{30_000, now}},
	} {
		if pages, plan := buffers(t, direct, query.text, query.args...); pages > 60 {
			t.Errorf("%s reads %d pages:\n%s", name, pages, plan)
		}
	}
	if horizon := pgtest.Value[string](direct, "SELECT value FROM settings WHERE name = 'event_horizon'"); horizon != "30000" {
		t.Errorf("events were removed up to %s", horizon)
	}
	if inventory, err := service.Inventory(t.Context()); err != nil || inventory.Sold != 30_000 {
		t.Errorf("%+v, %v", inventory, err)
	}
}

// A large import queues names faster than they are indexed. Each indexing batch reads only the oldest changes, not all
// changes that are waiting.
func TestIndexingReadsOnlyTheOldestChanges(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store := open(t, database, Options{})
	direct := pgtest.Connect(t, database)
	direct.Do("INSERT INTO categories (id) VALUES (1)")
	for range 10 {
		direct.Do("INSERT INTO pets (name, category_id) SELECT 'Rex', 1 FROM generate_series(1, 5000)")
	}
	if n := pgtest.Value[int](direct, "SELECT count(*) FROM pet_search_changes"); n != 50_000 {
		t.Fatalf("%d changes are waiting, want 50000", n)
	}
	direct.Do("VACUUM ANALYZE pet_search_changes")
	if pages, plan := buffers(t, direct, changesQuery(t, store), 2000); pages > 60 {
		t.Errorf("a batch reads %d pages:\n%s", pages, plan)
	}
}

// recordingConn records the queries that are executed.
type recordingConn struct {
	engine.Conn
	queries *[]string
}

func (c recordingConn) Query(ctx context.Context, query string, args []any) (engine.Rows, error) {
	*c.queries = append(*c.queries, query)
	return c.Conn.Query(ctx, query, args)
}

// changesQuery returns the query with which the search index reads the changes to pets.
func changesQuery(t *testing.T, store *Store) string {
	t.Helper()
	conn, err := store.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	var queries []string
	must(t, conn.Exec(t.Context(), "BEGIN"))
	_, err = store.dialect.words.WriteAll(&engine.Tx{Ctx: t.Context(), Conn: recordingConn{conn.conn, &queries}})
	must(t, errors.Join(err, conn.Exec(t.Context(), "ROLLBACK")))
	i := slices.IndexFunc(queries, func(q string) bool { return strings.HasPrefix(q, "SELECT id, seq, previous FROM "+petNames.Changes) })
	if i < 0 {
		t.Fatalf("the changes are not among the queries %q", queries)
	}
	return queries[i]
}
