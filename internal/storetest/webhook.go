package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"animalstore/internal/shop"
)

func addWebhook(t *testing.T, store shop.Store, hook shop.Webhook) (added shop.Webhook) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) (err error) {
		added, err = tx.InsertWebhook(hook)
		return err
	})
	return added
}

func wantWebhook(t *testing.T, store shop.Store, want shop.Webhook) {
	t.Helper()
	wantFound(t, store, &want, func(tx shop.ReadTx) (shop.Webhook, bool, error) { return tx.Webhook(want.ID) })
}

func wantWebhookSecrets(t *testing.T, store shop.Store, id int64, at time.Time, want ...string) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		got, err := tx.WebhookSecrets([]int64{id}, at)
		if diff := cmp.Diff(want, got[id], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the secrets at %v: %s", at, diff)
		}
		return err
	})
}

var webhookCases = []testCase{
	{name: "a webhook is stored and updated", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		for _, hook := range []shop.Webhook{
			{URL: "https://example.com/hook?a=b", Enabled: true, CreatedAt: now, UpdatedAt: now},
			{URL: "http://x", Types: []shop.EventType{shop.PetCreated, shop.OrderExpired}, DisabledReason: "It is gone.",
				FailingSince: now, CreatedAt: now, UpdatedAt: now.Add(time.Second), Position: 1 << 60},
		} {
			added := addWebhook(t, store, hook)
			hook.ID = added.ID
			wantWebhook(t, store, hook)
			changed := shop.Webhook{ID: hook.ID, URL: "https://ä.example/", Types: []shop.EventType{shop.KeyRevoked}, Enabled: !hook.Enabled,
				CreatedAt: hook.CreatedAt, UpdatedAt: now.Add(time.Hour), Position: hook.Position}
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateWebhook(hook, changed) })
			wantWebhook(t, store, changed)
			write(t, store, func(tx shop.WriteTx) error { return tx.AdvanceWebhooks([]int64{hook.ID}, hook.Position+99) })
			write(t, store, func(tx shop.WriteTx) error { return tx.AdvanceWebhooks([]int64{hook.ID}, 98) })
			write(t, store, func(tx shop.WriteTx) error { return tx.SetWebhookFailing(hook.ID, now) })
			changed.Position, changed.FailingSince = hook.Position+99, now
			wantWebhook(t, store, changed)
			write(t, store, func(tx shop.WriteTx) error { return tx.SetWebhookFailing(hook.ID, time.Time{}) })
			changed.FailingSince = time.Time{}
			wantWebhook(t, store, changed)
		}
	}},

	{name: "webhooks are listed newest first", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var ids []int64
		for i := range 4 {
			ids = append(ids, addWebhook(t, store, shop.Webhook{URL: fmt.Sprintf("http://%d", i), CreatedAt: now, UpdatedAt: now}).ID)
		}
		read(t, store, func(tx shop.ReadTx) error {
			hooks, err := tx.Webhooks(shop.PageRequest{Limit: 2, After: &ids[3]})
			if len(hooks) != 2 || hooks[0].ID != ids[2] || hooks[1].ID != ids[1] {
				t.Errorf("%+v", hooks)
			}
			return err
		})
	}},

	{name: "enabled webhooks have subscriptions", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var want []shop.Subscription
		for i := range 5 {
			hook := shop.Webhook{URL: "http://x", Enabled: i%2 == 0, CreatedAt: now, UpdatedAt: now, Position: int64(i)}
			if i == 2 {
				hook.Types = []shop.EventType{shop.PetCreated, shop.OrderExpired}
			}
			if hook = addWebhook(t, store, hook); hook.Enabled {
				want = append(want, shop.Subscription{WebhookID: hook.ID, Types: hook.Types, Position: hook.Position})
			}
		}
		read(t, store, func(tx shop.ReadTx) error {
			got, err := tx.Subscriptions()
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(shop.Subscription{})); diff != "" {
				t.Errorf("the subscriptions: %s", diff)
			}
			return err
		})
	}},

	{name: "webhook secrets sign until they expire, never later than before", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		hook := addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now})
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertWebhookSecret(hook.ID, "whsec_first", now) })
		wantWebhookSecrets(t, store, hook.ID, now, "whsec_first")
		rotate := func(secret string, now, until time.Time) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				if err := tx.ExpireWebhookSecrets(hook.ID, now, until); err != nil {
					return err
				}
				return tx.InsertWebhookSecret(hook.ID, secret, now)
			})
		}
		rotate("whsec_second", now.Add(time.Second), now.Add(time.Hour))
		wantWebhookSecrets(t, store, hook.ID, now.Add(time.Hour-time.Microsecond), "whsec_second", "whsec_first")
		wantWebhookSecrets(t, store, hook.ID, now.Add(time.Hour), "whsec_second")
		rotate("whsec_soon", now.Add(2*time.Second), now.Add(24*time.Hour))
		wantWebhookSecrets(t, store, hook.ID, now.Add(time.Hour-time.Microsecond), "whsec_soon", "whsec_second", "whsec_first")
		wantWebhookSecrets(t, store, hook.ID, now.Add(time.Hour), "whsec_soon", "whsec_second")
		rotate("whsec_third", now.Add(time.Minute), now.Add(time.Minute))
		wantWebhookSecrets(t, store, hook.ID, now.Add(time.Minute), "whsec_third")
	}},

	{name: "a deleted webhook loses its secrets, and its id is never reused", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		hook := addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now})
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertWebhookSecret(hook.ID, "whsec_x", now) })
		waiting := addDelivery(t, store, shop.Delivery{WebhookID: hook.ID, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending,
			CreatedAt: now, NextAttemptAt: now, Body: []byte("{}")})
		write(t, store, func(tx shop.WriteTx) error { return tx.DeleteWebhook(hook) })
		waiting.NextAttemptAt = time.Time{}
		wantDelivery(t, store, waiting)
		wantFound(t, store, nil, func(tx shop.ReadTx) (shop.Webhook, bool, error) { return tx.Webhook(hook.ID) })
		wantWebhookSecrets(t, store, hook.ID, now)
		if next := addWebhook(t, store, hook); next.ID <= hook.ID {
			t.Errorf("the id %d follows %d", next.ID, hook.ID)
		}
	}},
}
