package sqlstore

import (
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// isDue is the SQL condition that delivery d is due at the time $ and that no node has claimed it.
const isDue = "d.next_at IS NOT NULL AND d.next_at <= $ AND (d.claimed_until IS NULL OR d.claimed_until <= $)"

// dueWebhooks is the query for the webhooks that have scheduled deliveries. Instead of scanning the deliveries, it
// seeks from one webhook to the next in the deliveries_due index. This index contains only scheduled deliveries, so it
// is empty if there is nothing to send.
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

// firstDue is the subquery for the time of the first due delivery to the webhook found.id. It starts at found.first,
// the time of the webhook's first scheduled delivery.
const firstDue = "SELECT d.next_at FROM webhook_deliveries d WHERE d.webhook_id = found.id AND d.next_at >= found.first AND " + isDue +
	" ORDER BY d.next_at, d.id LIMIT 1"

// dueWebhooksFrom is like dueWebhooks, but starts at a given time for each webhook, so that it skips the index
// entries of finished deliveries. The first two arguments are arrays with the ids of some webhooks and their times.
// The third argument is the time for all other webhooks.
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

// useDueIndex makes PostgreSQL use the deliveries_due index until the transaction ends. This index has the order that
// all queries for due deliveries need. If the index contains many entries of finished deliveries, the planner
// overestimates its cost. Without these settings, it would then sort all deliveries to a webhook instead, and spend
// time on compiling the plan.
const useDueIndex = `SELECT set_config('enable_sort', 'off', TRUE), set_config('enable_incremental_sort', 'off', TRUE),
	set_config('enable_bitmapscan', 'off', TRUE), set_config('enable_seqscan', 'off', TRUE), set_config('jit', 'off', TRUE)`

func scanDueWebhook(scan Scanner) (hook shop.DueWebhook, err error) {
	var failing, since sql.Null[int64]
	var first int64
	err = scan(&hook.ID, &failing, &first, &since)
	hook.Failing, hook.First, hook.Since = failing.Valid, fromMicros(first), fromMicros(since.V)
	return hook, err
}

// DueWebhooks ignores from on SQLite, because its index contains no entries of finished deliveries that could be
// skipped.
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

// dueRow casts both values, because PostgreSQL cannot infer the types in a list of values.
const dueRow = "(CAST($ AS BIGINT), CAST($ AS BIGINT))"

// dueDeliveries returns a query for the first due deliveries to each webhook, at most limit for each. places contains
// the placeholders for the ids of the webhooks and for the times from which to look for their deliveries. An id may
// be repeated.
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
