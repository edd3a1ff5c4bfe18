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

// wantDelivery checks all fields of a stored delivery except the body of its message.
func wantDelivery(t *testing.T, store shop.Store, want shop.Delivery) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		got, err := tx.DeliveriesByID([]int64{want.ID})
		if diff := cmp.Diff([]shop.Delivery{want}, got, cmpopts.EquateEmpty(), withoutMessage); diff != "" {
			t.Errorf("delivery %d (-want +got)\n%s", want.ID, diff)
		}
		return err
	})
}

var withoutMessage = cmpopts.IgnoreFields(shop.Delivery{}, "Body")

// messagesOf returns the bodies of all due messages to each webhook, as one text for each webhook.
func messagesOf(t *testing.T, store shop.Store, at time.Time, webhookIDs ...int64) map[int64]string {
	t.Helper()
	bodies := map[int64]string{}
	write(t, store, func(tx shop.WriteTx) error {
		clear(bodies)
		deliveries, err := tx.DueDeliveries(sinceAnyTime(webhookIDs), at, 10)
		for _, d := range deliveries {
			bodies[d.WebhookID] += string(d.Body)
		}
		return err
	})
	return bodies
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
				deliveries[i].NextAttemptAt, deliveries[i].ClaimedUntil = now.Add(time.Duration(i)*time.Second), now.Add(time.Hour)
				deliveries[i].Attempts = []shop.Attempt{{At: now, Status: 200 + i}}
			}
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateDeliveries(deliveries...) })
			for _, d := range append(deliveries, untouched) {
				wantDelivery(t, store, d)
			}
		}
	}},

	{name: "a message to several webhooks is stored once", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var ids []int64
		for range 3 {
			ids = append(ids, addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}).ID)
		}
		enqueue := func(message, body string, webhookIDs ...int64) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				return tx.InsertDeliveries(shop.Message{ID: message, EventID: "1", EventType: shop.PetCreated, Body: []byte(body)}, webhookIDs, now)
			})
		}
		enqueue("evt_1", `{"name":"Žofka"}`, ids[0], ids[1], ids[2]+1000) // the last webhook does not exist
		enqueue("evt_1", `{"changed":true}`, ids[2])                      // evt_1 keeps the body that was stored first
		enqueue("evt_2", `{}`, ids[0])
		want := map[int64]string{ids[0]: `{"name":"Žofka"}{}`, ids[1]: `{"name":"Žofka"}`, ids[2]: `{"name":"Žofka"}`}
		if diff := cmp.Diff(want, messagesOf(t, store, now, append(ids, ids[2]+1000)...)); diff != "" {
			t.Errorf("the messages: %s", diff)
		}
		read(t, store, func(tx shop.ReadTx) error {
			deliveries, err := tx.Deliveries(shop.DeliveryList{WebhookID: ids[1], PageRequest: shop.PageRequest{Limit: 10}})
			if len(deliveries) != 1 {
				t.Fatalf("%+v", deliveries)
			}
			stored := shop.Delivery{ID: deliveries[0].ID, WebhookID: ids[1], MessageID: "evt_1", EventID: "1", EventType: shop.PetCreated,
				Status: shop.DeliveryPending, CreatedAt: now, NextAttemptAt: now}
			if diff := cmp.Diff(stored, deliveries[0], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the delivery: %s", diff)
			}
			return err
		})
	}},

	{name: "a message is kept until its last delivery is removed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		hook := addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}).ID
		own := addDelivery(t, store, shop.Delivery{WebhookID: hook, MessageID: "test_1", EventType: "webhook.test", Status: shop.DeliveryPending,
			CreatedAt: now, NextAttemptAt: now, Body: []byte("own")})
		var repeated []shop.Delivery
		write(t, store, func(tx shop.WriteTx) error {
			repeated = nil
			message := shop.Message{ID: "evt_1", EventID: "1", EventType: shop.PetCreated, Body: []byte("shared")}
			if err := tx.InsertDeliveries(message, []int64{hook}, now); err != nil {
				return err
			}
			for _, id := range []int64{own.ID, own.ID + 1} {
				again, found, err := tx.RepeatDelivery(hook, id, now.Add(time.Hour))
				if err != nil || !found || again.Status != shop.DeliveryPending || !again.CreatedAt.Equal(now.Add(time.Hour)) {
					return fmt.Errorf("%d was repeated as %+v: %v, %w", id, again, found, err)
				}
				repeated = append(repeated, again)
			}
			for _, missing := range [][2]int64{{hook, own.ID + 1000}, {hook + 1, own.ID}} {
				if again, found, err := tx.RepeatDelivery(missing[0], missing[1], now); err != nil || found {
					return fmt.Errorf("%v was repeated as %+v: %w", missing, again, err)
				}
			}
			_, err := tx.RemoveDeliveries(now.Add(time.Minute), now.Add(2*time.Hour))
			return err
		})
		if got := messagesOf(t, store, now.Add(time.Hour), hook); got[hook] != "ownshared" {
			t.Errorf("the messages are %v", got)
		}
		write(t, store, func(tx shop.WriteTx) error {
			_, err := tx.RemoveDeliveries(now.Add(3*time.Hour), now.Add(3*time.Hour))
			return err
		})
		for _, d := range repeated {
			read(t, store, func(tx shop.ReadTx) error {
				left, err := tx.DeliveriesByID([]int64{d.ID})
				if len(left) > 0 {
					t.Errorf("%+v is left", left)
				}
				return err
			})
		}
	}},

	{name: "a delivery is due when its time has come and no claim is active", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		hook := addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}).ID
		addDue := func(next, claimed time.Duration) int64 {
			d := shop.Delivery{WebhookID: hook, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending, CreatedAt: now, Body: []byte("{}")}
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
			if diff := cmp.Diff(c.want, dueDeliveries(t, store, now.Add(c.at), 10, hook)); diff != "" {
				t.Errorf("after %v: %s", c.at, diff)
			}
			if due := dueWebhooks(t, store, now.Add(c.at)); len(due) != min(1, len(c.want)) {
				t.Errorf("after %v, these webhooks are due: %v", c.at, due)
			}
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.ClaimDeliveries([]int64{first, second}, now.Add(2*time.Hour)) })
		if diff := cmp.Diff([]int64{claimed}, dueDeliveries(t, store, now.Add(time.Hour), 2, hook)); diff != "" {
			t.Errorf("after a claim: %s", diff)
		}
		if got := dueDeliveries(t, store, now.Add(2*time.Hour), 2, hook); len(got) != 2 {
			t.Errorf("%d deliveries are due, want 2", len(got))
		}
	}},

	{name: "each webhook has a share of the due deliveries", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var ids []int64
		wanted := map[int64]int{}
		for i := range 60 {
			hook := shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}
			if i%2 == 1 {
				hook.FailingSince = now
			}
			id := addWebhook(t, store, hook).ID
			ids = append(ids, id)
			for n := range i % 5 {
				addDelivery(t, store, shop.Delivery{WebhookID: id, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending,
					CreatedAt: now, NextAttemptAt: now.Add(time.Duration(n-i) * time.Second), Body: []byte("{}")})
				wanted[id] = min(3, n+1)
			}
		}
		// Version 1.0 kept the deliveries of removed webhooks. DueWebhooks must not return a removed webhook.
		addDelivery(t, store, shop.Delivery{WebhookID: ids[59] + 1, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending,
			CreatedAt: now, NextAttemptAt: now.Add(-time.Hour), Body: []byte("{}")})
		due := dueWebhooks(t, store, now)
		if len(due) != 48 || due[0].ID != ids[59] || !due[0].Failing || due[1].ID != ids[58] || due[1].Failing {
			t.Errorf("%d webhooks are due: %v", len(due), due)
		}
		write(t, store, func(tx shop.WriteTx) error {
			deliveries, err := tx.DueDeliveries(sinceAnyTime(ids), now, 3)
			got := map[int64]int{}
			for i, d := range deliveries {
				got[d.WebhookID]++
				if i > 0 && d.NextAttemptAt.Before(deliveries[i-1].NextAttemptAt) {
					t.Errorf("%+v comes after %+v", d, deliveries[i-1])
				}
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("the number of due deliveries by webhook: %s", diff)
			}
			return err
		})
	}},

	{name: "a look for due deliveries can begin at a later time", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		add := func(times ...time.Duration) int64 {
			hook := addWebhook(t, store, shop.Webhook{URL: "http://x", CreatedAt: now, UpdatedAt: now}).ID
			for i, at := range times {
				d := shop.Delivery{WebhookID: hook, MessageID: "m", EventType: shop.PetCreated, Status: shop.DeliveryPending, CreatedAt: now,
					NextAttemptAt: now.Add(at), Body: []byte("{}")}
				if i == 0 {
					d.ClaimedUntil = now.Add(time.Hour)
				}
				addDelivery(t, store, d)
			}
			return hook
		}
		recent, early, future := add(-4*time.Second, -3*time.Second, -time.Second), add(-time.Hour, -time.Minute), add(-time.Second, time.Minute)
		add()
		want := []shop.DueWebhook{
			{ID: early, First: now.Add(-time.Hour), Since: now.Add(-time.Minute)},
			{ID: recent, First: now.Add(-4 * time.Second), Since: now.Add(-3 * time.Second)},
		}
		later := &shop.DueFrom{Time: now.Add(-10 * time.Second), Webhooks: map[int64]time.Time{early: now.Add(-time.Hour)}}
		for _, from := range []*shop.DueFrom{nil, later} {
			scheduled := get(t, store, func(tx shop.ReadTx) ([]shop.DueWebhook, error) { return tx.DueWebhooks(now, from) })
			due := slices.DeleteFunc(slices.Clone(scheduled), func(hook shop.DueWebhook) bool { return hook.Since.IsZero() })
			if diff := cmp.Diff(want, due); diff != "" || len(scheduled) != 3 {
				t.Errorf("from %+v, %d webhooks have deliveries: %s", from, len(scheduled), diff)
			}
			if !slices.Contains(scheduled, shop.DueWebhook{ID: future, First: now.Add(-time.Second)}) {
				t.Errorf("from %+v, these webhooks have deliveries: %+v", from, scheduled)
			}
		}
		write(t, store, func(tx shop.WriteTx) error {
			due, err := tx.DueDeliveries([]shop.DueWebhook{{ID: recent, Since: now.Add(-2 * time.Second)}}, now, 10)
			if len(due) != 1 || !due[0].NextAttemptAt.Equal(now.Add(-time.Second)) {
				t.Errorf("these deliveries are due: %+v", due)
			}
			return err
		})
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
