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

// wantDelivery checks all fields of a stored delivery.
func wantDelivery(t *testing.T, store shop.Store, want shop.Delivery) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		got, found, err := tx.Delivery(want.WebhookID, want.ID)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !found {
			t.Errorf("delivery %d (-want +got)\n%s", want.ID, diff)
		}
		return err
	})
}

// dueDeliveries returns the ids of the deliveries to a webhook that are due at the given time.
func dueDeliveries(t *testing.T, store shop.Store, at time.Time, limit int, webhookID int64) (ids []int64) {
	t.Helper()
	for _, d := range get(t, store, func(tx shop.ReadTx) ([]shop.Delivery, error) { return tx.DueDeliveries(webhookID, at, limit) }) {
		ids = append(ids, d.ID)
		wantDelivery(t, store, d)
	}
	return ids
}

var withoutMessage = cmpopts.IgnoreFields(shop.Delivery{}, "Body")

var deliveryCases = []testCase{
	{name: "a delivery is stored and updated", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		for _, d := range []shop.Delivery{
			{WebhookID: 7, MessageID: "evt_1", EventID: "1", EventType: shop.PetCreated, Status: shop.DeliveryPending,
				CreatedAt: now, NextAttemptAt: now, Body: []byte(`{"name":"Žofka"}`)},
			{WebhookID: 7, MessageID: "test_1", EventType: "webhook.test", Status: shop.DeliveryFailed, CreatedAt: now, Body: []byte("{}"),
				Attempts: []shop.Attempt{{At: now, Millis: 12, Error: "refused"}}},
		} {
			d.ID = addDelivery(t, store, d).ID
			wantDelivery(t, store, d)
			d.Status, d.NextAttemptAt = shop.DeliverySucceeded, now.Add(time.Hour)
			d.Attempts = append(d.Attempts, shop.Attempt{At: now.Add(time.Second), Status: 200, Response: "ok \x00 <ä>\u2028"})
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateDeliveries(d) })
			wantDelivery(t, store, d)
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
					if diff := cmp.Diff(want[:min(3, len(want))], got, cmpopts.EquateEmpty(), withoutMessage); diff != "" {
						t.Errorf("%+v (-want +got)\n%s", list, diff)
					}
					return err
				})
			}
		}
	}},

	{name: "several deliveries are updated at once", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		// The numbers of deliveries are chosen so that the store uses statements of every size.
		for _, n := range []int{1, 3, 120, 700} {
			var deliveries []shop.Delivery
			for i := range n {
				deliveries = append(deliveries, addDelivery(t, store, shop.Delivery{WebhookID: 1, MessageID: "m", EventType: shop.PetCreated,
					Status: shop.DeliveryPending, CreatedAt: now, NextAttemptAt: now.Add(time.Duration(i)), Body: []byte("{}")}))
			}
			untouched := addDelivery(t, store, deliveries[0])
			for i := range deliveries {
				deliveries[i].NextAttemptAt = now.Add(time.Duration(i) * time.Second)
				deliveries[i].Attempts = []shop.Attempt{{At: now, Status: 200 + i}}
			}
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateDeliveries(deliveries...) })
			for _, d := range append(deliveries, untouched) {
				wantDelivery(t, store, d)
			}
		}
	}},

	{name: "several deliveries are stored at once, in their order", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var want []shop.Delivery
		for i := range 620 { // the store uses statements of every size
			want = append(want, shop.Delivery{WebhookID: 1, MessageID: fmt.Sprint("evt_", i), EventID: fmt.Sprint(i), EventType: shop.PetCreated,
				Status: shop.DeliverySucceeded, CreatedAt: now, Attempts: []shop.Attempt{{At: now, Status: 200}}})
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertDeliveries(want...) })
		slices.Reverse(want)
		list := shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 1000}}
		got := get(t, store, func(tx shop.ReadTx) ([]shop.Delivery, error) { return tx.Deliveries(list) })
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(shop.Delivery{}, "ID")); diff != "" {
			t.Errorf("the deliveries (-want +got)\n%s", diff)
		}
	}},

	{name: "a delivery belongs to one webhook", run: func(t *testing.T, store shop.Store) {
		d := addDelivery(t, store, shop.Delivery{WebhookID: 1, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending, CreatedAt: utcNow()})
		for _, id := range [][2]int64{{2, d.ID}, {1, d.ID + 1}} {
			wantFound(t, store, nil, func(tx shop.ReadTx) (shop.Delivery, bool, error) { return tx.Delivery(id[0], id[1]) })
		}
	}},

	{name: "a delivery is due when its time has come", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		hook := addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}).ID
		add := func(next time.Duration) int64 {
			d := shop.Delivery{WebhookID: hook, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending, CreatedAt: now, Body: []byte("{}")}
			if next != 0 {
				d.NextAttemptAt = now.Add(next)
			}
			return addDelivery(t, store, d).ID
		}
		second, first := add(2*time.Second), add(time.Second)
		add(0)
		third := add(2 * time.Second)
		for _, c := range []struct {
			at   time.Duration
			want []int64
		}{
			{time.Second - time.Microsecond, nil}, {time.Second, []int64{first}}, {time.Hour, []int64{first, second, third}},
		} {
			if diff := cmp.Diff(c.want, dueDeliveries(t, store, now.Add(c.at), 3, hook)); diff != "" {
				t.Errorf("after %v: %s", c.at, diff)
			}
			states := get(t, store, func(tx shop.ReadTx) ([]shop.WebhookState, error) { return tx.WebhookStates(now.Add(c.at)) })
			if len(states) != 1 || states[0].ID != hook || states[0].Due != (c.want != nil) {
				t.Errorf("after %v: %+v", c.at, states)
			}
		}
		if diff := cmp.Diff([]int64{first, second}, dueDeliveries(t, store, now.Add(time.Hour), 2, hook)); diff != "" {
			t.Errorf("at most two: %s", diff)
		}
		if other := dueDeliveries(t, store, now.Add(time.Hour), 2, hook+1); other != nil {
			t.Errorf("another webhook: %v", other)
		}
	}},

	{name: "the oldest failed delivery is the first pending one that was attempted", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		attempts := []shop.Attempt{{At: now, Status: 500}}
		want := func(d *shop.Delivery) {
			t.Helper()
			wantFound(t, store, d, func(tx shop.ReadTx) (shop.Delivery, bool, error) { return tx.OldestFailedDelivery(1) })
		}
		add := func(webhook int64, status shop.DeliveryStatus, attempts []shop.Attempt) *shop.Delivery {
			d := addDelivery(t, store, shop.Delivery{WebhookID: webhook, MessageID: "m", EventType: shop.PetCreated, Status: status, CreatedAt: now,
				Attempts: attempts, Body: []byte("{}")})
			return &d
		}
		add(2, shop.DeliveryPending, attempts)
		add(1, shop.DeliverySucceeded, attempts)
		add(1, shop.DeliveryPending, nil)
		want(nil)
		oldest := add(1, shop.DeliveryPending, attempts)
		add(1, shop.DeliveryPending, attempts)
		want(oldest)
	}},

	{name: "parked deliveries are not due until they are resumed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		add := func(webhook int64, status shop.DeliveryStatus, next time.Time) shop.Delivery {
			return addDelivery(t, store, shop.Delivery{WebhookID: webhook, MessageID: "m", EventType: shop.PetCreated, Status: status,
				CreatedAt: now, NextAttemptAt: next, Body: []byte("{}")})
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
			for i := range 252 {
				created := now
				if i == 251 {
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
