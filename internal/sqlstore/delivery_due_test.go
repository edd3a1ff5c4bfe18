package sqlstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// dueQueries returns the queries that every node executes repeatedly while there are messages to send.
func dueQueries(d *dialect) map[string]pageQuery {
	var args []any
	for id := range int64(50) {
		args = append(args, id+1, int64(0))
	}
	queries := map[string]pageQuery{
		"webhooks":   {dueWebhooks, []any{int64(10), int64(10)}},
		"deliveries": {numbered(dueDeliveries(d, strings.Repeat(dueRow+", ", 49)+dueRow, 8)), append(args, int64(10), int64(10))},
	}
	if d.useDueIndex != "" {
		from := &shop.DueFrom{Time: time.UnixMicro(4), Webhooks: map[int64]time.Time{7: time.UnixMicro(3)}}
		queries["webhooks from a time on"] = pageQuery{dueWebhooksFrom, dueFromArgs(time.UnixMicro(10), from)}
	}
	return queries
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
		SELECT %s, 'm', 'pet.created', %s, '[]', 0, %s, '{}' FROM n WHERE n <= %d`, webhook, status, next, count)
}

// Looking for due deliveries reads neither the finished deliveries nor a webhook's whole backlog.
func TestDueDeliveriesAreFoundInAnIndex(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	const n = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000) "
	for _, statement := range fillDeliveries {
		must(t, store.Write(t.Context(), shop.Writing{}, executing(strings.Replace(statement, "SELECT", n+"SELECT", 1))))
	}
	for name, query := range dueQueries(sqliteDialect(nil)) {
		plan := explain(t, store, query)
		for line := range strings.Lines(plan) {
			found := strings.Contains(line, "deliveries_due") || strings.Contains(line, "x USING INTEGER PRIMARY KEY")
			if (strings.Contains(line, " d ") || strings.Contains(line, " x ") || strings.Contains(line, "webhook_deliveries")) && !found {
				t.Errorf("%s: a query reads too much:\n%s", name, plan)
			}
		}
	}
}

func TestDueDeliveriesOnPostgresAreFoundInAnIndex(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t, newDatabase(t))
	for _, statement := range fillDeliveries {
		db.Do(strings.Replace(statement, "FROM n", "FROM generate_series(1, 30000) AS n", 1))
	}
	db.Do("ANALYZE", strings.ReplaceAll(useDueIndex, "TRUE", "FALSE"))
	for name, query := range dueQueries(postgresDialect(nil)) {
		plan := strings.Join(pgtest.Column[string](db, "EXPLAIN "+query.text, query.args...), "\n")
		if strings.Contains(plan, "Seq Scan on webhook_deliveries") || !strings.Contains(plan, "deliveries_due") {
			t.Errorf("%s: a query reads too much:\n%s", name, plan)
		}
	}
}
