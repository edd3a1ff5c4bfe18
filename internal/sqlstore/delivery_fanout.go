package sqlstore

import (
	"slices"
	"time"

	"animalstore/internal/shop"
)

// insertDeliveries casts its values, because PostgreSQL cannot infer their types from the columns.
const insertDeliveries = `
	INSERT INTO webhook_deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body)
	SELECT id, CAST($ AS TEXT), CAST($ AS TEXT), CAST($ AS TEXT), 'pending', '[]', CAST($ AS BIGINT), CAST($ AS BIGINT), ''
	FROM webhooks WHERE id IN (%s) ORDER BY id RETURNING id`

func (t *tx) InsertDeliveries(m shop.Message, webhookIDs []int64, at time.Time) error {
	ids, err := allIn(t, webhookIDs, scanValue[int64], insertDeliveries, m.ID, m.EventID, string(m.EventType), micros(at), micros(at))
	if err != nil || len(ids) == 0 {
		return err
	}
	// The body is already stored if the same message has deliveries to other webhooks.
	return t.exec(`INSERT INTO message_bodies (message_id, body, last_delivery) VALUES ($1, $2, $3)
		ON CONFLICT (message_id) DO UPDATE SET last_delivery = excluded.last_delivery
		WHERE message_bodies.last_delivery < excluded.last_delivery`, m.ID, string(m.Body), slices.Max(ids))
}

// TakeFanOutTurn tries to lock the only row in fanout_turn and returns false if another node has locked it. SQLite
// needs no lock, because a file has only one writer at a time.
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
