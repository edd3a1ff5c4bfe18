package shop_test

import (
	"fmt"
	"slices"
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
		"https://example.com:0/", "https://example.com:65536/", "https://exa<mple.com/", "https://example.com/%zz",
		"HTTPS://example.com/", "https://example.com]/", "https://[::1]example.com/", "https://example.com/" + strings.Repeat("a", 1981),
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
		rename := func(name string) {
			must(h.PutCategory(h.t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: name}, shop.PutCondition{}))(h.t)
		}
		rename("dogs") // the old types do not include this event
		h.addPets(1)
		h.setTypes(shop.CategoryUpdated)
		equal(h.t, "the message from before the change", h.claim(1)[0].EventType, shop.PetCreated)
		rename("cats")
		h.addPets(1)
		h.fanOut()
		if claim := h.claim(1)[0]; claim.EventType != shop.CategoryUpdated || !strings.Contains(string(claim.Body), "cats") {
			h.t.Errorf("after the change, this was sent: %s", claim.Body)
		}
	})
}

// When a webhook's types change, the events from before the change become deliveries in several transactions of
// limited size, because other writes may have to wait for each transaction.
func TestBacklogIsEnqueuedInSeveralTransactions(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		const events, atOnce = 250, 100
		h.addPets(events)
		writes := 0
		h.Store.FailWith(func(write bool) error {
			if write {
				writes++
			}
			return nil
		})
		h.setTypes(shop.CategoryUpdated)
		h.Store.FailWith(nil)
		equal(h.t, "transactions", writes, (events+atOnce-1)/atOnce)
		h.fanOut()
		h.sendAll(events)
	})
}

// A webhook without types receives the events about animals, categories and orders. It receives events about keys and
// webhooks only if it names their types. The same holds for events that it missed while it was disabled, and for
// events from before its types changed.
func TestWebhookWithoutTypesReceivesPublicEvents(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		sent := func(want ...shop.EventType) {
			h.t.Helper()
			h.fanOut()
			var got []shop.EventType
			for _, claim := range h.claim(len(want)) {
				got = append(got, claim.EventType)
				h.finish(claim, 200, 0, shop.OutcomeSucceeded)
			}
			if !slices.Equal(got, want) {
				h.t.Errorf("%s were sent, want %s", got, want)
			}
		}
		change := func() {
			h.t.Helper()
			h.Key(h.t, shop.Admin)
			h.AddPet(h.t, "Rex", int64(len(h.deliveries())+2), shop.Available)
		}
		h.setTypes()
		change()
		sent(shop.CategoryCreated, shop.PetCreated)
		h.enable(false)
		change()
		h.enable(true)
		sent(shop.CategoryCreated, shop.PetCreated)
		change()
		h.setTypes(shop.KeyCreated, shop.WebhookUpdated) // the event about this change is the first that the new types select
		sent(shop.CategoryCreated, shop.PetCreated, shop.WebhookUpdated)
		change()
		sent(shop.KeyCreated)
	})
}

// A node neither skips nor repeats an event, even if it has not noticed yet that a webhook was changed or that
// another node has already created the deliveries.
func TestStaleNodeSkipsNoEvents(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		stale := h.NewFanOut()
		step := func(want int) {
			h.t.Helper()
			equal(h.t, "the deliveries that the node created", fanOutAll(h.t, stale), want)
		}
		step(0)
		h.addAndFanOut(1)
		step(0) // another node has already created the delivery
		h.enable(false)
		h.addPets(1)
		step(0)
		h.enable(true)
		step(1)
		h.enable(false)
		h.addPets(1)
		h.enable(true) // enabled again before the node has noticed that the webhook was disabled
		step(1)
		h.setTypes(shop.CategoryUpdated)
		must(h.PutCategory(h.t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: "dogs"}, shop.PutCondition{}))(h.t)
		h.addPets(1)
		step(1)
		h.fanOut()
		h.sendAll(4)
	})
}

// If a webhook is enabled again with other types, it gets the events of these types since it was disabled, but
// none from before.
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
		second := must(h.RotateWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, time.Hour))(h.t)
		if second.Secret == h.hook.Secret || !strings.HasPrefix(second.Secret, "whsec_") {
			h.t.Fatalf("the new secret is %s", second.Secret)
		}
		wantSecrets(second.Secret, h.hook.Secret)
		time.Sleep(time.Hour)
		wantSecrets(second.Secret)
		wantSecrets(must(h.RotateWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, 0))(h.t).Secret)
	})
}

// A webhook has at most ten secrets, because each one adds a signature to every message. A rotation that replaces all of
// them is always possible.
func TestSecretsOfAWebhookAreLimited(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		rotate := func(overlap time.Duration) error {
			_, err := h.RotateWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, overlap)
			return err
		}
		wantSecrets := func(want int) {
			h.t.Helper()
			h.addAndFanOut(1)
			claim := h.claim(1)[0]
			equal(h.t, "the number of secrets", len(claim.Secrets), want)
			h.finish(claim, 200, 0, shop.OutcomeSucceeded)
		}
		check(h.t, rotate(time.Minute))
		for range 8 {
			check(h.t, rotate(time.Hour))
		}
		wantCode(h.t, rotate(time.Second), shop.ValidationFailed)
		wantSecrets(10)
		time.Sleep(time.Minute)
		check(h.t, rotate(time.Hour)) // the first secret has expired
		wantCode(h.t, rotate(time.Hour), shop.ValidationFailed)
		check(h.t, rotate(0))
		wantSecrets(1)
		check(h.t, rotate(time.Hour))
		wantSecrets(2)
	})
}

// If a webhook is deleted while an attempt is in flight, the attempt ends normally and nothing more is sent.
func TestDeletedWebhookGetsNothingMore(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(1)
		claim := h.claim(1)[0]
		h.addAndFanOut(1)
		check(h.t, h.DeleteWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, nil))
		result := shop.AttemptResult{Claim: claim, Attempt: shop.Attempt{Status: 500}}
		equal(h.t, "the outcome", must(h.FinishAttempts(h.t.Context(), result))(h.t)[0], shop.OutcomeRetry)
		h.addAndFanOut(1)
		time.Sleep(24 * time.Hour)
		h.claim(0)
	})
}

// Several nodes that create and claim the same deliveries at the same time send each event exactly once.
func TestNodesShareDeliveries(t *testing.T) {
	onBothEngines(t, func(t *testing.T, first *shoptest.Shop, nodes []*shop.Service) {
		const events = 100
		h := &webhookHarness{Shop: first, t: t}
		h.subscribe()
		var sent sync.Map // the ids of the messages that were sent
		var messages atomic.Int64
		atOnce(len(nodes)+1, func(i int) {
			// Add the animals while the nodes are running, so that the nodes see different events.
			if i == len(nodes) {
				h.addPets(events)
				return
			}
			for node, fanOut := nodes[i], nodes[i].NewFanOut(); messages.Load() < events && !t.Failed(); {
				must(node.LastEvent(t.Context()))(t) // this call publishes the events
				_, _, err := fanOut.Step(t.Context())
				check(t, err)
				for _, claim := range must(node.ClaimDeliveries(t.Context(), shop.ClaimLimits{Total: 8, PerWebhook: 8}))(t) {
					if _, again := sent.Swap(claim.MessageID, true); again {
						t.Errorf("%s was sent twice", claim.MessageID)
					}
					messages.Add(1)
					outcomes := must(node.FinishAttempts(t.Context(), accepted(claim)))(t)
					equal(t, "the outcome", outcomes[0], shop.OutcomeSucceeded)
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
		h.sendAll(animals)
	})
}

// Events that are not yet published when a webhook is created, or when its types change, count as earlier events.
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
