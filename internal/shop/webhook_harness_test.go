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
}

// withWebhook runs a test with a webhook that subscribes to pet.created.
func withWebhook(t *testing.T, test func(*webhookHarness)) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		h := &webhookHarness{Shop: s, t: t}
		h.subscribe(shop.PetCreated)
		test(h)
	})
}

func (h *webhookHarness) subscribe(types ...shop.EventType) {
	h.t.Helper()
	h.hook = must(h.CreateWebhook(h.t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/hook", Types: types}))(h.t)
}

// addPets adds animals. Each of them causes an event.
func (h *webhookHarness) addPets(animals int) {
	h.t.Helper()
	for range animals {
		h.AddPet(h.t, "Rex", 1, "")
	}
}

func (h *webhookHarness) current() shop.Webhook {
	h.t.Helper()
	return must(h.Webhook(h.t.Context(), h.hook.ID))(h.t)
}

// unlimited is enough room for the messages of any test.
var unlimited = shop.Room{Total: 1000, Failing: 1000}

// lease leases the webhook as a node that has just started, and checks how many messages are sent next.
func (h *webhookHarness) lease(want int) (batch shop.Batch) {
	h.t.Helper()
	batches := must(h.NewWebhookQueue().Lease(h.t.Context(), unlimited))(h.t)
	if len(batches) > 0 {
		batch = batches[0]
	}
	if len(batches) > 1 || len(batch.Messages) != want {
		h.t.Fatalf("%d webhooks were leased, with %d messages, want %d", len(batches), len(batch.Messages), want)
	}
	return batch
}

// attempt returns the result of an attempt. If the status is 0, the attempt got no response.
func attempt(status int) shop.AttemptResult {
	attempt := shop.Attempt{At: time.Now().UTC(), Duration: 12 * time.Millisecond, Status: status}
	if status == 0 {
		attempt.Error = "the connection was refused"
	}
	return shop.AttemptResult{Attempt: attempt}
}

// finish ends a batch. The messages get the given response statuses, and the last status is for all further messages.
func (h *webhookHarness) finish(batch shop.Batch, statuses ...int) []shop.Outcome {
	h.t.Helper()
	done := shop.FinishedBatch{Batch: batch}
	for i := range batch.Messages {
		done.Results = append(done.Results, attempt(statuses[min(i, len(statuses)-1)]))
	}
	return must(h.NewWebhookQueue().Finish(h.t.Context(), done))(h.t)
}

// send sends the next messages, of which there must be want.
func (h *webhookHarness) send(want int, statuses ...int) []shop.Outcome {
	h.t.Helper()
	return h.finish(h.lease(want), statuses...)
}

// sendAll sends all messages that are due. It checks that no message is sent twice and that the number of messages is
// want.
func (h *webhookHarness) sendAll(want int) {
	h.t.Helper()
	sent := map[string]bool{}
	shoptest.Deliver(h.t, h.Service, func(message shop.Message) shop.Attempt {
		equal(h.t, message.MessageID+" was sent before", sent[message.MessageID], false)
		sent[message.MessageID] = true
		return shop.Attempt{At: time.Now(), Status: 200}
	})
	equal(h.t, "messages that were sent", len(sent), want)
}

// deliveries returns the log of deliveries, oldest first.
func (h *webhookHarness) deliveries() (oldestFirst []shop.Delivery) {
	h.t.Helper()
	list := shop.DeliveryList{WebhookID: h.hook.ID, PageRequest: shop.PageRequest{Limit: 1000}}
	for _, d := range must(h.ListDeliveries(h.t.Context(), list))(h.t).Items {
		oldestFirst = append([]shop.Delivery{d}, oldestFirst...)
	}
	return oldestFirst
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
