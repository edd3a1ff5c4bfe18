package shop_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

func TestWebhookAddresses(t *testing.T) {
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

// A webhook that wants to be told of other things is told of what happened before as it wanted it then, and of what happens
// later as it wants it now, also by a node that has not heard of the change.
func TestOtherTypes(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(1)
		o.finish(o.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		rename := func(name string) {
			t.Helper()
			if _, err := o.PutCategory(o.t.Context(), shop.Category{ID: 1, Name: name}, nil); err != nil {
				o.t.Fatal(err)
			}
		}
		rename("dogs") // before: nobody wants to know
		if _, err := o.CreatePet(o.t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
			o.t.Fatal(err)
		}
		stale := o.now()
		types := []shop.EventType{shop.CategoryUpdated}
		if _, err := o.UpdateWebhook(o.t.Context(), o.hook.ID, shop.WebhookChange{Types: &types}, nil); err != nil {
			o.t.Fatal(err)
		}
		if claim := o.claim(1)[0]; claim.EventType != shop.PetCreated {
			o.t.Errorf("before the change, %s was told", claim.EventType)
		}
		rename("cats")
		if _, err := o.CreatePet(o.t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
			o.t.Fatal(err)
		}
		if reached, err := o.FanOut(o.t.Context(), stale, 0); err != nil || reached != stale.Position {
			o.t.Errorf("a node that knows the webhook as it was reached %d from %d: %v", reached, stale.Position, err)
		}
		o.fanOut()
		if claim := o.claim(1)[0]; claim.EventType != shop.CategoryUpdated || !strings.Contains(string(claim.Body), "cats") {
			o.t.Errorf("after the change, this was told: %s", claim.Body)
		}
	})
}

// A node that has not heard that a webhook was disabled does not go past what it has not told.
func TestStaleNode(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(1)
		o.finish(o.claim(1)[0], 200, 0, shop.OutcomeSucceeded)
		stale := o.now()
		o.enable(false)
		if _, err := o.CreatePet(o.t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
			o.t.Fatal(err)
		}
		reached, err := o.FanOut(o.t.Context(), stale, 0)
		if err != nil || reached != stale.Position {
			o.t.Errorf("it reached %d from %d: %v", reached, stale.Position, err)
		}
		o.enable(true)
		if _, err := o.FanOut(o.t.Context(), stale, reached); err != nil {
			o.t.Fatal(err)
		}
		o.claim(1)
	})
}

// A webhook that was disabled and wants something else when it is enabled is not told of what happened before that.
func TestOtherTypesWhileDisabled(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		none := []shop.EventType{shop.OrderExpired}
		if _, err := o.UpdateWebhook(o.t.Context(), o.hook.ID, shop.WebhookChange{Types: &none}, nil); err != nil {
			o.t.Fatal(err)
		}
		o.happen(5)
		o.enable(false)
		o.happen(1)
		enabled, types := true, []shop.EventType{shop.PetCreated}
		if _, err := o.UpdateWebhook(o.t.Context(), o.hook.ID, shop.WebhookChange{Enabled: &enabled, Types: &types}, nil); err != nil {
			o.t.Fatal(err)
		}
		o.fanOut()
		o.claim(1)
	})
}

// A secret that is being replaced signs beside the new one until the overlap is over.
func TestRotateWebhook(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		wantSecrets := func(want ...string) {
			o.t.Helper()
			o.happen(1)
			claim := o.claim(1)[0]
			if fmt.Sprint(claim.Secrets) != fmt.Sprint(want) {
				o.t.Errorf("it is signed with %q, want %q", claim.Secrets, want)
			}
			o.finish(claim, 200, 0, shop.OutcomeSucceeded)
		}
		wantSecrets(o.hook.Secret)
		time.Sleep(time.Second)
		second, err := o.RotateWebhook(o.t.Context(), o.hook.ID, time.Hour)
		if err != nil || second.Secret == o.hook.Secret || !strings.HasPrefix(second.Secret, "whsec_") {
			o.t.Fatalf("%+v %v", second, err)
		}
		wantSecrets(second.Secret, o.hook.Secret)
		time.Sleep(time.Hour)
		wantSecrets(second.Secret)
		third, err := o.RotateWebhook(o.t.Context(), o.hook.ID, 0)
		if err != nil {
			o.t.Fatal(err)
		}
		wantSecrets(third.Secret)
	})
}

// What is on its way to a webhook that is removed ends well, and nothing more is sent.
func TestRemovedWebhook(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		o.happen(2)
		claims, err := o.ClaimDeliveries(o.t.Context(), o.hook.ID, 1)
		if err != nil || len(claims) != 1 {
			o.t.Fatal(claims, err)
		}
		hook := o.now()
		if err := o.DeleteWebhook(o.t.Context(), o.hook.ID, nil); err != nil {
			o.t.Fatal(err)
		}
		if outcome, err := o.FinishAttempt(o.t.Context(), claims[0], shop.Attempt{Status: 500}, 0); err != nil || outcome != shop.OutcomeRetry {
			o.t.Error(outcome, err)
		}
		if _, err := o.FanOut(o.t.Context(), hook, 0); err != nil {
			o.t.Error(err)
		}
		time.Sleep(24 * time.Hour)
		o.claim(0)
	})
}

// Nodes that make deliveries of the same events at once, and claim them at once, neither leave one out nor do one twice.
func TestNodesShareDeliveries(t *testing.T) {
	t.Parallel()
	for engine, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return t.TempDir() + "/test.db" },
		"postgres": func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			store, err := sqlstore.Open(t.Context(), database(t), sqlstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			const nodes, events = 4, 250
			var services []*shop.Service
			for range nodes {
				service, err := shop.Open(t.Context(), store, shop.Options{})
				if err != nil {
					t.Fatal(err)
				}
				services = append(services, service)
			}
			hook, err := services[0].CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://example.com/", Types: []shop.EventType{shop.PetCreated}})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			sent := map[string]int{}
			told := func() int {
				mu.Lock()
				defer mu.Unlock()
				return len(sent)
			}
			var running sync.WaitGroup
			running.Go(func() { // meanwhile: the nodes see different parts of it
				for range events {
					if _, err := services[0].CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
						t.Error(err)
					}
				}
			})
			for _, service := range services {
				running.Go(func() {
					for reached := int64(-1); told() < events && !t.Failed(); {
						if _, err := service.LastEvent(t.Context()); err != nil { // all that was done can be read
							t.Error(err)
						}
						now, err := share(t, service, hook.Webhook, reached, func(id string) {
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
				t.Errorf("%+v is left: %v", claims, err)
			}
			if len(sent) != events {
				t.Errorf("%d of %d events were told", len(sent), events)
			}
			for id, n := range sent {
				if n != 1 {
					t.Errorf("%s was sent %d times", id, n)
				}
			}
		})
	}
}

// share does a node's part of the work once.
func share(t *testing.T, service *shop.Service, hook shop.Webhook, after int64, send func(messageID string)) (reached int64, err error) {
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

// More than is told at a time is told in parts, also where all of it is in memory.
func TestManyAtOnce(t *testing.T) {
	withWebhook(t, func(o *webhookHarness) {
		ctx, stop := context.WithCancel(o.t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { o.RunJobs(ctx, func(err error) { o.t.Error(err) }) })
		defer wg.Wait()
		defer stop()
		time.Sleep(time.Second) // the memory begins now
		const animals = 250
		o.add(animals)
		time.Sleep(time.Second)
		if last, err := o.LastEvent(o.t.Context()); err != nil || last < animals {
			o.t.Fatal(last, err)
		} else if events, reached, err := o.EventsAfter(o.t.Context(), shop.EventFilter{}, last-animals); len(events) != 100 || reached != last-animals+100 || err != nil {
			o.t.Errorf("%d events at a time, up to %d of %d, %v", len(events), reached, last, err)
		}
		o.fanOut()
		told := map[string]bool{}
		for range 3 {
			claims, err := o.ClaimDeliveries(o.t.Context(), o.hook.ID, 100)
			if err != nil {
				o.t.Fatal(err)
			}
			for _, claim := range claims {
				told[claim.MessageID] = true
			}
		}
		if len(told) != animals {
			o.t.Errorf("%d messages of %d", len(told), animals)
		}
	})
}

// What happened before the types were changed is told as it was wanted then, and what happened before a webhook was made is
// not, also where nobody has published it yet.
func TestTypesOfWhatIsNotPublished(t *testing.T) {
	t.Parallel()
	store, err := sqlstore.Open(t.Context(), pgtest.Shared(t).NewDatabase(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o := &webhookHarness{t: t, store: store}
	if o.Service, err = shop.Open(t.Context(), store, shop.Options{}); err != nil {
		t.Fatal(err)
	}
	o.add(1)
	if o.hook, err = o.CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}); err != nil {
		t.Fatal(err)
	}
	o.add(2)
	if _, err := o.UpdateWebhook(t.Context(), o.hook.ID, shop.WebhookChange{Types: &[]shop.EventType{shop.OrderPlaced}}, nil); err != nil {
		t.Fatal(err)
	}
	o.add(4)
	if _, err := o.LastEvent(t.Context()); err != nil { // publishes
		t.Fatal(err)
	}
	o.fanOut()
	o.claim(2)
}
