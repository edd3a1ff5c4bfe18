package shop_test

import (
	"context"
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
}

// withWebhook runs a test with a webhook that subscribes to pet.created.
func withWebhook(t *testing.T, test func(*webhookHarness)) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		h := &webhookHarness{Shop: s, t: t}
		h.subscribe()
		test(h)
	})
}

// subscribe creates the webhook.
func (h *webhookHarness) subscribe() {
	h.t.Helper()
	var err error
	if h.hook, err = h.CreateWebhook(h.t.Context(), shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}); err != nil {
		h.t.Fatal(err)
	}
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
	for reached := int64(-1); ; {
		now, err := h.FanOut(h.t.Context(), h.current(), reached)
		if err != nil {
			h.t.Fatal(err)
		}
		if now == reached {
			return
		}
		reached = now
	}
}

// current returns the webhook as it is stored now.
func (h *webhookHarness) current() shop.Webhook {
	h.t.Helper()
	hook, err := h.Webhook(h.t.Context(), h.hook.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return hook
}

// claim claims all deliveries that are due and checks how many there are.
func (h *webhookHarness) claim(want int) []shop.Claim {
	h.t.Helper()
	claims, err := h.ClaimDeliveries(h.t.Context(), h.hook.ID, 100)
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
	outcome, err := h.FinishAttempt(h.t.Context(), claim, attempt, retryAfter)
	if err != nil || outcome != want {
		h.t.Fatalf("the outcome is %s, %v; want %s", outcome, err, want)
	}
	return h.delivery(claim.ID)
}

func (h *webhookHarness) deliveries() []shop.Delivery {
	h.t.Helper()
	page, err := h.ListDeliveries(h.t.Context(), shop.DeliveryList{WebhookID: h.hook.ID, PageRequest: shop.PageRequest{Limit: 100}})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Items
}

func (h *webhookHarness) delivery(id int64) shop.Delivery {
	h.t.Helper()
	for _, delivery := range h.deliveries() {
		if delivery.ID == id {
			return delivery
		}
	}
	h.t.Fatalf("there is no delivery %d", id)
	return shop.Delivery{}
}

func (h *webhookHarness) enable(enabled bool) {
	h.t.Helper()
	if _, err := h.UpdateWebhook(h.t.Context(), h.hook.ID, shop.WebhookChange{Enabled: &enabled}, nil); err != nil {
		h.t.Fatal(err)
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
	page, err := h.ListEvents(h.t.Context(), shop.EventFilter{Types: []shop.EventType{shop.WebhookUpdated}}, shop.PageRequest{Limit: 100})
	if err != nil || len(page.Items) == 0 {
		h.t.Fatalf("there is no event: %v", err)
	}
	event := page.Items[len(page.Items)-1]
	if event.Actor != "system" || event.Subject != fmt.Sprint("webhooks/", hook.ID) || !strings.Contains(string(event.Data), reason) {
		h.t.Errorf("the event is %+v, %s", event, event.Data)
	}
}

func (h *webhookHarness) wantLeftAfterRemoval(left int) {
	h.t.Helper()
	if err := h.RemoveDeliveries(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	if n := len(h.deliveries()); n != left {
		h.t.Errorf("%d deliveries are left, want %d", n, left)
	}
}
