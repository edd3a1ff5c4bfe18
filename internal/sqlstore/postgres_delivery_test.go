package sqlstore

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// A node that freezes during its fan-out loses its turn, so that other nodes can continue.
func TestFrozenNodeLosesItsFanOutTurn(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	frozen, other := open(t, database, Options{RetryBudget: ample}), open(t, database, Options{RetryBudget: ample})
	taken, thawed, done := make(chan struct{}, 10), make(chan struct{}), make(chan error, 1)
	thaw := sync.OnceFunc(func() { close(thawed) })
	t.Cleanup(thaw) // this cleanup runs before the one that closes the stores
	go func() {
		done <- frozen.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			if ok, err := tx.TakeFanOutTurn(); !ok {
				return err // the other node has the turn; this happens only in a later attempt
			}
			taken <- struct{}{}
			<-thawed
			return nil
		})
	}()
	<-taken
	turns := 0
	take := func() (ok bool) {
		write(t, other, func(tx shop.WriteTx) (err error) {
			ok, err = tx.TakeFanOutTurn()
			return err
		})
		turns++
		return ok
	}
	pgtest.Await(t, "the turn of the frozen node to end", take)
	if turns == 1 {
		t.Error("two nodes had the turn at the same time")
	}
	thaw()
	must(t, <-done)
}

// After a migration, nodes of version 1.0 can still send messages, although newer nodes store each body only once.
// The test executes the statements of version 1.0.
func TestVersion1NodesSeeDeliveries(t *testing.T) {
	t.Parallel()
	const columns = "id, webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until"
	database := newDatabase(t)
	store, db := open(t, database, Options{}), pgtest.Connect(t, database)
	now := time.Now().UTC().Truncate(time.Microsecond)
	write(t, store, func(tx shop.WriteTx) error {
		hook, err := tx.InsertWebhook(shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now})
		if err != nil {
			return err
		}
		return tx.InsertDeliveries(shop.Message{ID: "evt_7", EventID: "7", EventType: shop.PetCreated, Body: []byte(`{"id":"7"}`)}, []int64{hook.ID}, now)
	})
	row := func(query string, args ...any) string {
		t.Helper()
		return strings.Join(pgtest.Column[string](db, "WITH found AS ("+query+
			") SELECT concat_ws(' ', id, message_id, status, attempts, next_at IS NOT NULL, body, claimed_until) FROM found ORDER BY id", args...), "; ")
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	micro := now.UnixMicro()
	want("a due delivery", row("SELECT "+columns+` FROM deliveries
		WHERE webhook_id = $1 AND next_at IS NOT NULL AND next_at <= $2 AND (claimed_until IS NULL OR claimed_until <= $2)
		ORDER BY next_at, id LIMIT $3`, 1, micro, 8), `1 evt_7 pending [] t {"id":"7"}`)
	db.Do(`UPDATE deliveries SET status = 'pending', attempts = '[{"status":500}]', next_at = NULL, claimed_until = 9 WHERE id = 1`)
	want("its update", row("SELECT "+columns+" FROM deliveries WHERE id = $1 AND webhook_id = $2", 1, 1), `1 evt_7 pending [{"status":500}] f {"id":"7"} 9`)
	want("an insert", row(`
		INSERT INTO deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING `+columns, 1, "evt_8", "8", "pet.created", "pending", "[]", micro, micro, `{"id":"8"}`, nil),
		`2 evt_8 pending [] t {"id":"8"}`)
	db.Do(fmt.Sprintf("UPDATE deliveries SET next_at = %d WHERE webhook_id = 1 AND status = 'pending' AND next_at IS NULL", micro),
		"UPDATE deliveries SET claimed_until = NULL")
	write(t, store, func(tx shop.WriteTx) error {
		due, err := tx.DueDeliveries([]shop.DueWebhook{{ID: 1}}, now, 8)
		if len(due) != 2 || string(due[0].Body)+string(due[1].Body) != `{"id":"7"}{"id":"8"}` {
			t.Errorf("a newer node sends %+v", due)
		}
		return err
	})
	want("a removal", fmt.Sprint(pgtest.Column[int64](db,
		"DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE id <= $1 ORDER BY id LIMIT $2) RETURNING id", 1, 1000)), "[1]")
	want("what is left", row("SELECT "+columns+" FROM deliveries"), `2 evt_8 pending [] t {"id":"8"}`)
}

// While a backup holds a snapshot, the server keeps the index entries of finished deliveries. These entries are read
// neither by the query that claims deliveries nor by a query for due webhooks that looks only at later times.
func TestLongSnapshotDoesNotSlowDownDeliveries(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	db := pgtest.Connect(t, database)
	backup, err := pgtest.Connect(t, database).BeginTx(t.Context(), nil)
	must(t, err)
	defer backup.Rollback()
	_, err = backup.ExecContext(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pets")
	must(t, err)
	const webhooks = 10
	now := time.UnixMicro(2_000_000_000).UTC()
	second := func(n int) string { return fmt.Sprint(now.Add(time.Duration(n) * time.Second).UnixMicro()) }
	insert := func(next string, count int) {
		db.Do(strings.Replace(deliveriesOf(fmt.Sprintf("n %% %d + 1", webhooks), "'pending'", next, count), "FROM n", "FROM generate_series(1, 30000) AS n", 1))
	}
	db.Do(fmt.Sprintf("INSERT INTO webhooks (url, types, enabled, created_at, updated_at, position) SELECT 'http://x', '', 1, 1, 1, 0 FROM generate_series(1, %d)", webhooks))
	insert(second(-600), 30_000)
	db.Do("UPDATE webhook_deliveries SET claimed_until = 1", "UPDATE webhook_deliveries SET status = 'succeeded', next_at = NULL")
	insert(second(-1), webhooks)
	insert(second(-300), 1) // one overdue delivery to webhook 2
	db.SetMaxOpenConns(1)
	// Like autovacuum, VACUUM removes nothing while the backup holds its snapshot.
	db.Do("VACUUM ANALYZE webhook_deliveries", strings.ReplaceAll(useDueIndex, "TRUE", "FALSE"))
	from := &shop.DueFrom{Time: now.Add(-10 * time.Second), Webhooks: map[int64]time.Time{2: now.Add(-300 * time.Second)}}
	var args []any
	for id := range webhooks {
		args = append(args, id+1, now.Add(-300*time.Second).UnixMicro())
	}
	dialect, at := postgresDialect(nil), now.UnixMicro()
	places := strings.Repeat(dueRow+", ", webhooks-1) + dueRow
	for name, query := range map[string]pageQuery{
		"a look": {dueWebhooksFrom, dueFromArgs(now, from)}, "a claim": {numbered(dueDeliveries(dialect, places, 8)), append(args, at, at)},
	} {
		if pages, plan := buffers(t, db, query.text, query.args...); pages > 20*webhooks {
			t.Errorf("%s reads %d pages:\n%s", name, pages, plan)
		}
	}
	if pages, _ := buffers(t, db, dueWebhooks, at, at); pages < 100*webhooks {
		t.Errorf("a look from the beginning reads only %d pages, so the test proves nothing", pages)
	}
}
