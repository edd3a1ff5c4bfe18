package shop_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
)

// office is a shop with a webhook, in virtual time.
type webhookHarness struct {
	*shop.Service
	t     *testing.T
	store shop.Store
	hook  shop.IssuedWebhook
}

// withWebhook runs a test in an office whose webhook is told of new animals.
func withWebhook(t *testing.T, test func(*webhookHarness)) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		store := openStoreAt(t, path)
		defer store.Close() // inside the bubble: its goroutines must end there
		o := &webhookHarness{t: t, store: store}
		var err error
		if o.Service, err = shop.Open(t.Context(), store, shop.Options{}); err != nil {
			t.Fatal(err)
		}
		if o.hook, err = o.CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}); err != nil {
			t.Fatal(err)
		}
		test(o)
	})
}

// happen adds animals, and makes deliveries of that where the webhook is enabled.
func (o *webhookHarness) happen(animals int) {
	o.t.Helper()
	o.add(animals)
	o.fanOut()
}

// add adds animals of which nobody has made deliveries yet.
func (o *webhookHarness) add(animals int) {
	o.t.Helper()
	for range animals {
		if _, err := o.CreatePet(o.t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
			o.t.Fatal(err)
		}
	}
}

// fanOut makes deliveries of all that has happened.
func (o *webhookHarness) fanOut() {
	o.t.Helper()
	for reached := int64(-1); ; {
		now, err := o.FanOut(o.t.Context(), o.now(), reached)
		if err != nil {
			o.t.Fatal(err)
		}
		if now == reached {
			return
		}
		reached = now
	}
}

// now is the webhook as it is now.
func (o *webhookHarness) now() shop.Webhook {
	o.t.Helper()
	hook, err := o.Webhook(o.t.Context(), o.hook.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	return hook
}

// claim takes what is due, which must be so many.
func (o *webhookHarness) claim(want int) []shop.Claim {
	o.t.Helper()
	claims, err := o.ClaimDeliveries(o.t.Context(), o.hook.ID, 100)
	if err != nil || len(claims) != want {
		o.t.Fatalf("%d deliveries are due, want %d: %v", len(claims), want, err)
	}
	return claims
}

// finish ends an attempt with a status; 0: there was no answer.
func (o *webhookHarness) finish(claim shop.Claim, status int, after time.Duration, want shop.Outcome) shop.Delivery {
	o.t.Helper()
	attempt := shop.Attempt{At: time.Now().UTC(), Duration: 12 * time.Millisecond, Status: status}
	if status == 0 {
		attempt.Error = "the connection was refused"
	}
	outcome, err := o.FinishAttempt(o.t.Context(), claim, attempt, after)
	if err != nil || outcome != want {
		o.t.Fatalf("the outcome is %s, %v; want %s", outcome, err, want)
	}
	return o.delivery(claim.ID)
}

func (o *webhookHarness) deliveries() []shop.Delivery {
	o.t.Helper()
	page, err := o.ListDeliveries(o.t.Context(), shop.DeliveryList{WebhookID: o.hook.ID, PageRequest: shop.PageRequest{Limit: 100}})
	if err != nil {
		o.t.Fatal(err)
	}
	return page.Items
}

func (o *webhookHarness) delivery(id int64) shop.Delivery {
	o.t.Helper()
	for _, delivery := range o.deliveries() {
		if delivery.ID == id {
			return delivery
		}
	}
	o.t.Fatalf("there is no delivery %d", id)
	return shop.Delivery{}
}

func (o *webhookHarness) enable(enabled bool) {
	o.t.Helper()
	if _, err := o.UpdateWebhook(o.t.Context(), o.hook.ID, shop.WebhookChange{Enabled: &enabled}, nil); err != nil {
		o.t.Fatal(err)
	}
}

// wantDisabled expects that we have disabled the webhook, and said so.
func (o *webhookHarness) wantDisabled(reason string) {
	o.t.Helper()
	hook := o.now()
	if hook.Enabled || !strings.Contains(hook.DisabledReason, reason) {
		o.t.Errorf("the webhook is %+v, want it disabled: %s", hook, reason)
	}
	page, err := o.ListEvents(o.t.Context(), shop.EventFilter{Types: []shop.EventType{shop.WebhookUpdated}}, shop.PageRequest{Limit: 100})
	if err != nil || len(page.Items) == 0 {
		o.t.Fatalf("there is no event: %v", err)
	}
	event := page.Items[len(page.Items)-1]
	if event.Actor != "system" || event.Subject != fmt.Sprint("webhooks/", hook.ID) || !strings.Contains(string(event.Data), reason) {
		o.t.Errorf("the event is %+v, %s", event, event.Data)
	}
}

func (o *webhookHarness) removed(left int) {
	o.t.Helper()
	if err := o.RemoveDeliveries(context.Background()); err != nil {
		o.t.Fatal(err)
	}
	if n := len(o.deliveries()); n != left {
		o.t.Errorf("%d deliveries are left, want %d", n, left)
	}
}
