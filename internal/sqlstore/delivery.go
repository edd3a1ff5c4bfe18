package sqlstore

import (
	"database/sql"
	"encoding/json"
	"time"

	"animalstore/internal/shop"
)

const deliveryColumns = "id, webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at"

func scanDelivery(scan Scanner) (shop.Delivery, error) {
	var d shop.Delivery
	var event sql.Null[string]
	var attempts string
	var created int64
	var next sql.Null[int64]
	err := scan(&d.ID, &d.WebhookID, &d.MessageID, &event, &d.EventType, &d.Status, &attempts, &created, &next)
	if err != nil {
		return d, err
	}
	d.EventID = event.V
	d.CreatedAt, d.NextAttemptAt = fromMicros(created), fromMicros(next.V)
	return d, json.Unmarshal([]byte(attempts), &d.Attempts)
}

// scanMessage scans a delivery together with its body.
func scanMessage(scan Scanner) (shop.Delivery, error) {
	var body string
	d, err := scanDelivery(func(columns ...any) error { return scan(append(columns, &body)...) })
	d.Body = []byte(body)
	return d, err
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

func (t *tx) Delivery(webhookID, id int64) (shop.Delivery, bool, error) {
	return one(t, scanMessage, "SELECT "+deliveryColumns+", body FROM webhook_deliveries WHERE id = $1 AND webhook_id = $2", id, webhookID)
}

func (t *tx) DueDeliveries(webhookID int64, now time.Time, limit int) ([]shop.Delivery, error) {
	return all(t, scanMessage, dueDeliveries, webhookID, micros(now), limit)
}

const dueDeliveries = "SELECT " + deliveryColumns + ", body FROM webhook_deliveries " +
	"WHERE webhook_id = $1 AND next_at IS NOT NULL AND next_at <= $2 ORDER BY next_at, id LIMIT $3"

func (t *tx) OldestFailedDelivery(webhookID int64) (shop.Delivery, bool, error) {
	query, args := oldestFailedDelivery(t.dialect, webhookID)
	return one(t, scanMessage, query, args...)
}

func oldestFailedDelivery(d *dialect, webhookID int64) (query string, args []any) {
	c := conditions{byRow: d.byRow}
	c.equalFirst("webhook_id", webhookID)
	c.equal("status", shop.DeliveryPending)
	c.add("attempts <> %s", "[]")
	return c.page("SELECT "+deliveryColumns+", body FROM webhook_deliveries", shop.PageRequest{Limit: 1}, "id > %s", "id")
}

const insertDeliveries = "INSERT INTO webhook_deliveries " +
	"(webhook_id, message_id, event_id, event_type, status, attempts, created_at, next_at, body) VALUES "

// appendDelivery appends the values of a delivery in the order of the columns in insertDeliveries.
func appendDelivery(args []any, d shop.Delivery) ([]any, error) {
	attempts, err := attemptsText(d.Attempts)
	return append(args, d.WebhookID, d.MessageID, nullable(d.EventID), string(d.EventType), string(d.Status), attempts, micros(d.CreatedAt),
		nullable(micros(d.NextAttemptAt)), string(d.Body)), err
}

func (t *tx) InsertDelivery(d shop.Delivery) (shop.Delivery, error) {
	args, err := appendDelivery(nil, d)
	if err != nil {
		return shop.Delivery{}, err
	}
	d.ID, _, err = one(t, scanValue[int64], numbered(insertDeliveries+placeholders(len(args))+" RETURNING id"), args...)
	return d, err
}

func (t *tx) InsertDeliveries(deliveries ...shop.Delivery) error {
	return inChunks(deliveries, placeholders(9), func(part []shop.Delivery, places string) (err error) {
		var args []any
		for _, d := range part {
			if args, err = appendDelivery(args, d); err != nil {
				return err
			}
		}
		return t.Exec(insertDeliveries+places, args...)
	})
}

// deliveryRow casts each value, because PostgreSQL cannot infer the types in an UPDATE of several rows.
const deliveryRow = "(CAST($ AS BIGINT), CAST($ AS TEXT), CAST($ AS TEXT), CAST($ AS BIGINT))"

func (t *tx) UpdateDeliveries(deliveries ...shop.Delivery) error {
	return inPaddedChunks(deliveries, deliveryRow, func(part []shop.Delivery, places string) error {
		var args []any
		for _, d := range part {
			attempts, err := attemptsText(d.Attempts)
			if err != nil {
				return err
			}
			args = append(args, d.ID, string(d.Status), attempts, nullable(micros(d.NextAttemptAt)))
		}
		return t.Exec(numbered(`
			UPDATE webhook_deliveries SET status = new.column2, attempts = new.column3, next_at = new.column4
			FROM (VALUES `+places+`) AS new WHERE id = new.column1`), args...)
	})
}

func (t *tx) ParkDeliveries(webhookID int64) error {
	return t.Exec("UPDATE webhook_deliveries SET next_at = NULL WHERE webhook_id = $1 AND next_at IS NOT NULL", webhookID)
}

func (t *tx) ResumeDeliveries(webhookID int64, at time.Time) error {
	return t.Exec("UPDATE webhook_deliveries SET next_at = $1 WHERE webhook_id = $2 AND status = 'pending' AND next_at IS NULL",
		micros(at), webhookID)
}

// RemoveDeliveries removes old deliveries in the order of their ids.
func (t *tx) RemoveDeliveries(before, now time.Time) (more bool, err error) {
	removed, err := t.removeOldest("webhook_deliveries", "created_at", before, now)
	return len(removed) == removeAtOnce, err
}
