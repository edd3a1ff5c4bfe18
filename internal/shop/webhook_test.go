package shop_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestWebhookURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://example.com", "http://example.com:8080/hook?a=b%20c&d", "https://[2001:db8::1]:443/", "https://192.0.2.1/%C3%A4",
		"https://example.com/" + strings.Repeat("a", 1980),
	} {
		check(t, (shop.NewWebhook{URL: url}).Problems().Err())
	}
	for _, url := range []string{
		"", "example.com", "//example.com", "ftp://example.com/", "https:example.com", "https:///hook", "https://me:pass@example.com/",
		"https://example.com/#part", "https://example.com/a b", "https://example.com/ä", "https://ä.example/", "https://example.com:/",
		"https://example.com:0/", "https://example.com:65536/", "https://exa<mple.com/", "https://example.com/\n", "https://example.com/%zz",
		"https://example.com/" + strings.Repeat("a", 1981), "HTTPS://example.com/",
	} {
		if err := (shop.NewWebhook{URL: url}).Problems().Err(); err == nil || !strings.Contains(err.Error(), "url") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// If a webhook's types change, earlier events are selected by the old types and later events by the new
// types. This holds even on a node that still has the old version of the webhook in memory.
func TestChangedTypesApplyToLaterEvents(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		rename := func(name string) { must(h.PutCategory(h.t.Context(), shop.Category{ID: 1, Name: name}, nil))(h.t) }
		rename("dogs") // the old types do not include this event
		h.addPets(1)
		stale := h.current()
		h.setTypes(shop.CategoryUpdated)
		equal(h.t, "the message from before the change", h.claim(1)[0].EventType, shop.PetCreated)
		rename("cats")
		h.addPets(1)
		equal(h.t, "what a node with the old webhook reached", must(h.FanOut(h.t.Context(), stale, 0))(h.t), stale.Position)
		h.fanOut()
		if claim := h.claim(1)[0]; claim.EventType != shop.CategoryUpdated || !strings.Contains(string(claim.Body), "cats") {
			h.t.Errorf("after the change, this was sent: %s", claim.Body)
		}
	})
}

// A node that does not know yet that a webhook was disabled does not skip any events.
func TestStaleNodeSkipsNoEvents(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		h.finish(h.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		stale := h.current()
		h.enable(false)
		h.addPets(1)
		equal(h.t, "what the node reached", must(h.FanOut(h.t.Context(), stale, 0))(h.t), stale.Position)
		h.enable(true)
		must(h.FanOut(h.t.Context(), stale, stale.Position))(h.t)
		h.claim(1)
	})
}

// If the types of a webhook are changed while it is disabled, it gets no events from before it was disabled.
func TestTypesChangedWhileDisabled(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.setTypes(shop.OrderExpired)
		h.addAndFanOut(5)
		h.enable(false)
		h.addAndFanOut(1)
		h.update(shop.WebhookChange{Enabled: new(true), Types: &[]shop.EventType{shop.PetCreated}})
		h.fanOut()
		h.claim(1)
	})
}

// During the overlap, messages are signed with both the old and the new secret.
func TestRotatedSecretSignsDuringTheOverlap(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		wantSecrets := func(want ...string) {
			h.t.Helper()
			h.addAndFanOut(1)
			claim := h.claim(1)[0]
			equal(h.t, "the secrets that sign the message", fmt.Sprint(claim.Secrets), fmt.Sprint(want))
			h.finish(claim, 200, 0, shop.OutcomeSucceeded)
		}
		wantSecrets(h.hook.Secret)
		time.Sleep(time.Second)
		second := must(h.RotateWebhook(h.t.Context(), h.hook.ID, time.Hour))(h.t)
		if second.Secret == h.hook.Secret || !strings.HasPrefix(second.Secret, "whsec_") {
			h.t.Fatalf("the new secret is %s", second.Secret)
		}
		wantSecrets(second.Secret, h.hook.Secret)
		time.Sleep(time.Hour)
		wantSecrets(second.Secret)
		wantSecrets(must(h.RotateWebhook(h.t.Context(), h.hook.ID, 0))(h.t).Secret)
	})
}

// If a webhook is deleted while an attempt is in flight, the attempt ends normally and nothing more is sent.
func TestDeletedWebhookGetsNothingMore(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		claim := h.claim(1)[0]
		h.addAndFanOut(1)
		hook := h.current()
		check(h.t, h.DeleteWebhook(h.t.Context(), h.hook.ID, nil))
		outcome := must(h.FinishAttempt(h.t.Context(), claim, shop.Attempt{Status: 500}, 0))(h.t)
		equal(h.t, "the outcome", outcome, shop.OutcomeRetry)
		must(h.FanOut(h.t.Context(), hook, 0))(h.t)
		time.Sleep(24 * time.Hour)
		h.claim(0)
	})
}

// If several nodes turn the same events into deliveries and claim these deliveries at the same time, each
// event is still delivered exactly once.
func TestNodesShareDeliveries(t *testing.T) {
	onBothEngines(t, func(t *testing.T, first *shoptest.Shop, nodes []*shop.Service) {
		const events = 100
		h := &webhookHarness{Shop: first, t: t}
		h.subscribe()
		var sent sync.Map // the ids of all messages
		var messages atomic.Int64
		atOnce(len(nodes)+1, func(i int) {
			if i == len(nodes) { // runs concurrently with the nodes, so that they see different events
				h.addPets(events)
				return
			}
			for node, reached := nodes[i], int64(-1); messages.Load() < events && !t.Failed(); {
				must(node.LastEvent(t.Context()))(t) // this call publishes the events
				reached = must(node.FanOut(t.Context(), h.hook.Webhook, reached))(t)
				for _, claim := range must(node.ClaimDeliveries(t.Context(), h.hook.ID, 8))(t) {
					if _, again := sent.Swap(claim.MessageID, true); again {
						t.Errorf("%s was sent twice", claim.MessageID)
					}
					messages.Add(1)
					outcome := must(node.FinishAttempt(t.Context(), claim, shop.Attempt{At: time.Now(), Status: 200}, 0))(t)
					equal(t, "the outcome", outcome, shop.OutcomeSucceeded)
				}
			}
		})
		h.claim(0)
		equal(t, "messages that were sent", messages.Load(), events)
	})
}

// If there are more events than one batch can contain, they are read in several batches, even if the feed has
// cached all of them.
func TestFeedReturnsBatches(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		defer runJobs(h.t, h.Service)()
		const animals = 250
		h.addPets(animals)
		time.Sleep(time.Second)
		last := must(h.LastEvent(h.t.Context()))(h.t)
		wantEvents(h.t, h.Service, last-animals, 100, last-animals+100)
		h.fanOut()
		sent := map[string]bool{}
		for range 3 {
			for _, claim := range must(h.ClaimDeliveries(h.t.Context(), h.hook.ID, 100))(h.t) {
				sent[claim.MessageID] = true
			}
		}
		equal(h.t, "messages", len(sent), animals)
	})
}

// Events that have not been published yet when a webhook is created, or when its types change, count as
// earlier events.
func TestUnpublishedEventsCountAsEarlier(t *testing.T) {
	t.Parallel()
	h := &webhookHarness{Shop: shoptest.Open(t, shoptest.Options{Postgres: true}), t: t}
	h.addPets(1)
	h.subscribe()
	h.addPets(2)
	h.setTypes(shop.OrderPlaced)
	h.addPets(4)
	must(h.LastEvent(t.Context()))(t) // this call publishes the events
	h.fanOut()
	h.claim(2)
}
