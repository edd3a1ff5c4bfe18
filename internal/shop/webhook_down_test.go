package shop_test

import (
	"testing"
	"time"

	"animalstore/internal/shop"
)

// A webhook is down after ten failed attempts within five minutes, if none was accepted in that time. While it is down,
// it gets no further events. Attempted messages keep their schedule. In addition, the oldest one is sent every five
// minutes, which does not count as an attempt. The first message that is accepted ends this.
func TestWebhookThatIsDownGetsNoFurtherEvents(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(20)
		h.send(8, 500)
		h.send(8, 0) // the tenth failed attempt is one of these
		h.lease(0)
		time.Sleep(6 * time.Second)
		h.send(8, 500)
		h.send(8, 500)
		equal(h.t, "deliveries", len(h.deliveries()), 16)
		wantAttempts := func(want int) {
			h.t.Helper()
			equal(h.t, "attempts of the oldest message", len(h.deliveries()[0].Attempts), want)
		}
		time.Sleep(5*time.Minute - 6*time.Second) // the probe is due, and some retries may be
		batch := h.lease(len(h.dueAnd(1)))
		equal(h.t, "the first message", batch.Messages[0].MessageID, h.deliveries()[0].MessageID)
		h.finish(batch, 500)
		time.Sleep(time.Minute)
		for len(h.dueAnd(0)) > 0 { // the second retries
			h.send(min(8, len(h.dueAnd(0))), 500)
		}
		wantAttempts(3)
		time.Sleep(4 * time.Minute)
		h.send(1, 500) // a probe
		wantAttempts(3)
		time.Sleep(5*time.Minute - time.Millisecond)
		h.lease(0)
		time.Sleep(time.Millisecond)
		h.wantHealth(true, true)
		h.send(1, 200) // the next probe is accepted
		wantAttempts(4)
		h.wantHealth(true, false)
		h.send(4, 200) // the other events
		time.Sleep(time.Hour)
		h.sendAll(15)
	})
}

// dueAnd returns the deliveries that are due. It leaves out the oldest n, which are probed.
func (h *webhookHarness) dueAnd(probed int) (due []shop.Delivery) {
	h.t.Helper()
	for i, d := range h.deliveries() {
		if i < probed || d.Status == shop.DeliveryPending && !d.NextAttemptAt.IsZero() && !d.NextAttemptAt.After(time.Now()) {
			due = append(due, d)
		}
	}
	return due[:min(8, len(due))]
}

// A new URL, or being enabled again, ends that a webhook is down. A probe that is answered with 410 disables it.
func TestWebhookThatIsDownCanBeChanged(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		down := func() {
			h.t.Helper()
			h.addPets(30)
			h.send(8, 500)
			h.send(8, 500)
			h.lease(0)
		}
		down()
		h.update(shop.WebhookChange{URL: new("https://example.com/new")})
		h.send(8, 500)
		h.send(6, 500)
		h.lease(0)
		h.enable(false)
		h.enable(true)
		h.sendAll(30)
		time.Sleep(10 * time.Minute)
		down()
		time.Sleep(5 * time.Minute)
		h.finish(h.lease(8), 410)
		h.wantDisabled("410 Gone")
	})
}
