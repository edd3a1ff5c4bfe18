package sqlstore

import (
	"database/sql"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

const webhookColumns = "id, url, types, enabled, disabled_reason, failing_since, created_at, updated_at, " +
	"position, leased_until, accepted_at, failures, probe_at"

func scanWebhook(scan Scanner) (shop.Webhook, error) {
	var hook shop.Webhook
	var types, failures string
	var enabled, created, updated int64
	var reason sql.Null[string]
	var failing, leased, accepted, probe sql.Null[int64]
	err := scan(&hook.ID, &hook.URL, &types, &enabled, &reason, &failing, &created, &updated,
		&hook.Position, &leased, &accepted, &failures, &probe)
	if err != nil {
		return hook, err
	}
	hook.Types = eventTypesIn(types)
	hook.Enabled, hook.DisabledReason, hook.FailingSince = enabled == 1, reason.V, fromMicros(failing.V)
	hook.CreatedAt, hook.UpdatedAt = fromMicros(created), fromMicros(updated)
	hook.LeasedUntil, hook.AcceptedAt, hook.ProbeAt = fromMicros(leased.V), fromMicros(accepted.V), fromMicros(probe.V)
	hook.Failures, err = timesIn(failures)
	return hook, err
}

// timesIn returns the times in a text from the failures column. They are numbers of microseconds separated by spaces.
func timesIn(text string) (times []time.Time, err error) {
	for number := range strings.FieldsSeq(text) {
		at, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		times = append(times, fromMicros(at))
	}
	return times, nil
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

func (t *tx) WebhookStates(now time.Time) ([]shop.WebhookState, error) {
	return all(t, func(scan Scanner) (state shop.WebhookState, err error) {
		var next sql.Null[int64]
		state.Webhook, err = scanWebhook(func(columns ...any) error { return scan(append(columns, &next)...) })
		state.Due = next.Valid && next.V <= micros(now)
		return state, err
	}, webhookStates)
}

// webhookStates reads the time of the first scheduled delivery to each webhook from the deliveries_due index, which
// contains only scheduled deliveries.
const webhookStates = "SELECT " + webhookColumns + `,
		(SELECT d.next_at FROM webhook_deliveries d WHERE d.webhook_id = webhooks.id AND d.next_at IS NOT NULL ORDER BY d.next_at LIMIT 1)
	FROM webhooks ORDER BY id`

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
	return t.Exec(`
		UPDATE webhooks SET url = $1, types = $2, enabled = $3, disabled_reason = $4, failing_since = $5, updated_at = $6
		WHERE id = $7`,
		after.URL, words(after.Types), flag(after.Enabled), nullable(after.DisabledReason), nullable(micros(after.FailingSince)),
		micros(after.UpdatedAt), after.ID)
}

func (t *tx) LeaseWebhooks(ids []int64, now, until time.Time) ([]int64, error) {
	return allIn(t, ids, scanValue[int64], `
		UPDATE webhooks SET leased_until = $ WHERE (leased_until IS NULL OR leased_until <= $ OR leased_until > $) AND id IN (%s)
		RETURNING id`, micros(until), micros(now), micros(until))
}

func (t *tx) SetWebhookProgress(hook shop.Webhook) error {
	var failures []string
	for _, at := range hook.Failures {
		failures = append(failures, strconv.FormatInt(micros(at), 10))
	}
	return t.Exec(`
		UPDATE webhooks SET failing_since = $1, position = $2, leased_until = $3, accepted_at = $4, failures = $5, probe_at = $6
		WHERE id = $7`,
		nullable(micros(hook.FailingSince)), hook.Position, nullable(micros(hook.LeasedUntil)), nullable(micros(hook.AcceptedAt)),
		strings.Join(failures, " "), nullable(micros(hook.ProbeAt)), hook.ID)
}

func (t *tx) DeleteWebhook(hook shop.Webhook) error {
	if err := t.ParkDeliveries(hook.ID); err != nil {
		return err
	}
	if err := t.Exec("DELETE FROM webhook_secrets WHERE webhook_id = $1", hook.ID); err != nil {
		return err
	}
	return t.Exec("DELETE FROM webhooks WHERE id = $1", hook.ID)
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
	return t.Exec("INSERT INTO webhook_secrets (webhook_id, secret, created_at) VALUES ($1, $2, $3)", id, secret, micros(now))
}

func (t *tx) ExpireWebhookSecrets(id int64, now, until time.Time) error {
	if err := t.Exec("DELETE FROM webhook_secrets WHERE webhook_id = $1 AND ends_at <= $2", id, micros(now)); err != nil {
		return err
	}
	return t.Exec("UPDATE webhook_secrets SET ends_at = $1 WHERE webhook_id = $2 AND (ends_at IS NULL OR ends_at > $1)",
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
