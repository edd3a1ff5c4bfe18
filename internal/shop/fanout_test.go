package shop_test

import (
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A webhook that is enabled again after a long time catches up without delaying new events to other webhooks, even on
// a node that has just started.
func TestWebhookFarBehindDelaysNobody(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		const missed = 1200
		h.fanOut()
		h.enable(false)
		late := h.hook
		h.subscribe()
		h.addPets(missed)
		h.fanOut()
		h.sendAll(missed)
		must(h.UpdateWebhook(h.t.Context(), shop.Caller{}, late.ID, shop.WebhookChange{Enabled: new(true)}, nil))(h.t)
		h.addPets(1)
		h.node = h.NewFanOut()
		steps := 0
		for created := 0; created <= missed; steps++ {
			n, _, err := h.node.Step(h.t.Context())
			check(h.t, err)
			if created += n; steps == 0 {
				newest := 0
				for _, claim := range must(h.ClaimDeliveries(h.t.Context(), unlimited))(h.t) {
					if claim.WebhookID == h.hook.ID {
						newest++
					}
				}
				equal(h.t, "new events delivered after one step", newest, 1)
			}
		}
		if steps < 5 {
			h.t.Errorf("a webhook that is far behind has caught up in %d steps", steps)
		}
	})
}

// One transaction creates only a limited number of deliveries, so that it does not hold up other writes. No event is
// skipped or repeated.
func TestFanOutTransactionIsBounded(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	const webhooks, events = 150, 40
	for range webhooks {
		must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}))(t)
	}
	f := s.NewFanOut()
	equal(t, "deliveries without events", fanOutAll(t, f), 0)
	for range events {
		s.AddPet(t, "Rex", 1, "")
	}
	for created := 0; created < webhooks*events; {
		n, more, err := f.Step(t.Context())
		check(t, err)
		if n > 2000 || n == 0 || n%webhooks != 0 || !more {
			t.Fatalf("a step has created %d deliveries, more: %v", n, more)
		}
		created += n
	}
	equal(t, "deliveries of another node", fanOutAll(t, s.NewFanOut()), 0)
	for id := range int64(webhooks) {
		list := shop.DeliveryList{WebhookID: id + 1, PageRequest: shop.PageRequest{Limit: 100}}
		deliveries := must(s.ListDeliveries(t.Context(), list))(t).Items
		equal(t, "deliveries to a webhook", len(deliveries), events)
	}
}

// Events that no webhook wants require no transaction.
func TestUnwantedEventsCostNothing(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		defer runJobs(h.t, h.Service)()
		h.setTypes(shop.OrderExpired)
		h.fanOut()
		// A reader that obtains the signal makes the feed read new events.
		h.EventSignal()
		h.addPets(5)
		time.Sleep(100 * time.Millisecond) // the feed reads the events
		transactions := 0
		h.Store.FailWith(func(bool) error { transactions++; return nil })
		_, _, err := h.node.Step(h.t.Context())
		h.Store.FailWith(nil)
		check(h.t, err)
		equal(h.t, "transactions", transactions, 0)
	})
}

// The position of a webhook is stored from time to time even if the webhook wants none of the events. Without this, a
// new node, or a change to the webhook, would have to read all events since the last one that the webhook wanted.
func TestPositionIsStoredWithoutDeliveries(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.setTypes(shop.OrderExpired)
		h.fanOut()
		before := h.current().Position
		h.addPets(500)
		h.fanOut()
		equal(h.t, "the position after a few events", h.current().Position, before)
		h.addPets(600)
		h.fanOut()
		if after := h.current().Position; after < before+1000 {
			h.t.Errorf("the position after 1100 events is %d, it was %d", after, before)
		}
		h.claim(0)
	})
}
