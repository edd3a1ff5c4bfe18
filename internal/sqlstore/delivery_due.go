package sqlstore

import (
	"fmt"
	"slices"
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
	), due (id, failing, since) AS (
		SELECT w.id, CASE WHEN w.failing_since IS NULL THEN 0 ELSE 1 END,
			(SELECT d.next_at FROM webhook_deliveries d WHERE d.webhook_id = w.id AND ` + isDue + ` ORDER BY d.next_at, d.id LIMIT 1)
		FROM scheduled JOIN webhooks w ON w.id = scheduled.webhook_id
	) SELECT id, failing FROM due WHERE since IS NOT NULL ORDER BY since, id`)

func (t *tx) DueWebhooks(now time.Time) ([]shop.DueWebhook, error) {
	return all(t, func(scan Scanner) (hook shop.DueWebhook, err error) {
		var failing int64
		err = scan(&hook.ID, &failing)
		hook.Failing = failing == 1
		return hook, err
	}, dueWebhooks, micros(now), micros(now))
}

func (t *tx) DueDeliveries(webhookIDs []int64, now time.Time, limit int) ([]shop.Delivery, error) {
	return allIn(t, webhookIDs, func(scan Scanner) (shop.Delivery, error) {
		var body string
		d, err := scanDelivery(func(columns ...any) error { return scan(append(columns, &body)...) })
		d.Body = []byte(body)
		return d, err
	}, dueDeliveries(t.dialect, limit)+t.dialect.lockDeliveries, micros(now), micros(now))
}

// dueDeliveries returns a query for allIn that finds the first due deliveries x of each webhook.
func dueDeliveries(d *dialect, limit int) string {
	first := "SELECT d.id FROM webhook_deliveries d WHERE d.webhook_id = w.id AND " + isDue + " ORDER BY d.next_at, d.id LIMIT " + strconv.Itoa(limit)
	return `
		SELECT x.id, webhook_id, x.message_id, event_id, event_type, status, attempts, x.created_at, next_at, claimed_until,
			CASE WHEN x.body <> '' THEN x.body ELSE (SELECT b.body FROM message_bodies b WHERE b.message_id = x.message_id) END
		FROM webhooks w JOIN webhook_deliveries x ON ` + fmt.Sprintf(d.inSubquery, "x.id", first) + " WHERE w.id IN (%s) ORDER BY next_at, x.id"
}

func (t *tx) ClaimDeliveries(ids []int64, until time.Time) error {
	return execIn(t, ids, "UPDATE webhook_deliveries SET claimed_until = $ WHERE id IN (%s)", micros(until))
}

// insertDeliveries contains the types, because PostgreSQL cannot infer them from the columns.
const insertDeliveries = `
	INSERT INTO webhook_deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body)
	SELECT id, CAST($ AS TEXT), CAST($ AS TEXT), CAST($ AS TEXT), 'pending', '[]', CAST($ AS BIGINT), CAST($ AS BIGINT), ''
	FROM webhooks WHERE id IN (%s) ORDER BY id RETURNING id`

func (t *tx) InsertDeliveries(m shop.Message, webhookIDs []int64, at time.Time) error {
	ids, err := allIn(t, webhookIDs, scanValue[int64], insertDeliveries, m.ID, m.EventID, string(m.EventType), micros(at), micros(at))
	if err != nil || len(ids) == 0 {
		return err
	}
	// The message may already be stored, if it was sent to other webhooks.
	return t.exec(`INSERT INTO message_bodies (message_id, body, last_delivery) VALUES ($1, $2, $3)
		ON CONFLICT (message_id) DO UPDATE SET last_delivery = excluded.last_delivery
		WHERE message_bodies.last_delivery < excluded.last_delivery`, m.ID, string(m.Body), slices.Max(ids))
}

// TakeFanOutTurn locks the only row in fanout_turn on PostgreSQL. A SQLite file has only one writer.
func (t *tx) TakeFanOutTurn() (bool, error) {
	if t.dialect.takeFanOutTurn == "" {
		return true, nil
	}
	if err := t.EndWhenIdle(); err != nil {
		return false, err
	}
	_, taken, err := one(t, scanValue[int64], t.dialect.takeFanOutTurn)
	return taken, err
}

func (t *tx) EndWhenIdle() error {
	if t.dialect.endWhenIdle == "" {
		return nil
	}
	return t.exec(t.dialect.endWhenIdle)
}
