package shop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// webhookHarness runs a shop with one webhook in virtual time.
type webhookHarness struct {
	*shoptest.Shop
	t    *testing.T
	hook shop.IssuedWebhook
	node *shop.FanOut // the FanOut of a node that runs during the whole test
}

// withWebhook runs a test with a webhook that subscribes to pet.created.
func withWebhook(t *testing.T, test func(*webhookHarness)) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		h := &webhookHarness{Shop: s, t: t}
		h.subscribe()
		test(h)
	})
}

func (h *webhookHarness) subscribe() {
	h.t.Helper()
	hook := shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}
	h.hook = must(h.CreateWebhook(h.t.Context(), shop.Caller{}, hook))(h.t)
}

// addAndFanOut adds animals. If the webhook is enabled, it also turns the resulting events into deliveries.
func (h *webhookHarness) addAndFanOut(animals int) {
	h.t.Helper()
	h.addPets(animals)
	h.fanOut()
}

// addPets adds animals without turning the resulting events into deliveries.
func (h *webhookHarness) addPets(animals int) {
	h.t.Helper()
	for range animals {
		h.AddPet(h.t, "Rex", 1, "")
	}
}

// fanOut turns all new events that the webhook subscribes to into deliveries.
func (h *webhookHarness) fanOut() {
	h.t.Helper()
	if h.node == nil {
		h.node = h.NewFanOut()
	}
	fanOutAll(h.t, h.node)
}

// fanOutAll turns all new events into deliveries and returns the number of deliveries.
func fanOutAll(t *testing.T, f *shop.FanOut) (created int) {
	t.Helper()
	for more := true; more; {
		n, again, err := f.Step(t.Context())
		check(t, err)
		created, more = created+n, again
	}
	return created
}

// unlimited lets ClaimDeliveries claim as many deliveries as any of the tests needs.
var unlimited = shop.ClaimLimits{Total: 1000, Failing: 1000, PerWebhook: 100}

func (h *webhookHarness) current() shop.Webhook {
	h.t.Helper()
	return must(h.Webhook(h.t.Context(), h.hook.ID))(h.t)
}

// claim claims all deliveries that are due and checks how many there are.
func (h *webhookHarness) claim(want int) []shop.Claim {
	h.t.Helper()
	claims, err := h.ClaimDeliveries(h.t.Context(), unlimited)
	if err != nil || len(claims) != want {
		h.t.Fatalf("%d deliveries are due, want %d: %v", len(claims), want, err)
	}
	return claims
}

// finish ends an attempt with the given response status and returns the stored delivery. If the status is 0,
// the attempt got no response.
func (h *webhookHarness) finish(claim shop.Claim, status int, retryAfter time.Duration, want shop.Outcome) shop.Delivery {
	h.t.Helper()
	attempt := shop.Attempt{At: time.Now().UTC(), Duration: 12 * time.Millisecond, Status: status}
	if status == 0 {
		attempt.Error = "the connection was refused"
	}
	result := shop.AttemptResult{Claim: claim, Attempt: attempt, RetryAfter: retryAfter}
	equal(h.t, "the outcome", must(h.FinishAttempts(h.t.Context(), result))(h.t)[0], want)
	for _, delivery := range h.deliveries() {
		if delivery.ID == claim.ID {
			return delivery
		}
	}
	h.t.Fatalf("there is no delivery %d", claim.ID)
	return shop.Delivery{}
}

func (h *webhookHarness) deliveries() []shop.Delivery {
	h.t.Helper()
	list := shop.DeliveryList{WebhookID: h.hook.ID, PageRequest: shop.PageRequest{Limit: 100}}
	return must(h.ListDeliveries(h.t.Context(), list))(h.t).Items
}

// accepted returns the result of an attempt whose message the receiver accepted.
func accepted(claim shop.Claim) shop.AttemptResult {
	return shop.AttemptResult{Claim: claim, Attempt: shop.Attempt{At: time.Now(), Status: 200}}
}

// sendAll sends all messages that are due. It checks that no message is sent twice and that the number of messages is
// want.
func (h *webhookHarness) sendAll(want int) {
	h.t.Helper()
	sent := map[string]bool{}
	for more := true; more; {
		more = false
		for _, claim := range must(h.ClaimDeliveries(h.t.Context(), unlimited))(h.t) {
			equal(h.t, claim.MessageID+" was sent before", sent[claim.MessageID], false)
			sent[claim.MessageID], more = true, true
			must(h.FinishAttempts(h.t.Context(), accepted(claim)))(h.t)
		}
	}
	equal(h.t, "messages that were sent", len(sent), want)
}

func (h *webhookHarness) update(change shop.WebhookChange) shop.Webhook {
	h.t.Helper()
	return must(h.UpdateWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, change, nil))(h.t)
}

func (h *webhookHarness) enable(enabled bool) { h.update(shop.WebhookChange{Enabled: &enabled}) }

func (h *webhookHarness) setTypes(types ...shop.EventType) {
	h.update(shop.WebhookChange{Types: &types})
}

// wantHealth checks whether the webhook is enabled and whether it is failing.
func (h *webhookHarness) wantHealth(enabled, failing bool) {
	h.t.Helper()
	hook := h.current()
	if hook.Enabled != enabled || hook.FailingSince.IsZero() == failing || enabled && hook.DisabledReason != "" {
		h.t.Errorf("the webhook is %+v, want it enabled: %v, failing: %v", hook, enabled, failing)
	}
}

// wantDisabled checks that the shop has disabled the webhook for the given reason and has recorded an event
// for this change.
func (h *webhookHarness) wantDisabled(reason string) {
	h.t.Helper()
	hook := h.current()
	if hook.Enabled || !strings.Contains(hook.DisabledReason, reason) {
		h.t.Errorf("the webhook is %+v, want it disabled: %s", hook, reason)
	}
	filter, newest := shop.EventFilter{Types: []shop.EventType{shop.WebhookUpdated}, Newest: true}, "none"
	for _, e := range must(h.ListEvents(h.t.Context(), shop.Caller{}, filter, shop.PageRequest{Limit: 1}))(h.t).Items {
		newest = fmt.Sprintf("%s by %s: %s", e.Subject, e.Actor, e.Data)
	}
	if !strings.HasPrefix(newest, fmt.Sprintf("webhooks/%d by system: ", hook.ID)) || !strings.Contains(newest, reason) {
		h.t.Errorf("the newest event is %s, want one of the system: %s", newest, reason)
	}
}
