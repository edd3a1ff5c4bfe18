package storetest

import (
	"errors"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var clockCases = []testCase{
	{name: "times that are too far in the future are clamped", run: func(t *testing.T, store shop.Store) {
		now, lead := utcNow(), shop.MaxLead{Jump: time.Minute, Session: time.Hour, Link: time.Hour, Retry: 10 * time.Hour, Claim: 5 * time.Minute}
		const near, far = 59 * time.Second, 61 * time.Second
		var hook shop.Webhook
		var key shop.Key
		attempted := []shop.Attempt{{At: now, Status: 500}}
		write(t, store, func(tx shop.WriteTx) (err error) {
			if hook, err = tx.InsertWebhook(shop.Webhook{URL: "https://example.com/hook", Enabled: true, CreatedAt: now, UpdatedAt: now}); err != nil {
				return err
			}
			if key, err = tx.InsertKey(shop.Key{Name: "k", Scopes: []shop.Scope{shop.Admin}, CreatedAt: now}); err != nil {
				return err
			}
			// Only the deliveries at the indexes 0, 4 and 5 become due. Delivery 6 stays claimed, and
			// delivery 7 has no next attempt.
			for _, d := range []shop.Delivery{
				{NextAttemptAt: now.Add(far)},
				{NextAttemptAt: now.Add(near)},
				{NextAttemptAt: now.Add(far), Attempts: attempted},
				{NextAttemptAt: now.Add(10*time.Hour + near), Attempts: attempted},
				{NextAttemptAt: now.Add(10*time.Hour + far), Attempts: attempted},
				{NextAttemptAt: now, ClaimedUntil: now.Add(5*time.Minute + far)},
				{NextAttemptAt: now, ClaimedUntil: now.Add(5*time.Minute + near)},
				{NextAttemptAt: time.Time{}, ClaimedUntil: now.Add(5*time.Minute + far)},
			} {
				d.WebhookID, d.MessageID, d.EventType, d.Status, d.CreatedAt, d.Body = hook.ID, "m", shop.PetCreated, shop.DeliveryPending, now, []byte("{}")
				if _, err := tx.InsertDelivery(d); err != nil {
					return err
				}
			}
			record := func(key string, at time.Time) error {
				return tx.PutIdempotencyRecord(7, key, shop.IdempotencyRecord{At: at, StoredResponse: shop.StoredResponse{Body: []byte{}}})
			}
			session := func(token string, ends time.Time) error {
				id := shop.HashSecret(token)
				return errors.Join(tx.InsertSession(shop.Session{ID: id, EndsAt: ends}), tx.PutSignInLink(shop.SignInLink{ID: id, Secret: id, EndsAt: ends}))
			}
			future := shop.Session{ID: shop.HashSecret("future"), CreatedAt: now.Add(far), LastSeenAt: now.Add(2 * far), EndsAt: now.Add(far + time.Minute)}
			return errors.Join(record("near", now.Add(near)), record("far", now.Add(far)), tx.InsertSession(future), session("near", now.Add(time.Hour+near)),
				session("far", now.Add(time.Hour+far)), tx.SetKeyLastUsed(key.ID, now.Add(far)))
		})
		write(t, store, func(tx shop.WriteTx) error { return tx.ClampFutureTimes(now, lead) })
		if ids := dueDeliveries(t, store, now, 10, hook.ID); len(ids) != 3 || ids[1] != ids[0]+4 || ids[2] != ids[0]+5 {
			t.Errorf("the deliveries %v are due, want the indexes 0, 4 and 5", ids)
		}
		read(t, store, func(tx shop.ReadTx) (err error) {
			for name, want := range map[string]time.Duration{"near": near, "far": 0} {
				record, _, recordErr := tx.IdempotencyRecord(7, name)
				session, _, sessionErr := tx.Session(shop.HashSecret(name))
				if err = errors.Join(err, recordErr, sessionErr); !record.At.Equal(now.Add(want)) || !session.EndsAt.Equal(now.Add(time.Hour+want)) {
					t.Errorf("at %v: %s: a record of %v and a session until %v", now, name, record.At, session.EndsAt)
				}
			}
			for name, want := range map[string]time.Time{"near": now.Add(time.Hour + near), "far": now} {
				link, _, linkErr := tx.SignInLink(shop.HashSecret(name))
				if err = errors.Join(err, linkErr); !link.EndsAt.Equal(want) {
					t.Errorf("at %v: %s: a link until %v", now, name, link.EndsAt)
				}
			}
			future, _, futureErr := tx.Session(shop.HashSecret("future"))
			if err = errors.Join(err, futureErr); !future.CreatedAt.Equal(now) || !future.LastSeenAt.Equal(now) || !future.EndsAt.Equal(now.Add(time.Minute)) {
				t.Errorf("at %v: a session of %v to %v, last seen at %v", now, future.CreatedAt, future.EndsAt, future.LastSeenAt)
			}
			key, _, keyErr := tx.Key(key.ID)
			if !key.LastUsedAt.Equal(now) {
				t.Errorf("at %v: %+v", now, key)
			}
			return errors.Join(err, keyErr)
		})
	}},

	{name: "a delivery with a future time is as old as the next one", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		year := 365 * 24 * time.Hour
		var ids []int64
		write(t, store, func(tx shop.WriteTx) error {
			for _, created := range []time.Duration{year, -2 * time.Hour, year, 2 * year, -time.Hour, year, -3 * time.Hour} {
				d, err := tx.InsertDelivery(shop.Delivery{WebhookID: 1, MessageID: "m", EventType: shop.PetCreated,
					Status: shop.DeliveryFailed, CreatedAt: now.Add(created), Body: []byte("{}")})
				if err != nil {
					return err
				}
				ids = append(ids, d.ID)
			}
			return nil
		})
		for _, step := range []struct {
			before time.Duration
			left   int
		}{{-3 * time.Hour, 7}, {-90 * time.Minute, 5}, {-time.Minute, 0}} {
			write(t, store, func(tx shop.WriteTx) error {
				_, err := tx.RemoveDeliveries(now.Add(step.before), now)
				return err
			})
			read(t, store, func(tx shop.ReadTx) error {
				rest, err := tx.Deliveries(shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 10}})
				if len(rest) != step.left || step.left > 0 && rest[step.left-1].ID != ids[7-step.left] {
					t.Errorf("%v: %d deliveries are left of %v", step.before, len(rest), ids)
				}
				return err
			})
		}
	}},
}
