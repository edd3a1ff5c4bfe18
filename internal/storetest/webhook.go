package storetest

import (
	"fmt"
	"slices"
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
				FailingSince: now, CreatedAt: now, UpdatedAt: now.Add(time.Second), WebhookProgress: shop.WebhookProgress{Position: 1 << 60}},
		} {
			added := addWebhook(t, store, hook)
			hook.ID = added.ID
			wantWebhook(t, store, hook)
			changed := shop.Webhook{ID: hook.ID, URL: "https://ä.example/", Types: []shop.EventType{shop.KeyRevoked}, Enabled: !hook.Enabled,
				CreatedAt: hook.CreatedAt, UpdatedAt: now.Add(time.Hour), WebhookProgress: hook.WebhookProgress}
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateWebhook(hook, changed) })
			wantWebhook(t, store, changed)
			progress := shop.WebhookProgress{Position: hook.Position + 99, LeasedUntil: now.Add(time.Minute), AcceptedAt: now.Add(-time.Minute),
				Failures: []time.Time{now.Add(-time.Second), now}, ProbeAt: now.Add(time.Hour)}
			for _, progress := range []shop.WebhookProgress{progress, {Position: progress.Position}} {
				changed.WebhookProgress, changed.FailingSince = progress, progress.AcceptedAt
				write(t, store, func(tx shop.WriteTx) error { return tx.SetWebhookProgress(changed) })
				wantWebhook(t, store, changed)
			}
		}
	}},

	{name: "a lease is exclusive until it ends or is given up", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var ids []int64
		for range 3 {
			ids = append(ids, addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}).ID)
		}
		lease := func(at time.Duration, want []int64, ids ...int64) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				leased, err := tx.LeaseWebhooks(ids, now.Add(at), now.Add(at+time.Minute))
				slices.Sort(leased)
				if diff := cmp.Diff(want, leased, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("after %v, these are leased: %s", at, diff)
				}
				return err
			})
		}
		lease(0, ids[:2], ids[0], ids[1], ids[2]+1)
		lease(time.Second, ids[2:], ids...)
		lease(time.Minute-time.Microsecond, nil, ids...)
		lease(time.Minute, ids[:2], ids...)
		write(t, store, func(tx shop.WriteTx) error { return tx.SetWebhookProgress(shop.Webhook{ID: ids[0]}) })
		lease(time.Minute, ids[:1], ids...)
		lease(-time.Second, ids, ids...) // the clock was set back
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
