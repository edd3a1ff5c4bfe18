package sqlstore

import (
	"database/sql"
	"encoding/json"
	"time"

	"animalstore/internal/shop"
)

const deliveryColumns = "id, webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until"

func scanDelivery(scan Scanner) (shop.Delivery, error) {
	var d shop.Delivery
	var event sql.Null[string]
	var attempts, body string
	var created int64
	var next, claimed sql.Null[int64]
	err := scan(&d.ID, &d.WebhookID, &d.MessageID, &event, &d.EventType, &d.Status, &attempts, &created, &next, &body, &claimed)
	if err != nil {
		return d, err
	}
	d.EventID, d.Body = event.V, []byte(body)
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

func (t *tx) Delivery(webhookID, id int64) (shop.Delivery, bool, error) {
	return one(t, scanDelivery, "SELECT "+deliveryColumns+" FROM deliveries WHERE id = $1 AND webhook_id = $2", id, webhookID)
}

func (t *tx) Deliveries(list shop.DeliveryList) ([]shop.Delivery, error) {
	query, args := deliveriesQuery(t.dialect, list)
	return all(t, scanDelivery, query, args...)
}

func deliveriesQuery(d *dialect, list shop.DeliveryList) (query string, args []any) {
	c := conditions{byRow: d.byRow}
	c.equal("webhook_id", list.WebhookID)
	if list.Status != "" {
		c.equal("status", list.Status)
	}
	return c.page("SELECT "+deliveryColumns+" FROM deliveries", list.PageRequest, "id < %s", "id DESC")
}

func (t *tx) DueDeliveries(webhookID int64, now time.Time, limit int) ([]shop.Delivery, error) {
	return all(t, scanDelivery, "SELECT "+deliveryColumns+` FROM deliveries
		WHERE webhook_id = $1 AND next_at IS NOT NULL AND next_at <= $2 AND (claimed_until IS NULL OR claimed_until <= $2)
		ORDER BY next_at, id LIMIT $3`, webhookID, micros(now), limit)
}

func (t *tx) InsertDelivery(d shop.Delivery) (shop.Delivery, error) {
	attempts, err := attemptsText(d.Attempts)
	if err != nil {
		return shop.Delivery{}, err
	}
	inserted, _, err := one(t, scanDelivery, `
		INSERT INTO deliveries (webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body, claimed_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING `+deliveryColumns,
		d.WebhookID, d.MessageID, nullable(d.EventID), d.EventType, d.Status, attempts, micros(d.CreatedAt),
		nullable(micros(d.NextAttemptAt)), string(d.Body), nullable(micros(d.ClaimedUntil)))
	return inserted, err
}

func (t *tx) UpdateDelivery(d shop.Delivery) error {
	attempts, err := attemptsText(d.Attempts)
	if err != nil {
		return err
	}
	return t.exec("UPDATE deliveries SET status = $1, attempts = $2, next_at = $3, claimed_until = $4 WHERE id = $5",
		d.Status, attempts, nullable(micros(d.NextAttemptAt)), nullable(micros(d.ClaimedUntil)), d.ID)
}

func (t *tx) ParkDeliveries(webhookID int64) error {
	return t.exec("UPDATE deliveries SET next_at = NULL WHERE webhook_id = $1 AND next_at IS NOT NULL", webhookID)
}

func (t *tx) ResumeDeliveries(webhookID int64, at time.Time) error {
	return t.exec("UPDATE deliveries SET next_at = $1 WHERE webhook_id = $2 AND status = 'pending' AND next_at IS NULL",
		micros(at), webhookID)
}

func (t *tx) RemoveDeliveries(before, now time.Time) (more bool, err error) {
	removed, err := t.removeOldest("deliveries", "created_at", before, now)
	return len(removed) == removeAtOnce, err
}
