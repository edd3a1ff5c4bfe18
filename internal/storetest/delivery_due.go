package storetest

import (
	"slices"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// dueDeliveries returns the ids of the webhooks' deliveries that are due at the given time.
func dueDeliveries(t *testing.T, store shop.Store, at time.Time, limit int, webhookIDs ...int64) (ids []int64) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		ids = nil
		deliveries, err := tx.DueDeliveries(sinceAnyTime(webhookIDs), at, limit)
		for _, d := range deliveries {
			ids = append(ids, d.ID)
		}
		return err
	})
	return ids
}

// sinceAnyTime returns an argument for DueDeliveries. It selects all due deliveries to the webhooks with the given
// ids.
func sinceAnyTime(webhookIDs []int64) (webhooks []shop.DueWebhook) {
	for _, id := range webhookIDs {
		webhooks = append(webhooks, shop.DueWebhook{ID: id})
	}
	return webhooks
}

// dueWebhooks returns the webhooks with deliveries that are due at the given time.
func dueWebhooks(t *testing.T, store shop.Store, at time.Time) []shop.DueWebhook {
	t.Helper()
	scheduled := get(t, store, func(tx shop.ReadTx) ([]shop.DueWebhook, error) { return tx.DueWebhooks(at, nil) })
	return slices.DeleteFunc(scheduled, func(hook shop.DueWebhook) bool { return hook.Since.IsZero() })
}
