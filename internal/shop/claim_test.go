package shop_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// If more deliveries are due than may be in flight, every webhook gets an equal share, and failing webhooks cannot
// use up the share of the others.
func TestClaimsAreSharedBetweenWebhooks(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		const webhooks, events = 10, 6
		for i := range webhooks {
			hook := must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/hook"}))(t)
			if i%2 == 1 { // the webhooks with even ids are failing
				check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error { return tx.SetWebhookFailing(hook.ID, time.Now()) }))
			}
		}
		s.AddPet(t, "Rex", 1, "") // causes two events
		for range events - 2 {
			s.AddPet(t, "Rex", 1, "")
		}
		must(s.LastEvent(t.Context()))(t) // this call publishes the events
		equal(t, "deliveries", fanOutAll(t, s.NewFanOut()), webhooks*events)
		claimed := func(l shop.ClaimLimits) string {
			t.Helper()
			counts := make([]int, webhooks)
			for _, claim := range must(nodes[1].ClaimDeliveries(t.Context(), l))(t) {
				counts[claim.WebhookID-1]++
				equal(t, "failing", claim.Failing, claim.WebhookID%2 == 0)
			}
			return fmt.Sprint(counts)
		}
		equal(t, "a few claims", claimed(shop.ClaimLimits{Total: 7, Failing: 2, PerWebhook: 3}), "[1 1 1 1 1 0 1 0 1 0]")
		equal(t, "more claims", claimed(shop.ClaimLimits{Total: 20, Failing: 5, PerWebhook: 2}), "[2 1 2 1 2 1 2 1 2 1]")
		busy := map[int64]int{1: 3, 3: 2}
		equal(t, "claims beside attempts in flight", claimed(shop.ClaimLimits{Total: 100, PerWebhook: 3, InFlight: busy}), "[0 0 1 0 3 0 3 0 3 0]")
		equal(t, "no claims", claimed(shop.ClaimLimits{PerWebhook: 3}), "[0 0 0 0 0 0 0 0 0 0]")
	})
}

// If the results of several attempts are stored together, each result is applied to its own delivery and webhook.
func TestResultsAreStoredTogether(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(4)
		claims := h.claim(4)
		result := func(i, status int) shop.AttemptResult {
			return shop.AttemptResult{Claim: claims[i], Attempt: shop.Attempt{At: time.Now(), Status: status}}
		}
		results := []shop.AttemptResult{result(0, 500), result(1, 410), result(2, 500), result(0, 200), result(3, 200)}
		outcomes := must(h.FinishAttempts(h.t.Context(), results...))(h.t)
		want := []shop.Outcome{shop.OutcomeRetry, shop.OutcomeRetry, shop.OutcomeRetry, shop.OutcomeLost, shop.OutcomeSucceeded}
		if !slices.Equal(outcomes, want) {
			h.t.Errorf("the outcomes are %v, want %v", outcomes, want)
		}
		h.wantDisabled("410 Gone")
		time.Sleep(24 * time.Hour)
		h.claim(0) // the first delivery's retry was scheduled before the webhook was disabled, and must wait, too
		h.enable(true)
		h.claim(3)
	})
}

// On PostgreSQL, a query for due deliveries may begin at a later time than the earliest delivery (see dueLooks). It
// still finds every delivery: new ones, redelivered ones, and those to a webhook that was disabled for a while.
func TestLateLooksFindEveryDelivery(t *testing.T) {
	t.Parallel()
	h := &webhookHarness{Shop: shoptest.Open(t, shoptest.Options{Postgres: true}), t: t}
	h.subscribe()
	h.LookLate()
	add := func(n int) {
		h.addPets(n)
		check(t, h.Store.Publish(t.Context()))
	}
	add(3)
	h.fanOut()
	claims := h.claim(3)
	h.claim(0)
	h.finish(claims[0], 200, 0, shop.OutcomeSucceeded)
	must(h.Redeliver(t.Context(), shop.Caller{}, h.hook.ID, claims[0].ID))(t)
	h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
	h.finish(claims[1], 500, 0, shop.OutcomeRetry)
	h.enable(false)
	add(2)
	h.enable(true)
	h.fanOut()
	h.claim(3) // two new deliveries and the retry, which is due at once
	if !h.LooksLate() {
		t.Error("the looks began at the beginning")
	}
}
