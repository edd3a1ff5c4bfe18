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

// A change of types applies to every event that was not attempted yet. The webhook does not get older events that it did
// not want before.
func TestChangedTypesApplyToEventsThatWait(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		rename := func(name string) {
			must(h.PutCategory(h.t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: name}, shop.PutCondition{}))(h.t)
		}
		h.addPets(1)
		h.send(1, 200)
		rename("dogs")
		stale := h.NewWebhookQueue()
		check(h.t, stale.Refresh(h.t.Context()))
		h.addPets(2) // these events wait, and are dropped
		h.setTypes(shop.CategoryUpdated)
		rename("cats")
		h.addPets(1)
		// A node that has not noticed the change sends the same messages as any other.
		batch := must(stale.Lease(h.t.Context(), unlimited))(h.t)[0]
		if m := batch.Messages; len(m) != 1 || m[0].EventType != shop.CategoryUpdated || !strings.Contains(string(m[0].Body), "cats") {
			h.t.Errorf("after the change, this is sent: %+v", m)
		}
		h.finish(batch, 200)
		h.setTypes(shop.PetCreated)
		h.lease(0)
		h.setTypes(shop.CategoryUpdated)
		h.addPets(1)
		rename("birds") // this event waits, and so does each one after it
		h.addPets(1)
		h.setTypes(shop.CategoryUpdated, shop.PetCreated)
		h.sendAll(2)
	})
}

// New types apply to every event that was not attempted yet, even if messages about later events are in flight meanwhile.
func TestTypesChangedDuringAttempts(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.addPets(1)
		must(h.PutCategory(h.t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: "dogs"}, shop.PutCondition{}))(h.t)
		h.addPets(1)
		batch := h.lease(2)
		h.setTypes(shop.PetCreated, shop.CategoryUpdated)
		equal(h.t, "outcomes", fmt.Sprint(h.finish(batch, 200)), fmt.Sprint([]shop.Outcome{shop.OutcomeLost, shop.OutcomeLost}))
		h.sendAll(3)
	})
}

// A webhook without types receives the events about animals, categories and orders. It receives events about keys and
// webhooks only if it names their types. The same holds for events that it missed while it was disabled.
func TestWebhookWithoutTypesReceivesPublicEvents(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		sent := func(want ...shop.EventType) {
			h.t.Helper()
			var got []shop.EventType
			batch := h.lease(len(want))
			for _, message := range batch.Messages {
				got = append(got, message.EventType)
			}
			if !slices.Equal(got, want) {
				h.t.Errorf("%s were sent, want %s", got, want)
			}
			h.finish(batch, 200)
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
		h.setTypes(shop.KeyCreated, shop.WebhookUpdated) // the event about this change is the first that the new types select
		change()
		sent(shop.WebhookUpdated, shop.KeyCreated)
	})
}

// If a webhook is enabled again with other types, it gets the events of these types since it was disabled, but
// none from before.
func TestTypesChangedWhileDisabled(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		h.setTypes(shop.OrderExpired)
		h.addPets(5)
		h.enable(false)
		h.addPets(1)
		h.lease(0)
		h.update(shop.WebhookChange{Enabled: new(true), Types: &[]shop.EventType{shop.PetCreated}})
		h.lease(1)
	})
}

// Events that no webhook wants require no transaction. The position of the webhook is stored from time to time. Without
// this, a new node would have to read all events since the last one that the webhook wanted.
func TestUnwantedEventsCostNothing(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		defer runJobs(h.t, h.Service)()
		h.setTypes(shop.OrderExpired)
		queue, transactions := h.NewWebhookQueue(), 0
		next := func(pets int) {
			h.t.Helper()
			h.EventSignal() // a reader that obtains the signal makes the feed read new events
			h.addPets(pets)
			time.Sleep(100 * time.Millisecond) // the feed reads the events
			h.Store.FailWith(func(bool) error { transactions++; return nil })
			batches, err := queue.Lease(h.t.Context(), unlimited)
			h.Store.FailWith(nil)
			check(h.t, err)
			equal(h.t, "webhooks with messages", len(batches), 0)
		}
		next(1)
		before := h.current().Position
		transactions = 0
		next(500)
		equal(h.t, "transactions", transactions, 0)
		equal(h.t, "the position after 500 events", h.current().Position, before)
		next(600)
		if after := h.current().Position; after < before+1000 {
			h.t.Errorf("the position after 1100 events is %d, it was %d", after, before)
		}
	})
}

// The queue knows how many events the webhook that is most behind has not got yet. A webhook that is disabled does not count.
func TestQueueKnowsHowFarWebhooksAreBehind(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		defer runJobs(h.t, h.Service)()
		queue := h.NewWebhookQueue()
		behind := func(want int64) {
			h.t.Helper()
			h.EventSignal() // a reader that obtains the signal makes the feed read new events
			time.Sleep(time.Second)
			check(h.t, queue.Refresh(h.t.Context()))
			equal(h.t, "events behind", queue.Behind(), want)
		}
		before := h.current().Position
		h.addPets(30)
		last := must(h.LastEvent(h.t.Context()))(h.t)
		behind(last - before)
		_, err := h.UpdateWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, shop.WebhookChange{Enabled: new(false)}, nil)
		check(h.t, err)
		behind(0)
	})
}

// If more messages are due than may be in flight, every webhook gets an equal share, and failing webhooks cannot use up
// the share of the others. Those that got nothing come first the next time.
func TestWebhooksShareTheRoom(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		const webhooks = 10
		h := &webhookHarness{Shop: s, t: t}
		for i := range webhooks {
			h.subscribe(shop.PetCreated)
			if i%2 == 1 { // the webhooks with even ids are failing
				failing := h.hook.Webhook
				failing.FailingSince = time.Now()
				check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error { return tx.SetWebhookProgress(failing) }))
			}
		}
		h.addPets(20)
		queue := h.NewWebhookQueue()
		leased := func(room shop.Room) string {
			t.Helper()
			counts := make([]int, webhooks)
			for _, batch := range must(queue.Lease(t.Context(), room))(t) {
				counts[batch.WebhookID-1] = len(batch.Messages)
				equal(t, "failing", batch.Failing, batch.WebhookID%2 == 0)
				done := shop.FinishedBatch{Batch: batch} // nothing was sent, so the same messages are next
				must(queue.Finish(t.Context(), done))(t)
			}
			return fmt.Sprint(counts)
		}
		equal(t, "little room", leased(shop.Room{Total: 5, Failing: 1}), "[1 1 1 0 1 0 1 0 0 0]")
		equal(t, "the same again", leased(shop.Room{Total: 5, Failing: 1}), "[1 0 1 1 1 0 0 0 1 0]")
		equal(t, "more room", leased(shop.Room{Total: 30, Failing: 6}), "[3 1 3 1 3 1 3 1 3 1]")
		equal(t, "much room", leased(shop.Room{Total: 100, Failing: 100}), "[8 8 8 8 8 8 8 8 8 8]")
		equal(t, "no room", leased(shop.Room{}), "[0 0 0 0 0 0 0 0 0 0]")
	})
}

// During the overlap, messages are signed with both the old and the new secret.
func TestRotatedSecretSignsDuringTheOverlap(t *testing.T) {
	withWebhook(t, func(h *webhookHarness) {
		wantSecrets := func(want ...string) {
			h.t.Helper()
			h.addPets(1)
			batch := h.lease(1)
			equal(h.t, "the secrets that sign the message", fmt.Sprint(batch.Messages[0].Secrets), fmt.Sprint(want))
			h.finish(batch, 200)
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
			h.addPets(1)
			batch := h.lease(1)
			equal(h.t, "the number of secrets", len(batch.Messages[0].Secrets), want)
			h.finish(batch, 200)
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
		h.addPets(1)
		batch := h.lease(1)
		h.addPets(1)
		check(h.t, h.DeleteWebhook(h.t.Context(), shop.Caller{}, h.hook.ID, nil))
		h.finish(batch, 500)
		time.Sleep(24 * time.Hour)
		h.lease(0)
	})
}

// Several nodes that send at the same time send each event exactly once.
func TestNodesShareWebhooks(t *testing.T) {
	onBothEngines(t, func(t *testing.T, first *shoptest.Shop, nodes []*shop.Service) {
		const events = 100
		h := &webhookHarness{Shop: first, t: t}
		h.subscribe(shop.PetCreated)
		var sent sync.Map // the ids of the messages that were sent
		var messages atomic.Int64
		atOnce(len(nodes)+1, func(i int) {
			// Add the animals while the nodes are running, so that the nodes see different events.
			if i == len(nodes) {
				h.addPets(events)
				return
			}
			for messages.Load() < events && !t.Failed() {
				must(nodes[i].LastEvent(t.Context()))(t) // this call publishes the events
				shoptest.Deliver(t, nodes[i], func(message shop.Message) shop.Attempt {
					if _, again := sent.Swap(message.MessageID, true); again {
						t.Errorf("%s was sent twice", message.MessageID)
					}
					messages.Add(1)
					return shop.Attempt{At: time.Now(), Status: 200}
				})
			}
		})
		h.lease(0)
		equal(t, "messages that were sent", messages.Load(), events)
		equal(t, "messages in the log", len(h.deliveries()), events)
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
		h.sendAll(animals)
	})
}

// Events that are not yet published when a webhook is created, or when its types change, count as earlier events.
func TestUnpublishedEventsCountAsEarlier(t *testing.T) {
	t.Parallel()
	h := &webhookHarness{Shop: shoptest.Open(t, shoptest.Options{Postgres: true}), t: t}
	h.addPets(1)
	h.subscribe(shop.OrderPlaced)
	h.addPets(2)
	h.setTypes(shop.PetCreated)
	h.addPets(4)
	must(h.LastEvent(t.Context()))(t) // this call publishes the events
	h.lease(4)
}
