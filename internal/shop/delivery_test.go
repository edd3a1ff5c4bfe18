package shop_test

import (
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// A delivery whose attempts all fail is retried according to the schedule. Each wait is up to a tenth shorter or longer
// than scheduled. After the last retry, the delivery's status is failed. A webhook that accepted nothing during that
// time is disabled.
func TestFailingDeliveryFollowsTheRetrySchedule(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		const messages = 12 // enough messages to see the jitter
		h.addAndFanOut(messages)
		first := time.Now().UTC().Format(time.RFC3339)
		for i, wait := range schedule {
			waits := map[time.Duration]bool{}
			for _, claim := range h.claim(messages) {
				delivery := h.finish(claim, []int{0, 500, 302, 404, 199}[i%5], 0, shop.OutcomeRetry)
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
			h.claim(0)
			time.Sleep(wait / 4)
		}
		for _, claim := range h.claim(messages) {
			if claim.MessageID != "evt_"+claim.EventID || len(claim.Attempts) != len(schedule) {
				h.t.Errorf("unexpected claim %+v", claim)
			}
			delivery := h.finish(claim, 503, 0, shop.OutcomeFailed)
			if delivery.Status != shop.DeliveryFailed || !delivery.NextAttemptAt.IsZero() || len(delivery.Attempts) != len(schedule)+1 {
				h.t.Errorf("after the last attempt: %+v", delivery)
			}
		}
		h.wantDisabled("attempt since " + first + " has failed; in the last one, the response was 503 Service Unavailable.")
		time.Sleep(100 * day)
		h.claim(0)
	})
}

// The Retry-After header can make the wait longer than the schedule says, up to a maximum of one day. It cannot make
// the wait shorter.
func TestRetryAfterOnlyLengthensTheWait(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		for _, c := range []struct{ retryAfter, shortest, longest time.Duration }{
			{0, 4500 * time.Millisecond, 5500 * time.Millisecond},
			{time.Second, 4500 * time.Millisecond, 5500 * time.Millisecond},
			{time.Hour, time.Hour, time.Hour},
			{100 * day, day, day},
		} {
			h.addAndFanOut(1)
			claim := h.claim(1)[0]
			got := time.Until(h.finish(claim, 429, c.retryAfter, shop.OutcomeRetry).NextAttemptAt)
			if got < c.shortest || got > c.longest {
				h.t.Errorf("with Retry-After %s the delivery waits %s", c.retryAfter, got)
			}
			time.Sleep(got)
			h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		}
	})
}

// A response with the status 410 disables the webhook immediately. All of its deliveries, including the one
// that got the 410, wait until the webhook is enabled again.
func TestGoneDisablesTheWebhook(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(3)
		claims := h.claim(3)
		if d := h.finish(claims[0], 410, 0, shop.OutcomeRetry); d.Status != shop.DeliveryPending || !d.NextAttemptAt.IsZero() {
			h.t.Errorf("unexpected delivery %+v", d)
		}
		h.wantDisabled("410 Gone")
		disabled := h.current()
		time.Sleep(time.Second)
		// This attempt was in flight when the webhook was disabled, so its result does not change the webhook again.
		h.finish(claims[1], 410, 0, shop.OutcomeRetry)
		equal(h.t, "the time of the change", h.current().UpdatedAt, disabled.UpdatedAt)
		h.finish(claims[2], 204, 0, shop.OutcomeSucceeded) // this attempt was also in flight
		h.addAndFanOut(2)                                  // these messages are not delivered until the webhook is enabled
		time.Sleep(10 * day)
		h.claim(0)
		h.enable(true)
		h.fanOut()
		h.sendAll(4)
		h.wantHealth(true, false)
	})
}

// If the URL of a webhook has changed, responses from the old URL do not count against the webhook.
func TestResponsesOfTheOldURLDoNotCount(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(3)
		claims := h.claim(3)
		h.finish(claims[0], 500, 0, shop.OutcomeRetry)
		h.update(shop.WebhookChange{URL: new("https://example.com/new")})
		h.wantHealth(true, false)
		if d := h.finish(claims[1], 410, 0, shop.OutcomeRetry); d.NextAttemptAt.IsZero() {
			h.t.Errorf("unexpected delivery %+v", d)
		}
		h.finish(claims[2], 500, 0, shop.OutcomeRetry)
		h.wantHealth(true, false)
		time.Sleep(time.Minute)
		for _, claim := range h.claim(3) {
			equal(h.t, "the URL", claim.URL, "https://example.com/new")
		}
	})
}

// A webhook that never accepts one particular message, but accepts others, is not disabled.
func TestOneBadMessageDoesNotDisableTheWebhook(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(2)
		both := h.claim(2)
		h.finish(both[0], 500, 0, shop.OutcomeRetry)
		failing := h.current().FailingSince
		h.finish(both[1], 500, 0, shop.OutcomeRetry)
		if now := h.current().FailingSince; failing.IsZero() || !now.Equal(failing) {
			h.t.Errorf("failing since %v, then since %v", failing, now)
		}
		for i, wait := range schedule {
			time.Sleep(wait * 11 / 10)
			switch {
			case i < 3:
				for _, claim := range h.claim(2) {
					h.finish(claim, 500, 0, shop.OutcomeRetry)
				}
			case i == 3: // the second message is accepted on the fourth retry
				both = h.claim(2)
				h.finish(both[0], 500, 0, shop.OutcomeRetry)
				h.finish(both[1], 200, 0, shop.OutcomeSucceeded)
				h.wantHealth(true, false)
			case i < len(schedule)-1:
				h.finish(h.claim(1)[0], 500, 0, shop.OutcomeRetry)
			default:
				h.finish(h.claim(1)[0], 500, 0, shop.OutcomeFailed)
			}
		}
		h.wantHealth(true, true)
	})
}

// A webhook that is enabled again receives every event that it has missed, each of them once. This includes events
// from before the webhook was disabled and events from the time when it was disabled.
func TestEnabledWebhookContinuesWhereItStopped(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(2)
		claim := h.claim(2)[0] // the attempt for the other claim never finishes
		h.addPets(1)           // this event has not become a delivery yet when the webhook is disabled
		h.enable(false)
		h.finish(claim, 500, 0, shop.OutcomeRetry)
		h.addAndFanOut(150) // more events than fit in one batch
		time.Sleep(time.Hour)
		h.claim(0)
		h.enable(true)
		h.fanOut()
		h.sendAll(153)
	})
}

// A webhook that was disabled for longer than the event retention continues with the oldest event that is left.
func TestWebhookDisabledBeyondEventRetention(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		h.enable(false)
		h.addPets(3)
		time.Sleep(2 * time.Hour)
		removing := must(h.Node(h.t.Context(), shop.Options{EventRetention: time.Hour}))(h.t)
		check(h.t, removing.RemoveEvents(h.t.Context()))
		h.addPets(2)
		h.enable(true)
		h.fanOut()
		h.claim(2)
	})
}

// A claim is exclusive until it ends. If another node then claims the delivery, a later result from the first
// node is dropped.
func TestClaimIsExclusiveUntilItEnds(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(2)
		slow := h.claim(2)
		h.claim(0)
		time.Sleep(shop.ClaimDuration - time.Microsecond)
		h.claim(0)
		time.Sleep(time.Microsecond)
		second := must(h.ClaimDeliveries(h.t.Context(), shop.ClaimLimits{Total: 1, PerWebhook: 1}))(h.t)
		if len(second) != 1 || second[0].ID != slow[0].ID {
			h.t.Fatalf("claimed %+v, want only %d", second, slow[0].ID)
		}
		if d := h.finish(slow[0], 200, 0, shop.OutcomeLost); len(d.Attempts) != 0 || d.Status != shop.DeliveryPending {
			h.t.Errorf("the result of a lost claim was stored: %+v", d)
		}
		h.finish(second[0], 500, 0, shop.OutcomeRetry)
		h.finish(second[0], 500, 0, shop.OutcomeLost) // only the first result of a claim counts
		// This result is stored, although the claim has ended, because no other node has claimed the delivery since.
		h.finish(slow[1], 200, 0, shop.OutcomeSucceeded)
	})
}

// A message can be redelivered whatever its status is, even to a disabled webhook.
func TestRedeliver(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		claim := h.claim(1)[0]
		h.finish(claim, 200, 0, shop.OutcomeSucceeded)
		h.enable(false)
		again := must(h.Redeliver(h.t.Context(), shop.Caller{}, h.hook.ID, claim.ID))(h.t)
		repeat := h.claim(1)[0]
		if again.ID == claim.ID || again.MessageID != claim.MessageID || again.Status != shop.DeliveryPending ||
			len(again.Attempts) != 0 || string(repeat.Body) != string(claim.Body) || repeat.URL != h.hook.URL {
			h.t.Errorf("%+v is redelivered as %+v, which is sent as %+v", claim, again, repeat)
		}
		h.finish(repeat, 500, 0, shop.OutcomeRetry)
		time.Sleep(time.Hour)
		h.claim(0) // the retry waits until the webhook is enabled
		h.enable(true)
		h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		for _, unknown := range [][2]int64{{h.hook.ID, 999}, {999, claim.ID}} {
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
				claim := h.claim(1)[0]
				if made.EventType != "webhook.test" || !strings.HasPrefix(made.MessageID, "test_") ||
					strings.Contains(string(claim.Body), h.hook.Secret) {
					h.t.Errorf("the message %+v is %s", made, claim.Body)
				}
				h.finish(claim, status, time.Hour, want)
				time.Sleep(48 * time.Hour)
				h.claim(0)
			}
			h.wantHealth(enabled, false)
		}
	})
}

// Deliveries are removed after 30 days.
func TestOldDeliveriesAreRemoved(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		for i, wait := range []time.Duration{29 * day, 2 * day} {
			time.Sleep(wait)
			check(h.t, h.RemoveDeliveries(h.t.Context()))
			equal(h.t, "deliveries that are left", len(h.deliveries()), 1-i)
		}
	})
}
