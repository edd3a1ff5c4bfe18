package sqlstore

import (
	"database/sql"
	"strings"
	"time"

	"animalstore/internal/shop"
)

const webhookColumns = "id, url, types, enabled, disabled_reason, failing_since, created_at, updated_at, position"

func scanWebhook(scan Scanner) (shop.Webhook, error) {
	var hook shop.Webhook
	var types string
	var enabled, created, updated int64
	var reason sql.Null[string]
	var failing sql.Null[int64]
	err := scan(&hook.ID, &hook.URL, &types, &enabled, &reason, &failing, &created, &updated, &hook.Position)
	hook.Types = eventTypesIn(types)
	hook.Enabled, hook.DisabledReason, hook.FailingSince = enabled == 1, reason.V, fromMicros(failing.V)
	hook.CreatedAt, hook.UpdatedAt = fromMicros(created), fromMicros(updated)
	return hook, err
}

// eventTypesIn returns the event types in a text from the types column. They are separated by spaces.
func eventTypesIn(text string) (types []shop.EventType) {
	for name := range strings.FieldsSeq(text) {
		types = append(types, shop.EventType(name))
	}
	return types
}

func (t *tx) Webhook(id int64) (shop.Webhook, bool, error) {
	return one(t, scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE id = $1", id)
}

func (t *tx) WebhooksByID(ids []int64) ([]shop.Webhook, error) {
	return allIn(t, ids, scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE id IN (%s)")
}

func (t *tx) Subscriptions() ([]shop.Subscription, error) {
	return all(t, func(scan Scanner) (sub shop.Subscription, err error) {
		var types string
		err = scan(&sub.WebhookID, &types, &sub.Position)
		sub.Types = eventTypesIn(types)
		return sub, err
	}, "SELECT id, types, position FROM webhooks WHERE enabled = 1 ORDER BY id")
}

func (t *tx) Webhooks(w shop.PageRequest) ([]shop.Webhook, error) {
	var c conditions
	query, args := c.page("SELECT "+webhookColumns+" FROM webhooks", w, "id < %s", "id DESC")
	return all(t, scanWebhook, query, args...)
}

func (t *tx) InsertWebhook(hook shop.Webhook) (shop.Webhook, error) {
	inserted, _, err := one(t, scanWebhook, `
		INSERT INTO webhooks (url, types, enabled, disabled_reason, failing_since, created_at, updated_at, position)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING `+webhookColumns,
		hook.URL, words(hook.Types), flag(hook.Enabled), nullable(hook.DisabledReason), nullable(micros(hook.FailingSince)),
		micros(hook.CreatedAt), micros(hook.UpdatedAt), hook.Position)
	return inserted, err
}

func (t *tx) UpdateWebhook(_, after shop.Webhook) error {
	return t.exec(`
		UPDATE webhooks SET url = $1, types = $2, enabled = $3, disabled_reason = $4, failing_since = $5, updated_at = $6
		WHERE id = $7`,
		after.URL, words(after.Types), flag(after.Enabled), nullable(after.DisabledReason), nullable(micros(after.FailingSince)),
		micros(after.UpdatedAt), after.ID)
}

func (t *tx) AdvanceWebhooks(ids []int64, position int64) error {
	return execIn(t, ids, "UPDATE webhooks SET position = $ WHERE position < $ AND id IN (%s)", position, position)
}

func (t *tx) SetWebhookFailing(id int64, since time.Time) error {
	return t.exec("UPDATE webhooks SET failing_since = $1 WHERE id = $2", nullable(micros(since)), id)
}

func (t *tx) DeleteWebhook(hook shop.Webhook) error {
	if err := t.ParkDeliveries(hook.ID); err != nil {
		return err
	}
	if err := t.exec("DELETE FROM webhook_secrets WHERE webhook_id = $1", hook.ID); err != nil {
		return err
	}
	return t.exec("DELETE FROM webhooks WHERE id = $1", hook.ID)
}

func (t *tx) WebhookSecrets(ids []int64, now time.Time) (map[int64][]string, error) {
	type secret struct {
		webhookID int64
		text      string
	}
	found, err := allIn(t, ids, func(scan Scanner) (s secret, err error) {
		err = scan(&s.webhookID, &s.text)
		return s, err
	}, `
		SELECT webhook_id, secret FROM webhook_secrets WHERE (ends_at IS NULL OR ends_at > $) AND webhook_id IN (%s)
		ORDER BY created_at DESC, secret`, micros(now))
	secrets := make(map[int64][]string, len(ids))
	for _, s := range found {
		secrets[s.webhookID] = append(secrets[s.webhookID], s.text)
	}
	return secrets, err
}

func (t *tx) InsertWebhookSecret(id int64, secret string, now time.Time) error {
	return t.exec("INSERT INTO webhook_secrets (webhook_id, secret, created_at) VALUES ($1, $2, $3)", id, secret, micros(now))
}

func (t *tx) ExpireWebhookSecrets(id int64, now, until time.Time) error {
	if err := t.exec("DELETE FROM webhook_secrets WHERE webhook_id = $1 AND ends_at <= $2", id, micros(now)); err != nil {
		return err
	}
	return t.exec("UPDATE webhook_secrets SET ends_at = $1 WHERE webhook_id = $2 AND (ends_at IS NULL OR ends_at > $1)",
		micros(until), id)
}

// words joins a list of words with spaces, because lists are stored as a single text.
func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	return strings.Join(texts, " ")
}

// flag converts a bool to 0 or 1, because booleans are stored as integers.
func flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
