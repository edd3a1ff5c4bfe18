package sqlstore

import (
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"animalstore/internal/shop"
)

const deliveryColumns = "id, webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, claimed_until"

func scanDelivery(scan Scanner) (shop.Delivery, error) {
	var d shop.Delivery
	var event sql.Null[string]
	var attempts string
	var created int64
	var next, claimed sql.Null[int64]
	err := scan(&d.ID, &d.WebhookID, &d.MessageID, &event, &d.EventType, &d.Status, &attempts, &created, &next, &claimed)
	if err != nil {
		return d, err
	}
	d.EventID = event.V
	d.CreatedAt, d.NextAttemptAt, d.ClaimedUntil = fromMicros(created), fromMicros(next.V), fromMicros(claimed.V)
	return d, json.Unmarshal([]byte(attempts), &d.Attempts)
}

// attemptsText returns the JSON text that is stored for a delivery's attempts. The attempts need no table of
// their own, because no query searches them.
func attemptsText(attempts []shop.Attempt) (string, error) {
	if attempts == nil {
		attempts = []shop.Attempt{}
	}
	text, err := json.Marshal(attempts)
	return string(text), err
}

func (t *tx) Deliveries(list shop.DeliveryList) ([]shop.Delivery, error) {
	query, args := deliveriesQuery(t.dialect, list)
	return all(t, scanDelivery, query, args...)
}

func deliveriesQuery(d *dialect, list shop.DeliveryList) (query string, args []any) {
	c := conditions{byRow: d.byRow}
	if list.Status == "" {
		c.equal("webhook_id", list.WebhookID)
	} else {
		c.equalFirst("webhook_id", list.WebhookID)
		c.equal("status", list.Status)
	}
	return c.page("SELECT "+deliveryColumns+" FROM webhook_deliveries", list.PageRequest, "id < %s", "id DESC")
}

func (t *tx) DeliveriesByID(ids []int64) ([]shop.Delivery, error) {
	return allIn(t, ids, scanDelivery, "SELECT "+deliveryColumns+" FROM webhook_deliveries WHERE id IN (%s)")
}

func (t *tx) InsertDelivery(d shop.Delivery) (shop.Delivery, error) {
	attempts, err := attemptsText(d.Attempts)
	if err != nil {
		return shop.Delivery{}, err
	}
	d.ID, _, err = one(t, scanValue[int64], `
		INSERT INTO webhook_deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		d.WebhookID, d.MessageID, nullable(d.EventID), d.EventType, d.Status, attempts, micros(d.CreatedAt),
		nullable(micros(d.NextAttemptAt)), string(d.Body), nullable(micros(d.ClaimedUntil)))
	return d, err
}

func (t *tx) RepeatDelivery(webhookID, id int64, at time.Time) (shop.Delivery, bool, error) {
	again, found, err := one(t, scanDelivery, `
		INSERT INTO webhook_deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body)
		SELECT webhook_id, message_id, event_id, event_type, 'pending', '[]', CAST($1 AS BIGINT), CAST($1 AS BIGINT), body
		FROM webhook_deliveries WHERE id = $2 AND webhook_id = $3 RETURNING `+deliveryColumns, micros(at), id, webhookID)
	if err != nil || !found {
		return again, found, err
	}
	return again, true, t.exec("UPDATE message_bodies SET last_delivery = $1 WHERE message_id = $2 AND last_delivery < $1", again.ID, again.MessageID)
}

// deliveryRow casts each value, because PostgreSQL cannot infer the types in an UPDATE of several rows.
const deliveryRow = "(CAST($ AS BIGINT), CAST($ AS TEXT), CAST($ AS TEXT), CAST($ AS BIGINT), CAST($ AS BIGINT))"

func (t *tx) UpdateDeliveries(deliveries ...shop.Delivery) error {
	return inPaddedChunks(deliveries, deliveryRow, func(part []shop.Delivery, places string) error {
		var args []any
		for _, d := range part {
			attempts, err := attemptsText(d.Attempts)
			if err != nil {
				return err
			}
			args = append(args, d.ID, string(d.Status), attempts, nullable(micros(d.NextAttemptAt)), nullable(micros(d.ClaimedUntil)))
		}
		return t.exec(numbered(`
			UPDATE webhook_deliveries SET status = new.column2, attempts = new.column3, next_at = new.column4, claimed_until = new.column5
			FROM (VALUES `+places+`) AS new WHERE id = new.column1`), args...)
	})
}

func (t *tx) ParkDeliveries(webhookID int64) error {
	return t.exec("UPDATE webhook_deliveries SET next_at = NULL WHERE webhook_id = $1 AND next_at IS NOT NULL", webhookID)
}

func (t *tx) ResumeDeliveries(webhookID int64, at time.Time) error {
	return t.exec("UPDATE webhook_deliveries SET next_at = $1 WHERE webhook_id = $2 AND status = 'pending' AND next_at IS NULL",
		micros(at), webhookID)
}

// RemoveDeliveries removes old deliveries in the order of their ids. The body of a message is removed together with
// the last delivery of that message.
func (t *tx) RemoveDeliveries(before, now time.Time) (more bool, err error) {
	removed, err := t.removeOldest("webhook_deliveries", "created_at", before, now)
	if err != nil || len(removed) == 0 {
		return false, err
	}
	return len(removed) == removeAtOnce, t.exec("DELETE FROM message_bodies WHERE last_delivery <= $1", slices.Max(removed))
}
