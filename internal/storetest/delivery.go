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

func addDelivery(t *testing.T, store shop.Store, d shop.Delivery) (added shop.Delivery) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) (err error) {
		added, err = tx.InsertDelivery(d)
		return err
	})
	return added
}

func wantDelivery(t *testing.T, store shop.Store, want shop.Delivery) {
	t.Helper()
	wantFound(t, store, &want, func(tx shop.ReadTx) (shop.Delivery, bool, error) { return tx.Delivery(want.WebhookID, want.ID) },
		cmpopts.EquateEmpty())
}

// dueDeliveries returns the ids of a webhook's deliveries that are due at the given time.
func dueDeliveries(t *testing.T, store shop.Store, webhookID int64, at time.Time, limit int) (ids []int64) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		deliveries, err := tx.DueDeliveries(webhookID, at, limit)
		for _, d := range deliveries {
			ids = append(ids, d.ID)
		}
		return err
	})
	return ids
}

var deliveryCases = []testCase{
	{name: "a delivery is stored and updated", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		for _, d := range []shop.Delivery{
			{WebhookID: 7, MessageID: "evt_1", EventID: "1", EventType: shop.PetCreated, Status: shop.DeliveryPending,
				CreatedAt: now, NextAttemptAt: now, Body: []byte(`{"name":"Žofka"}`)},
			{WebhookID: 7, MessageID: "test_1", EventType: "webhook.test", Status: shop.DeliveryFailed, CreatedAt: now, Body: []byte("{}"),
				ClaimedUntil: now.Add(time.Minute), Attempts: []shop.Attempt{{At: now, Millis: 12, Error: "refused"}}},
		} {
			d.ID = addDelivery(t, store, d).ID
			wantDelivery(t, store, d)
			d.Status, d.NextAttemptAt, d.ClaimedUntil = shop.DeliverySucceeded, now.Add(time.Hour), now.Add(2*time.Hour)
			d.Attempts = append(d.Attempts, shop.Attempt{At: now.Add(time.Second), Status: 200, Response: "ok \x00 <ä>\u2028"})
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateDelivery(d) })
			wantDelivery(t, store, d)
			wantFound(t, store, nil, func(tx shop.ReadTx) (shop.Delivery, bool, error) { return tx.Delivery(8, d.ID) })
		}
	}},

	{name: "deliveries of one webhook are listed newest first", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var all []shop.Delivery
		statuses := []shop.DeliveryStatus{shop.DeliveryPending, shop.DeliverySucceeded, shop.DeliveryFailed}
		for i := range 12 {
			all = append(all, addDelivery(t, store, shop.Delivery{WebhookID: int64(i % 2), MessageID: fmt.Sprint(i), EventType: shop.PetCreated,
				Status: statuses[i%3], CreatedAt: now, Body: []byte("{}")}))
		}
		slices.Reverse(all)
		for _, status := range append(statuses, "") {
			for _, from := range []*int64{nil, &all[5].ID} {
				want := slices.DeleteFunc(slices.Clone(all), func(d shop.Delivery) bool {
					return d.WebhookID != 1 || status != "" && d.Status != status || from != nil && d.ID >= *from
				})
				list := shop.DeliveryList{WebhookID: 1, Status: status, PageRequest: shop.PageRequest{Limit: 3, After: from}}
				read(t, store, func(tx shop.ReadTx) error {
					got, err := tx.Deliveries(list)
					if diff := cmp.Diff(want[:min(3, len(want))], got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%+v (-want +got)\n%s", list, diff)
					}
					return err
				})
			}
		}
	}},

	{name: "a delivery is due when its time has come and no claim is active", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		addDue := func(next, claimed time.Duration) int64 {
			d := shop.Delivery{WebhookID: 1, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending, CreatedAt: now, Body: []byte("{}")}
			if next != 0 {
				d.NextAttemptAt = now.Add(next)
			}
			if claimed != 0 {
				d.ClaimedUntil = now.Add(claimed)
			}
			return addDelivery(t, store, d).ID
		}
		second := addDue(2*time.Second, 0)
		first := addDue(time.Second, 0)
		addDue(0, 0)
		claimed := addDue(time.Second, time.Minute)
		for _, c := range []struct {
			at   time.Duration
			want []int64
		}{
			{time.Second - time.Microsecond, nil}, {time.Second, []int64{first}}, {2 * time.Second, []int64{first, second}},
			{time.Minute - time.Microsecond, []int64{first, second}}, {time.Minute, []int64{first, claimed, second}},
		} {
			if diff := cmp.Diff(c.want, dueDeliveries(t, store, 1, now.Add(c.at), 10)); diff != "" {
				t.Errorf("after %v: %s", c.at, diff)
			}
		}
		if got := dueDeliveries(t, store, 1, now.Add(time.Hour), 2); len(got) != 2 {
			t.Errorf("%d deliveries are due, want 2", len(got))
		}
		if got := dueDeliveries(t, store, 2, now.Add(time.Hour), 2); len(got) != 0 {
			t.Errorf("%d deliveries to another webhook are due", len(got))
		}
	}},

	{name: "parked deliveries are not due until they are resumed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		add := func(webhook int64, status shop.DeliveryStatus, next time.Time) shop.Delivery {
			return addDelivery(t, store, shop.Delivery{WebhookID: webhook, MessageID: "m", EventType: shop.PetCreated, Status: status,
				CreatedAt: now, NextAttemptAt: next, ClaimedUntil: now, Body: []byte("{}")})
		}
		pending, other := add(1, shop.DeliveryPending, now), add(2, shop.DeliveryPending, now)
		succeeded := add(1, shop.DeliverySucceeded, time.Time{})
		write(t, store, func(tx shop.WriteTx) error { return tx.ParkDeliveries(1) })
		pending.NextAttemptAt = time.Time{}
		for _, d := range []shop.Delivery{pending, other, succeeded} {
			wantDelivery(t, store, d)
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.ResumeDeliveries(1, now.Add(time.Hour)) })
		pending.NextAttemptAt = now.Add(time.Hour)
		for _, d := range []shop.Delivery{pending, other, succeeded} {
			wantDelivery(t, store, d)
		}
	}},

	{name: "old deliveries are removed in batches", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var last shop.Delivery
		write(t, store, func(tx shop.WriteTx) error {
			for i := range 1002 {
				created := now
				if i == 1001 {
					created = now.Add(time.Hour)
				}
				d, err := tx.InsertDelivery(shop.Delivery{WebhookID: 1, MessageID: "m", EventType: shop.PetCreated,
					Status: shop.DeliveryFailed, CreatedAt: created, Body: []byte("{}")})
				if err != nil {
					return err
				}
				last = d
			}
			return nil
		})
		for _, want := range []bool{true, false, false} {
			write(t, store, func(tx shop.WriteTx) error {
				more, err := tx.RemoveDeliveries(now.Add(time.Minute), now.Add(2*time.Hour))
				if more != want {
					t.Errorf("more: %v, want %v", more, want)
				}
				return err
			})
		}
		read(t, store, func(tx shop.ReadTx) error {
			rest, err := tx.Deliveries(shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 10}})
			if len(rest) != 1 || rest[0].ID != last.ID {
				t.Errorf("%d deliveries are left, want the last one", len(rest))
			}
			return err
		})
	}},
}
