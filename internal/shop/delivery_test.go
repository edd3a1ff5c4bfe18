package shop_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// A delivery that always fails is tried again after each wait, give or take a tenth, and then has failed for good. A webhook
// that took nothing all that time is disabled.
func TestRetries(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		const messages = 12 // enough to see that they do not come back together
		o.happen(messages)
		first := time.Now().UTC()
		for i, wait := range schedule {
			claims := o.claim(messages)
			waits := map[time.Duration]bool{}
			for _, claim := range claims {
				delivery := o.finish(claim, []int{0, 500, 302, 404, 199}[i%5], 0, shop.OutcomeRetry)
				got := time.Until(delivery.NextAttemptAt)
				if got < wait*9/10 || got > wait*11/10 || delivery.Status != shop.DeliveryPending || len(delivery.Attempts) != i+1 {
					o.t.Fatalf("after attempt %d it waits %s, and is %+v", i+1, got, delivery)
				}
				waits[got] = true
			}
			if len(waits) < messages/2 {
				o.t.Errorf("after attempt %d they come back together: %v", i+1, waits)
			}
			time.Sleep(wait*9/10 - time.Millisecond)
			o.claim(0)
			time.Sleep(wait / 4)
		}
		for _, claim := range o.claim(messages) {
			if claim.MessageID != "evt_"+claim.EventID || len(claim.Attempts) != len(schedule) {
				o.t.Errorf("the claim is %+v", claim)
			}
			delivery := o.finish(claim, 503, 0, shop.OutcomeFailed)
			if delivery.Status != shop.DeliveryFailed || !delivery.NextAttemptAt.IsZero() || len(delivery.Attempts) != len(schedule)+1 {
				o.t.Errorf("at last it is %+v", delivery)
			}
		}
		o.wantDisabled("taken nothing since " + first.Format(time.RFC3339) + "; at last, the answer was 503 Service Unavailable.")
		time.Sleep(100 * 24 * time.Hour)
		o.claim(0)
	})
}

// A receiver can ask for more time than the schedule has, up to a day, but not for less.
func TestRetryAfter(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		for _, c := range []struct{ after, least, most time.Duration }{
			{0, 4500 * time.Millisecond, 5500 * time.Millisecond},
			{time.Second, 4500 * time.Millisecond, 5500 * time.Millisecond},
			{time.Hour, time.Hour, time.Hour},
			{100 * 24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
		} {
			o.happen(1)
			claim := o.claim(1)[0]
			got := time.Until(o.finish(claim, 429, c.after, shop.OutcomeRetry).NextAttemptAt)
			if got < c.least || got > c.most {
				o.t.Errorf("asked for %s, it waits %s", c.after, got)
			}
			time.Sleep(got)
			o.finish(o.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		}
	})
}

// 410 disables a webhook at once. Its messages wait, also the one that met it, and go on when it is enabled.
func TestGone(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(3)
		claims := o.claim(3)
		if d := o.finish(claims[0], http.StatusGone, 0, shop.OutcomeRetry); d.Status != shop.DeliveryPending || !d.NextAttemptAt.IsZero() {
			o.t.Errorf("the delivery is %+v", d)
		}
		o.wantDisabled("410 Gone")
		disabled := o.now()
		time.Sleep(time.Second)
		o.finish(claims[1], http.StatusGone, 0, shop.OutcomeRetry) // on its way meanwhile, and nothing new
		if again := o.now(); !again.UpdatedAt.Equal(disabled.UpdatedAt) {
			o.t.Errorf("disabled at %s, and again at %s", disabled.UpdatedAt, again.UpdatedAt)
		}
		o.finish(claims[2], 204, 0, shop.OutcomeSucceeded) // and one that was taken
		o.happen(2)                                        // is not told
		time.Sleep(10 * 24 * time.Hour)
		o.claim(0)
		o.enable(true)
		o.fanOut()
		for _, claim := range o.claim(4) {
			o.finish(claim, 200, 0, shop.OutcomeSucceeded)
		}
		if hook := o.now(); !hook.Enabled || hook.DisabledReason != "" || !hook.FailingSince.IsZero() {
			o.t.Errorf("the webhook is %+v", hook)
		}
	})
}

// What the old address of a webhook answers, after it has moved, is nothing against the new one.
func TestMoved(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(3)
		claims := o.claim(3)
		o.finish(claims[0], 500, 0, shop.OutcomeRetry)
		hook, err := o.UpdateWebhook(o.t.Context(), o.hook.ID, shop.WebhookChange{URL: new("https://example.com/new")}, nil)
		if err != nil || !hook.FailingSince.IsZero() {
			o.t.Fatalf("moved, the webhook is %+v, %v", hook, err)
		}
		if d := o.finish(claims[1], http.StatusGone, 0, shop.OutcomeRetry); d.NextAttemptAt.IsZero() {
			o.t.Errorf("the delivery is %+v", d)
		}
		o.finish(claims[2], 500, 0, shop.OutcomeRetry)
		if hook := o.now(); !hook.Enabled || !hook.FailingSince.IsZero() {
			o.t.Errorf("the webhook is %+v", hook)
		}
		time.Sleep(time.Minute)
		for _, claim := range o.claim(3) {
			if claim.URL != "https://example.com/new" {
				o.t.Errorf("it goes to %s", claim.URL)
			}
		}
	})
}

// A webhook that took something meanwhile is not disabled for one message that it never takes.
func TestOneBadMessage(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(2)
		both := o.claim(2)
		o.finish(both[0], 500, 0, shop.OutcomeRetry)
		failing := o.now().FailingSince
		o.finish(both[1], 500, 0, shop.OutcomeRetry)
		if now := o.now().FailingSince; failing.IsZero() || !now.Equal(failing) {
			o.t.Errorf("it fails since %v, and then since %v", failing, now)
		}
		for i, wait := range schedule {
			time.Sleep(wait * 11 / 10)
			due := 2
			if i > 3 { // the fourth time, the second was taken
				due = 1
			}
			for _, claim := range o.claim(due) {
				switch {
				case claim.ID == both[0].ID && i == len(schedule)-1:
					o.finish(claim, 500, 0, shop.OutcomeFailed)
				case claim.ID == both[1].ID && i == 3:
					o.finish(claim, 200, 0, shop.OutcomeSucceeded)
					if since := o.now().FailingSince; !since.IsZero() {
						o.t.Errorf("it fails since %v, and took one", since)
					}
				default:
					o.finish(claim, 500, 0, shop.OutcomeRetry)
				}
			}
		}
		if hook := o.now(); !hook.Enabled || hook.FailingSince.IsZero() {
			o.t.Errorf("the webhook is %+v", hook)
		}
	})
}

// What a webhook was not told before it was disabled, and while it was, it is told when it is enabled, each once.
func TestDisabledKeepsItsPlace(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(2)
		claim := o.claim(2)[0] // the other one is abandoned
		o.add(1)               // of which nobody has made a delivery when the webhook is disabled
		o.enable(false)
		o.finish(claim, 500, 0, shop.OutcomeRetry)
		o.happen(150) // more than are told at a time
		time.Sleep(time.Hour)
		o.claim(0)
		o.enable(true)
		o.fanOut()
		told := map[string]int{}
		for len(told) < 153 {
			claims, err := o.ClaimDeliveries(o.t.Context(), o.hook.ID, 100)
			if err != nil || len(claims) == 0 {
				o.t.Fatalf("%d were told: %v", len(told), err)
			}
			for _, claim := range claims {
				if told[claim.MessageID]++; told[claim.MessageID] > 1 {
					o.t.Errorf("%s is told twice", claim.MessageID)
				}
				if outcome, err := o.FinishAttempt(o.t.Context(), claim, shop.Attempt{Status: 200}, 0); err != nil || outcome != shop.OutcomeSucceeded {
					o.t.Fatal(outcome, err)
				}
			}
		}
		o.claim(0)
	})
}

// What was removed for its age while a webhook was disabled cannot be told any more. What came later is.
func TestDisabledForTooLong(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(1)
		o.finish(o.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		o.enable(false)
		o.add(3)
		time.Sleep(2 * time.Hour)
		removing, err := shop.Open(o.t.Context(), o.store, shop.Options{EventRetention: time.Hour})
		if err != nil {
			o.t.Fatal(err)
		}
		if err := removing.RemoveEvents(o.t.Context()); err != nil {
			o.t.Fatal(err)
		}
		o.add(2)
		o.enable(true)
		o.fanOut()
		o.claim(2)
	})
}

// A claim keeps others away for its time. Who comes back too late, when another one has it, has lost it.
func TestClaims(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(2)
		slow := o.claim(2)
		o.claim(0)
		time.Sleep(shop.ClaimDuration - time.Microsecond)
		o.claim(0)
		time.Sleep(time.Microsecond)
		second, err := o.ClaimDeliveries(o.t.Context(), o.hook.ID, 1)
		if err != nil || len(second) != 1 || second[0].ID != slow[0].ID {
			o.t.Fatalf("%+v %v", second, err)
		}
		if d := o.finish(slow[0], 200, 0, shop.OutcomeLost); len(d.Attempts) != 0 || d.Status != shop.DeliveryPending {
			o.t.Errorf("what was lost is noted: %+v", d)
		}
		o.finish(second[0], 500, 0, shop.OutcomeRetry)
		o.finish(second[0], 500, 0, shop.OutcomeLost)    // noted once
		o.finish(slow[1], 200, 0, shop.OutcomeSucceeded) // late, but nobody else has it
	})
}

// A message can be sent again, whatever became of it, also to a webhook that is disabled.
func TestRedeliver(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(1)
		claim := o.claim(1)[0]
		o.finish(claim, 200, 0, shop.OutcomeSucceeded)
		o.enable(false)
		again, err := o.Redeliver(o.t.Context(), o.hook.ID, claim.ID)
		if err != nil || again.ID == claim.ID || again.MessageID != claim.MessageID || again.Status != shop.DeliveryPending || len(again.Attempts) != 0 {
			o.t.Fatalf("%+v %v", again, err)
		}
		repeat := o.claim(1)[0]
		if string(repeat.Body) != string(claim.Body) || repeat.URL != o.hook.URL {
			o.t.Errorf("%+v is sent again as %+v", claim, repeat)
		}
		o.finish(repeat, 500, 0, shop.OutcomeRetry)
		time.Sleep(time.Hour)
		o.claim(0) // it waits with the others
		o.enable(true)
		o.finish(o.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		if _, err := o.Redeliver(o.t.Context(), o.hook.ID, 999); shop.AsError(err).Code != shop.NotFound {
			o.t.Error(err)
		}
		if _, err := o.Redeliver(o.t.Context(), 999, claim.ID); shop.AsError(err).Code != shop.NotFound {
			o.t.Error(err)
		}
	})
}

// A message that tries a webhook out is sent once, and says nothing about the webhook.
func TestTryOut(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		for _, enabled := range []bool{true, false} {
			if !enabled {
				o.enable(false)
			}
			before := o.now()
			for _, status := range []int{0, 500, http.StatusGone, 200} {
				made, err := o.TestWebhook(o.t.Context(), o.hook.ID)
				if err != nil || made.EventType != "webhook.test" || !strings.HasPrefix(made.MessageID, "test_") {
					o.t.Fatalf("%+v %v", made, err)
				}
				want := shop.OutcomeFailed
				if status == 200 {
					want = shop.OutcomeSucceeded
				}
				claim := o.claim(1)[0]
				if strings.Contains(string(claim.Body), o.hook.Secret) {
					o.t.Errorf("the secret is sent: %s", claim.Body)
				}
				o.finish(claim, status, time.Hour, want)
				time.Sleep(48 * time.Hour)
				o.claim(0)
			}
			if after := o.now(); after.Enabled != before.Enabled || !after.FailingSince.IsZero() {
				o.t.Errorf("the webhook is %+v", after)
			}
		}
	})
}

// The log of deliveries does not grow for ever.
func TestDeliveriesAreRemoved(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(1)
		o.finish(o.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		time.Sleep(29 * 24 * time.Hour)
		o.removed(1)
		time.Sleep(2 * 24 * time.Hour)
		o.removed(0)
	})
}
