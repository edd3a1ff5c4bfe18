package sqlstore

import (
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// isDue is the condition for deliveries d that are due at the time $ and that no node has claimed.
const isDue = "d.next_at IS NOT NULL AND d.next_at <= $ AND (d.claimed_until IS NULL OR d.claimed_until <= $)"

// dueWebhooks looks into the index deliveries_due once for each webhook that has scheduled deliveries. The index
// contains no other deliveries, so it is empty while nothing is to be sent.
var dueWebhooks = numbered(`
	WITH RECURSIVE scheduled (webhook_id) AS (
		SELECT min(webhook_id) FROM webhook_deliveries WHERE next_at IS NOT NULL
		UNION ALL
		SELECT (SELECT min(d.webhook_id) FROM webhook_deliveries d WHERE d.next_at IS NOT NULL AND d.webhook_id > scheduled.webhook_id)
		FROM scheduled WHERE scheduled.webhook_id IS NOT NULL
	), found (id, failing_since, first) AS MATERIALIZED (
		SELECT w.id, w.failing_since,
			(SELECT d.next_at FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL ORDER BY d.next_at, d.id LIMIT 1)
		FROM scheduled JOIN webhooks w ON w.id = scheduled.webhook_id
	), due (id, failing_since, first, since) AS (
		SELECT id, failing_since, first, (` + firstDue + `) FROM found
	) SELECT id, failing_since, first, since FROM due ORDER BY since, id`)

// firstDue is the query for the time of the first delivery to the webhook found.id that is due, which is not before
// found.first.
const firstDue = "SELECT d.next_at FROM webhook_deliveries d WHERE d.webhook_id = found.id AND d.next_at >= found.first AND " + isDue +
	" ORDER BY d.next_at, d.id LIMIT 1"

// dueWebhooksFrom looks into the index deliveries_due once for each webhook, from a time on. The times of some
// webhooks are in two arrays, and the third argument is the time of the others.
var dueWebhooksFrom = numbered(`
	WITH found AS MATERIALIZED (
		SELECT w.id, w.failing_since, scheduled.next_at AS first
		FROM webhooks w LEFT JOIN unnest(CAST($ AS BIGINT[]), CAST($ AS BIGINT[])) AS earlier (id, next_at) ON earlier.id = w.id
			CROSS JOIN LATERAL (
				SELECT d.next_at FROM webhook_deliveries d
				WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL AND d.next_at >= coalesce(earlier.next_at, $)
				ORDER BY d.next_at, d.id LIMIT 1
			) AS scheduled
	), due AS (
		SELECT id, failing_since, first, (` + firstDue + `) AS since FROM found
	) SELECT id, failing_since, first, since FROM due ORDER BY since, id`)

// useDueIndex makes PostgreSQL use the index deliveries_due until the transaction ends. This index has the order of
// all queries for due deliveries. If it contains many entries of deliveries that are done, the planner takes it for
// expensive, would rather sort all deliveries to a webhook, and compiles the plan.
const useDueIndex = `SELECT set_config('enable_sort', 'off', TRUE), set_config('enable_incremental_sort', 'off', TRUE),
	set_config('enable_bitmapscan', 'off', TRUE), set_config('enable_seqscan', 'off', TRUE), set_config('jit', 'off', TRUE)`

func scanDueWebhook(scan Scanner) (hook shop.DueWebhook, err error) {
	var failing, since sql.Null[int64]
	var first int64
	err = scan(&hook.ID, &failing, &first, &since)
	hook.Failing, hook.First, hook.Since = failing.Valid, fromMicros(first), fromMicros(since.V)
	return hook, err
}

// DueWebhooks ignores from on SQLite, whose index contains no entries of deliveries that are done.
func (t *tx) DueWebhooks(now time.Time, from *shop.DueFrom) ([]shop.DueWebhook, error) {
	if err := t.useDueIndex(); err != nil {
		return nil, err
	}
	if from == nil || t.dialect.useDueIndex == "" {
		return all(t, scanDueWebhook, dueWebhooks, micros(now), micros(now))
	}
	return all(t, scanDueWebhook, dueWebhooksFrom, dueFromArgs(now, from)...)
}

func (t *tx) useDueIndex() error {
	if t.dialect.useDueIndex == "" {
		return nil
	}
	return t.exec(t.dialect.useDueIndex)
}

func dueFromArgs(now time.Time, from *shop.DueFrom) []any {
	ids, times := []int64{}, []int64{}
	for id, at := range from.Webhooks {
		ids, times = append(ids, id), append(times, micros(at))
	}
	return []any{ids, times, micros(from.Time), micros(now), micros(now)}
}

func (t *tx) DueDeliveries(webhooks []shop.DueWebhook, now time.Time, limit int) (due []shop.Delivery, err error) {
	if err := t.useDueIndex(); err != nil {
		return nil, err
	}
	err = inPaddedChunks(webhooks, dueRow, func(part []shop.DueWebhook, places string) error {
		var args []any
		for _, hook := range part {
			args = append(args, hook.ID, micros(hook.Since))
		}
		some, err := all(t, func(scan Scanner) (shop.Delivery, error) {
			var body string
			d, err := scanDelivery(func(columns ...any) error { return scan(append(columns, &body)...) })
			d.Body = []byte(body)
			return d, err
		}, numbered(dueDeliveries(t.dialect, places, limit)), append(args, micros(now), micros(now))...)
		due = append(due, some...)
		return err
	})
	return due, err
}

// dueRow contains the types, because PostgreSQL cannot infer them from a list of values.
const dueRow = "(CAST($ AS BIGINT), CAST($ AS BIGINT))"

// dueDeliveries returns a query that finds the first due deliveries x of each webhook w. places contains the ids of the
// webhooks, which may be repeated, and the times from which on their deliveries may be due.
func dueDeliveries(d *dialect, places string, limit int) string {
	first := "SELECT d.id FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at >= w.since AND " + isDue +
		" ORDER BY d.next_at, d.id LIMIT " + strconv.Itoa(limit)
	return `
		WITH given (id, since) AS (VALUES ` + places + `), w (id, since) AS (
			SELECT webhooks.id, min(given.since) FROM given JOIN webhooks ON webhooks.id = given.id GROUP BY webhooks.id)
		SELECT x.id, webhook_id, x.message_id, event_id, event_type, status, attempts, x.created_at, next_at, claimed_until,
			CASE WHEN x.body <> '' THEN x.body ELSE (SELECT b.body FROM message_bodies b WHERE b.message_id = x.message_id) END
		FROM w JOIN webhook_deliveries x ON ` + fmt.Sprintf(d.inSubquery, "x.id", first) + " ORDER BY next_at, x.id" + d.lockDeliveries
}

func (t *tx) ClaimDeliveries(ids []int64, until time.Time) error {
	return execIn(t, ids, "UPDATE webhook_deliveries SET claimed_until = $ WHERE id IN (%s)", micros(until))
}
