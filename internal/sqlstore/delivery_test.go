package sqlstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// versionOneDotOne contains what version 1.1 left in a store: events up to the position of the webhook that had become
// deliveries, and two that had not. Message 1 was accepted. Its event 1 was removed since, and event 5 was not. Message 2
// is being retried, message 3 was claimed by a node that crashed, message 4 has failed, and 7 is a test with a body of its
// own.
const versionOneDotOne = `
	INSERT INTO webhooks (url, types, enabled, created_at, updated_at, position) VALUES ('https://example.com/hook', '', 1, 1, 1, 5);
	INSERT INTO webhook_secrets (webhook_id, secret, created_at) VALUES (1, 'whsec_x', 1);
	INSERT INTO settings (name, value) VALUES ('event_horizon', '4');
	INSERT INTO events (id, at, type, subject, actor, data)
	VALUES (5, 1, 'pet.created', 'pets/5', 'system', '{}'), (6, 1, 'pet.created', 'pets/6', 'system', '{}'), (7, 1, 'key.created', 'keys/1', 'system', '{}');
	INSERT INTO webhook_deliveries (id, webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until)
	VALUES (1, 1, 'evt_1', '1', 'pet.created', 'succeeded', '[{}]', 1, NULL, '', NULL),
		(2, 1, 'evt_2', '2', 'pet.created', 'pending', '[{}]', 1, 2, '', NULL),
		(3, 1, 'evt_3', '3', 'pet.created', 'pending', '[]', 1, 3, '', 9000000000000000),
		(4, 1, 'evt_4', '4', 'pet.created', 'failed', '[{}]', 1, NULL, '', NULL),
		(5, 1, 'evt_5', '5', 'pet.created', 'succeeded', '[{}]', 1, NULL, '', NULL),
		(6, 1, 'test_1', NULL, 'webhook.test', 'pending', '[]', 1, 4, '{"test":1}', NULL);
	INSERT INTO message_bodies (message_id, body, last_delivery)
	VALUES ('evt_1', '{"id":1}', 1), ('evt_2', '{"id":2}', 2), ('evt_3', '{"id":3}', 3), ('evt_4', '{"id":4}', 4), ('evt_5', '{"id":5}', 5)`

// Messages that wait in a store of version 1.1 are sent after the upgrade, and then the events that come after them. Every
// message can still be redelivered.
func TestMessagesOfVersion11AreSent(t *testing.T) {
	t.Parallel()
	sqlite, err := Migrations(SQLite)
	must(t, err)
	path := filepath.Join(t.TempDir(), "old.db")
	const versionOnSQLite, versionOnPostgres = 15, 13
	execFile(t, path, strings.Join(sqlite[:versionOnSQLite], ";\n")+";\n"+versionOneDotOne+
		fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, versionOnSQLite))
	server, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	migrateTo(t, database, server[:versionOnPostgres])
	pgtest.Connect(t, database).Do(strings.Split(versionOneDotOne, ";\n")...)
	for engine, store := range map[string]*Store{"sqlite": open(t, path, Options{Exclusive: true}), "postgres": open(t, database, Options{})} {
		t.Run(engine, func(t *testing.T) {
			service, err := shop.Open(t.Context(), store, shop.Options{})
			must(t, err)
			batches, err := service.NewWebhookQueue().Lease(t.Context(), shop.Room{Total: 8, Failing: 8})
			must(t, err)
			got := ""
			for _, message := range batches[0].Messages {
				got += fmt.Sprintf("%s %d %.10s; ", message.MessageID, len(message.Attempts), message.Body)
			}
			if want := `evt_2 1 {"id":2}; evt_3 0 {"id":3}; test_1 0 {"test":1}; evt_6 0 {"specvers; `; got != want {
				t.Errorf("these are sent: %s, want %s", got, want)
			}
			for id, want := range map[int64]string{1: `{"id":1}`, 4: `{"id":4}`, 5: ""} {
				read(t, store, func(tx shop.ReadTx) error {
					if d, _, err := tx.Delivery(1, id); err != nil || string(d.Body) != want {
						t.Errorf("delivery %d has the message %s, want %s: %v", id, d.Body, want, err)
					}
					return nil
				})
				_, err := service.Redeliver(t.Context(), shop.Caller{}, 1, id)
				must(t, err)
			}
		})
	}
}

// fillDeliveries are statements that add 1,000 webhooks, 30,000 finished deliveries, 1,000 deliveries that are due
// later, and 10,000 deliveries to a single webhook that are due now.
var fillDeliveries = []string{
	"INSERT INTO webhooks (url, types, enabled, created_at, updated_at, position) SELECT 'http://x', '', 1, 1, 1, 0 FROM n WHERE n <= 1000",
	deliveriesOf("n % 1000 + 1", "'succeeded'", "NULL", 30_000),
	deliveriesOf("n", "'pending'", "20", 1000),
	deliveriesOf("7", "'pending'", "5", 10_000),
}

func deliveriesOf(webhook, status, next string, count int) string {
	return fmt.Sprintf(`INSERT INTO webhook_deliveries (webhook_id, message_id, event_type, status, attempts, created_at, next_at, body)
		SELECT %s, 'm', 'pet.created', %s, '[{}]', 0, %s, '{}' FROM n WHERE n <= %d`, webhook, status, next, count)
}

// deliveryQueries returns the queries that every node executes repeatedly, each with an index that it must use.
func deliveryQueries(d *dialect) map[string]pageQuery {
	return map[string]pageQuery{
		"deliveries_due":    {webhookStates, nil},
		"deliveries_due ":   {dueDeliveries, []any{int64(7), int64(10), int64(8)}},
		"deliveries_status": newPageQuery(oldestFailedDelivery(d, 7)),
	}
}

// Looking for deliveries to send reads neither the finished deliveries nor all that are due to a webhook.
func TestDeliveriesToSendAreFoundInAnIndex(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	const n = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000) "
	for _, statement := range fillDeliveries {
		must(t, store.Write(t.Context(), shop.Writing{}, executing(strings.Replace(statement, "SELECT", n+"SELECT", 1))))
	}
	db := pgtest.Connect(t, newDatabase(t))
	for _, statement := range fillDeliveries {
		db.Do(strings.Replace(statement, "FROM n", "FROM generate_series(1, 30000) AS n", 1))
	}
	db.Do("ANALYZE")
	for index, query := range deliveryQueries(sqliteDialect(nil)) {
		plan := explain(t, store, query)
		if !strings.Contains(plan, strings.TrimSpace(index)) || strings.Contains(plan, "SCAN d") ||
			strings.Contains(plan, "SCAN webhook_deliveries") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("on SQLite, a query reads too much:\n%s", plan)
		}
	}
	for index, query := range deliveryQueries(postgresDialect(nil)) {
		plan := strings.Join(pgtest.Column[string](db, "EXPLAIN "+query.text, query.args...), "\n")
		if !strings.Contains(plan, strings.TrimSpace(index)) || strings.Contains(plan, "Seq Scan on webhook_deliveries") || strings.Contains(plan, "Sort") {
			t.Errorf("on PostgreSQL, a query reads too much:\n%s", plan)
		}
	}
}

// A node that freezes while it leases webhooks loses its locks, so that other nodes can continue.
func TestFrozenNodeLosesItsLocks(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	pgtest.Connect(t, database).Do("INSERT INTO webhooks (url, types, enabled, created_at, updated_at, position) VALUES ('http://x', '', 1, 1, 1, 0)")
	frozen, other := open(t, database, Options{RetryBudget: ample}), open(t, database, Options{RetryBudget: ample})
	lease := func(tx shop.WriteTx) (leased []int64, err error) {
		if err := tx.EndWhenIdle(); err != nil {
			return nil, err
		}
		return tx.LeaseWebhooks([]int64{1}, time.Unix(1, 0), time.Unix(2, 0))
	}
	locked, thawed, done := make(chan struct{}, 10), make(chan struct{}), make(chan error, 1)
	thaw := sync.OnceFunc(func() { close(thawed) })
	t.Cleanup(thaw) // this cleanup runs before the one that closes the stores
	go func() {
		done <- frozen.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			if _, err := lease(tx); err != nil {
				return err
			}
			locked <- struct{}{}
			<-thawed
			return nil
		})
	}()
	<-locked
	write(t, other, func(tx shop.WriteTx) error {
		leased, err := lease(tx)
		if err == nil && len(leased) != 1 {
			t.Error("two nodes have leased the same webhook")
		}
		return err
	})
	thaw()
	must(t, <-done)
}
