package shop_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestWebhookURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://example.com", "https://example.com/", "http://example.com:8080/hook?a=b%20c&d", "https://[2001:db8::1]:443/", "https://192.0.2.1/%C3%A4",
		"https://example.com/" + strings.Repeat("a", 1980),
	} {
		if err := (shop.NewWebhook{URL: url}).Problems().Err(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"", "example.com", "//example.com", "ftp://example.com/", "https:example.com", "https://", "https:///hook", "https://me@example.com/",
		"https://me:pass@example.com/", "https://example.com/#part", "https://example.com/a b", "https://example.com/?a b", "https://example.com/ä",
		"https://ä.example/", "https://example.com/?ä", "https://example.com:/", "https://example.com:0/", "https://example.com:65536/",
		"https://example.com:https/", "https://exa<mple.com/", "https://example.com/\n", "https://example.com/%zz",
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
		rename := func(name string) {
			t.Helper()
			if _, err := h.PutCategory(h.t.Context(), shop.Category{ID: 1, Name: name}, nil); err != nil {
				h.t.Fatal(err)
			}
		}
		rename("dogs") // the old types do not include this event
		h.addPets(1)
		stale := h.current()
		types := []shop.EventType{shop.CategoryUpdated}
		if _, err := h.UpdateWebhook(h.t.Context(), h.hook.ID, shop.WebhookChange{Types: &types}, nil); err != nil {
			h.t.Fatal(err)
		}
		if claim := h.claim(1)[0]; claim.EventType != shop.PetCreated {
			h.t.Errorf("before the change, %s was sent", claim.EventType)
		}
		rename("cats")
		h.addPets(1)
		if reached, err := h.FanOut(h.t.Context(), stale, 0); err != nil || reached != stale.Position {
			h.t.Errorf("a node with the old webhook reached %d from %d: %v", reached, stale.Position, err)
		}
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
		reached, err := h.FanOut(h.t.Context(), stale, 0)
		if err != nil || reached != stale.Position {
			h.t.Errorf("FanOut reached %d from %d: %v", reached, stale.Position, err)
		}
		h.enable(true)
		if _, err := h.FanOut(h.t.Context(), stale, reached); err != nil {
			h.t.Fatal(err)
		}
		h.claim(1)
	})
}

// If the types of a webhook are changed while it is disabled, it gets no events from before it was disabled.
func TestTypesChangedWhileDisabled(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		none := []shop.EventType{shop.OrderExpired}
		if _, err := h.UpdateWebhook(h.t.Context(), h.hook.ID, shop.WebhookChange{Types: &none}, nil); err != nil {
			h.t.Fatal(err)
		}
		h.addAndFanOut(5)
		h.enable(false)
		h.addAndFanOut(1)
		enabled, types := true, []shop.EventType{shop.PetCreated}
		if _, err := h.UpdateWebhook(h.t.Context(), h.hook.ID, shop.WebhookChange{Enabled: &enabled, Types: &types}, nil); err != nil {
			h.t.Fatal(err)
		}
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
			if fmt.Sprint(claim.Secrets) != fmt.Sprint(want) {
				h.t.Errorf("the message is signed with %q, want %q", claim.Secrets, want)
			}
			h.finish(claim, 200, 0, shop.OutcomeSucceeded)
		}
		wantSecrets(h.hook.Secret)
		time.Sleep(time.Second)
		second, err := h.RotateWebhook(h.t.Context(), h.hook.ID, time.Hour)
		if err != nil || second.Secret == h.hook.Secret || !strings.HasPrefix(second.Secret, "whsec_") {
			h.t.Fatalf("%+v %v", second, err)
		}
		wantSecrets(second.Secret, h.hook.Secret)
		time.Sleep(time.Hour)
		wantSecrets(second.Secret)
		third, err := h.RotateWebhook(h.t.Context(), h.hook.ID, 0)
		if err != nil {
			h.t.Fatal(err)
		}
		wantSecrets(third.Secret)
	})
}

// If a webhook is deleted while an attempt is in flight, the attempt ends normally and nothing more is sent.
func TestDeletedWebhookGetsNothingMore(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addAndFanOut(2)
		claims, err := h.ClaimDeliveries(h.t.Context(), h.hook.ID, 1)
		if err != nil || len(claims) != 1 {
			h.t.Fatal(claims, err)
		}
		hook := h.current()
		if err := h.DeleteWebhook(h.t.Context(), h.hook.ID, nil); err != nil {
			h.t.Fatal(err)
		}
		if outcome, err := h.FinishAttempt(h.t.Context(), claims[0], shop.Attempt{Status: 500}, 0); err != nil || outcome != shop.OutcomeRetry {
			h.t.Error(outcome, err)
		}
		if _, err := h.FanOut(h.t.Context(), hook, 0); err != nil {
			h.t.Error(err)
		}
		time.Sleep(24 * time.Hour)
		h.claim(0)
	})
}

// If several nodes turn the same events into deliveries and claim these deliveries at the same time, each
// event is still delivered exactly once.
func TestNodesShareDeliveries(t *testing.T) {
	t.Parallel()
	for engine, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			first := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			const nodes, events = 3, 100
			services := []*shop.Service{first.Service}
			for len(services) < nodes {
				service, err := first.Node(t.Context(), shop.Options{})
				if err != nil {
					t.Fatal(err)
				}
				services = append(services, service)
			}
			hook, err := first.CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://example.com/", Types: []shop.EventType{shop.PetCreated}})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			sent := map[string]int{}
			sentCount := func() int {
				mu.Lock()
				defer mu.Unlock()
				return len(sent)
			}
			var running sync.WaitGroup
			running.Go(func() { // runs concurrently with the nodes, so that they see different events
				for range events {
					first.AddPet(t, "Rex", 1, "")
				}
			})
			for _, service := range services {
				running.Go(func() {
					for reached := int64(-1); sentCount() < events && !t.Failed(); {
						if _, err := service.LastEvent(t.Context()); err != nil { // this call publishes the events
							t.Error(err)
						}
						now, err := deliverOnce(t, service, hook.Webhook, reached, func(id string) {
							mu.Lock()
							defer mu.Unlock()
							sent[id]++
						})
						if err != nil {
							t.Error(err)
						}
						reached = now
					}
				})
			}
			running.Wait()
			if claims, err := services[0].ClaimDeliveries(t.Context(), hook.ID, 8); err != nil || len(claims) > 0 {
				t.Errorf("%+v was not claimed: %v", claims, err)
			}
			if len(sent) != events {
				t.Errorf("%d of %d events were sent", len(sent), events)
			}
			for id, n := range sent {
				if n != 1 {
					t.Errorf("%s was sent %d times", id, n)
				}
			}
		})
	}
}

// deliverOnce turns new events into deliveries, claims one batch of deliveries and finishes their attempts,
// all on one node.
func deliverOnce(t *testing.T, service *shop.Service, hook shop.Webhook, after int64, send func(messageID string)) (reached int64, err error) {
	if reached, err = service.FanOut(t.Context(), hook, after); err != nil {
		return after, err
	}
	claims, err := service.ClaimDeliveries(t.Context(), hook.ID, 8)
	for _, claim := range claims {
		send(claim.MessageID)
		if outcome, err := service.FinishAttempt(t.Context(), claim, shop.Attempt{At: time.Now(), Status: 200}, 0); err != nil || outcome != shop.OutcomeSucceeded {
			t.Error(outcome, err)
		}
	}
	return reached, err
}

// If there are more events than one batch can contain, they are read in several batches, even if the feed has
// cached all of them.
func TestFeedReturnsBatches(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		defer runJobs(h.t, h.Service)()
		const animals = 250
		h.addPets(animals)
		time.Sleep(time.Second)
		if last, err := h.LastEvent(h.t.Context()); err != nil || last < animals {
			h.t.Fatal(last, err)
		} else if events, reached, err := h.EventsAfter(h.t.Context(), shop.EventFilter{}, last-animals); len(events) != 100 || reached != last-animals+100 || err != nil {
			h.t.Errorf("%d events in one batch, up to %d of %d, %v", len(events), reached, last, err)
		}
		h.fanOut()
		sent := map[string]bool{}
		for range 3 {
			claims, err := h.ClaimDeliveries(h.t.Context(), h.hook.ID, 100)
			if err != nil {
				h.t.Fatal(err)
			}
			for _, claim := range claims {
				sent[claim.MessageID] = true
			}
		}
		if len(sent) != animals {
			h.t.Errorf("%d messages of %d", len(sent), animals)
		}
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
	if _, err := h.UpdateWebhook(t.Context(), h.hook.ID, shop.WebhookChange{Types: &[]shop.EventType{shop.OrderPlaced}}, nil); err != nil {
		t.Fatal(err)
	}
	h.addPets(4)
	if _, err := h.LastEvent(t.Context()); err != nil { // this call publishes the events
		t.Fatal(err)
	}
	h.fanOut()
	h.claim(2)
}
