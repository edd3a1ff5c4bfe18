package shop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// A message whose attempts all fail is retried according to the schedule. Each wait is up to a tenth shorter or longer
// than scheduled. After the last retry, the delivery's status is failed. A webhook that accepted nothing during that
// time is disabled.
func TestFailingDeliveryFollowsTheRetrySchedule(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		const messages = 4 // enough messages to see the jitter, and too few for the webhook to be down
		h.addPets(messages)
		equal(h.t, "deliveries before the first attempt", len(h.deliveries()), 0)
		first := time.Now().UTC().Format(time.RFC3339)
		for i, wait := range schedule {
			outcomes := h.send(messages, []int{0, 500, 302, 404, 199}[i%5])
			waits := map[time.Duration]bool{}
			for n, delivery := range h.deliveries() {
				equal(h.t, "the outcome", outcomes[n], shop.OutcomeRetry)
				got := time.Until(delivery.NextAttemptAt)
				if got < wait*9/10 || got > wait*11/10 || delivery.Status != shop.DeliveryPending || len(delivery.Attempts) != i+1 {
					h.t.Fatalf("after attempt %d the delivery waits %s: %+v", i+1, got, delivery)
				}
				waits[got] = true
			}
			if len(waits) < messages/2 {
				h.t.Errorf("after attempt %d the waits have too little jitter: %v", i+1, waits)
			}
			time.Sleep(wait*9/10 - time.Millisecond)
			h.lease(0)
			time.Sleep(wait / 4)
		}
		batch := h.lease(messages)
		for _, message := range batch.Messages {
			if message.MessageID != "evt_"+message.EventID || len(message.Attempts) != len(schedule) {
				h.t.Errorf("unexpected message %+v", message)
			}
		}
		for n, outcome := range h.finish(batch, 503) {
			delivery := h.deliveries()[n]
			if outcome != shop.OutcomeFailed || delivery.Status != shop.DeliveryFailed || !delivery.NextAttemptAt.IsZero() ||
				len(delivery.Attempts) != len(schedule)+1 {
				h.t.Errorf("after the last attempt: %s, %+v", outcome, delivery)
			}
		}
		h.wantDisabled("attempt since " + first + " has failed; in the last one, the response was 503 Service Unavailable.")
		time.Sleep(100 * day)
		h.lease(0)
	})
}

// The Retry-After header can make the wait longer than the schedule says, up to a maximum of one day. It cannot make
// the wait shorter.
func TestRetryAfterOnlyLengthensTheWait(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		for i, c := range []struct{ retryAfter, shortest, longest time.Duration }{
			{0, 4500 * time.Millisecond, 5500 * time.Millisecond},
			{time.Second, 4500 * time.Millisecond, 5500 * time.Millisecond},
			{time.Hour, time.Hour, time.Hour},
			{100 * day, day, day},
		} {
			h.addPets(1)
			done := shop.FinishedBatch{Batch: h.lease(1), Results: []shop.AttemptResult{attempt(429)}}
			done.Results[0].RetryAfter = c.retryAfter
			must(h.NewWebhookQueue().Finish(h.t.Context(), done))(h.t)
			got := time.Until(h.deliveries()[i].NextAttemptAt)
			if got < c.shortest || got > c.longest {
				h.t.Errorf("with Retry-After %s the delivery waits %s", c.retryAfter, got)
			}
			time.Sleep(got)
			h.send(1, 200)
		}
	})
}

// A response with the status 410 disables the webhook immediately. Every message that was not accepted, including the
// one that got the 410, waits until the webhook is enabled again. Each result of the batch counts.
func TestGoneDisablesTheWebhook(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(6)
		batch := h.lease(6)
		got := fmt.Sprint(h.finish(batch, 500, 410, 500, 410, 204, 500))
		equal(h.t, "the outcomes", got, "[retry retry retry retry succeeded retry]")
		h.wantDisabled("410 Gone")
		for i, d := range h.deliveries() {
			if (d.Status == shop.DeliveryPending) != (i != 4) || !d.NextAttemptAt.IsZero() {
				h.t.Errorf("unexpected delivery %+v", d)
			}
		}
		h.addPets(2) // these messages are not delivered until the webhook is enabled
		time.Sleep(10 * day)
		h.lease(0)
		h.enable(true)
		h.sendAll(7)
		h.wantHealth(true, false)
	})
}

// If the URL of a webhook has changed, responses from the old URL do not count against the webhook.
func TestResponsesOfTheOldURLDoNotCount(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(1)
		h.send(1, 500)
		h.wantHealth(true, true)
		h.addPets(2)
		batch := h.lease(2)
		h.update(shop.WebhookChange{URL: new("https://example.com/new")})
		h.wantHealth(true, false)
		h.finish(batch, 410, 500)
		h.wantHealth(true, false)
		time.Sleep(time.Minute)
		for _, message := range h.lease(3).Messages {
			equal(h.t, "the URL", message.URL, "https://example.com/new")
		}
	})
}

// A webhook that never accepts one particular message, but accepts others, is not disabled.
func TestOneBadMessageDoesNotDisableTheWebhook(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(2)
		h.send(2, 500)
		failing := h.current().FailingSince
		for i, wait := range schedule {
			time.Sleep(wait * 11 / 10)
			switch {
			case i < 3:
				h.send(2, 500)
				if now := h.current().FailingSince; failing.IsZero() || !now.Equal(failing) {
					h.t.Errorf("failing since %v, then since %v", failing, now)
				}
			case i == 3: // one of the two messages is accepted on the fourth retry
				h.send(2, 500, 200)
				h.wantHealth(true, false)
			default:
				h.send(1, 500)
			}
		}
		h.wantHealth(true, true)
		statuses := map[shop.DeliveryStatus]int{}
		for _, d := range h.deliveries() {
			statuses[d.Status]++
		}
		equal(h.t, "the statuses", fmt.Sprint(statuses), "map[failed:1 succeeded:1]")
	})
}

// A webhook that is enabled again receives every event that it has missed, each of them once. This includes events
// from before the webhook was disabled and events from the time when it was disabled.
func TestEnabledWebhookContinuesWhereItStopped(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(2)
		batch := h.lease(2)
		h.addPets(1)
		h.enable(false)
		h.finish(batch, 500, 200)
		h.addPets(150) // more events than fit in one batch
		time.Sleep(time.Hour)
		h.lease(0)
		h.enable(true)
		h.sendAll(152)
	})
}

// Events that a webhook has not reached are kept for four days longer than others. A webhook that was disabled for longer
// continues with the oldest event that is left.
func TestEventsThatAWebhookNeedsAreKept(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(1)
		h.send(1, 200)
		h.enable(false)
		removing := must(h.Node(h.t.Context(), shop.Options{EventRetention: time.Hour}))(h.t)
		for _, wait := range []time.Duration{2 * time.Hour, 4*day - 2*time.Hour} {
			h.addPets(3)
			time.Sleep(wait)
			check(h.t, removing.RemoveEvents(h.t.Context()))
		}
		time.Sleep(2 * time.Hour)
		h.enable(true)
		h.lease(6)
		h.enable(false)
		check(h.t, removing.RemoveEvents(h.t.Context()))
		time.Sleep(shop.LeaseDuration)
		h.enable(true)
		h.lease(3)
	})
}

// A lease is exclusive until it ends. If another node then sends the messages, later results from the first node are
// dropped.
func TestLeaseIsExclusiveUntilItEnds(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(2)
		slow := h.lease(2)
		h.lease(0)
		time.Sleep(shop.LeaseDuration - time.Microsecond)
		h.lease(0)
		time.Sleep(time.Microsecond)
		second := h.lease(2)
		equal(h.t, "the message", second.Messages[0].MessageID, slow.Messages[0].MessageID)
		equal(h.t, "the outcomes", fmt.Sprint(h.finish(slow, 200)), "[lost lost]")
		equal(h.t, "deliveries with a lost result", len(h.deliveries()), 0)
		// These results are stored, although the lease has ended, because no other node has leased the webhook since.
		time.Sleep(shop.LeaseDuration)
		equal(h.t, "the outcomes", fmt.Sprint(h.finish(second, 500, 200)), "[retry succeeded]")
		equal(h.t, "the outcomes", fmt.Sprint(h.finish(second, 500, 200)), "[lost lost]")
		h.addPets(1)
		unsent := shop.FinishedBatch{Batch: h.lease(1)} // if nothing was attempted, the messages are sent again
		must(h.NewWebhookQueue().Finish(h.t.Context(), unsent))(h.t)
		h.lease(1)
	})
}

// A message can be redelivered whatever its status is, even to a disabled webhook. If it was accepted at once, its body
// comes from the event.
func TestRedeliver(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(2)
		first := h.lease(2)
		h.finish(first, 200, 500)
		h.enable(false)
		for i, delivery := range h.deliveries() {
			again := must(h.Redeliver(h.t.Context(), shop.Caller{}, h.hook.ID, delivery.ID))(h.t)
			batch := h.lease(1)
			message, before := batch.Messages[0], first.Messages[i]
			if again.ID <= delivery.ID || again.MessageID != before.MessageID || again.Status != shop.DeliveryPending ||
				len(again.Attempts) != 0 || string(message.Body) != string(before.Body) || message.URL != h.hook.URL {
				h.t.Errorf("%+v is redelivered as %+v, which is sent as %+v", before, again, message)
			}
			h.finish(batch, 500)
		}
		time.Sleep(time.Hour)
		h.lease(0) // the retries wait until the webhook is enabled
		h.enable(true)
		h.send(3, 200)
		removing := must(h.Node(h.t.Context(), shop.Options{EventRetention: time.Hour}))(h.t)
		time.Sleep(5 * day)
		check(h.t, removing.RemoveEvents(h.t.Context()))
		must(h.Redeliver(h.t.Context(), shop.Caller{}, h.hook.ID, 2))(h.t) // a message that was not accepted at once is kept
		for _, unknown := range [][2]int64{{h.hook.ID, 999}, {999, 1}, {h.hook.ID, 1}} {
			_, err := h.Redeliver(h.t.Context(), shop.Caller{}, unknown[0], unknown[1])
			wantCode(h.t, err, shop.NotFound)
		}
	})
}

// A test message is sent once, and its result does not affect the webhook's health.
func TestTestMessageIsSentOnce(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		for _, enabled := range []bool{true, false} {
			h.enable(enabled)
			for status, want := range map[int]shop.Outcome{
				0: shop.OutcomeFailed, 500: shop.OutcomeFailed, 410: shop.OutcomeFailed, 200: shop.OutcomeSucceeded,
			} {
				made := must(h.TestWebhook(h.t.Context(), shop.Caller{}, h.hook.ID))(h.t)
				batch := h.lease(1)
				if made.EventType != "webhook.test" || !strings.HasPrefix(made.MessageID, "test_") ||
					strings.Contains(string(batch.Messages[0].Body), h.hook.Secret) {
					h.t.Errorf("the message %+v is %s", made, batch.Messages[0].Body)
				}
				equal(h.t, "the outcome", h.finish(batch, status)[0], want)
				time.Sleep(48 * time.Hour)
				h.lease(0)
			}
			h.wantHealth(enabled, false)
		}
	})
}

// Deliveries are removed after 30 days.
func TestOldDeliveriesAreRemoved(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(1)
		h.send(1, 200)
		for i, wait := range []time.Duration{29 * day, 2 * day} {
			time.Sleep(wait)
			check(h.t, h.RemoveDeliveries(h.t.Context()))
			equal(h.t, "deliveries that are left", len(h.deliveries()), 1-i)
		}
	})
}
