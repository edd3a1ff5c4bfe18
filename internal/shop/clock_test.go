package shop_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

const day, year = 24 * time.Hour, 365 * 24 * time.Hour

// If the clock is set back, no data is lost, nothing happens twice, and everything still ends.
func TestClockCanBeSetBack(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string][]time.Duration{
		"a day":                {-day},
		"a day and forward":    {-day, day},
		"years":                {-20 * year},
		"forward and back":     {time.Hour, -time.Hour},
		"forward and far back": {time.Hour, -4 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Options: shop.Options{OrderHold: 2 * time.Hour, EventRetention: 30 * day}})
			wantReplay(t, s.Service, "once", false)
			for range 3 {
				s.AddPet(t, "Rex", 1, shop.Available)
			}
			order := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 2}))(t)
			session := must(s.SignIn(t.Context(), shoptest.AdminKey, shop.NewSession{}))(t).Token
			must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/hook"}))(t)
			events := allEvents(t, s)
			for _, move := range moves {
				s.Clock.Forward(move)
				runAllJobs(t, s.Service)
			}

			wantReplay(t, s.Service, "once", true)
			equal(t, "the order", must(s.Order(t.Context(), order.ID))(t), order)
			_, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 2})
			wantCode(t, err, shop.PetNotAvailable)
			must(s.SessionPrincipal(t.Context(), session))(t)
			approved := must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: new(shop.Approved)}, nil))(t)
			if approved.UpdatedAt.Before(order.UpdatedAt) {
				t.Errorf("%+v became %+v", order, approved)
			}
			for range 2 { // rotating the secret changes nothing visible except updatedAt
				before := must(s.Webhook(t.Context(), 1))(t)
				if after := must(s.RotateWebhook(t.Context(), shop.Caller{}, 1, 0))(t); !after.UpdatedAt.After(before.UpdatedAt) {
					t.Errorf("the webhook was changed at %v, after a rotation at %v", before.UpdatedAt, after.UpdatedAt)
				}
			}
			placed := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 3}))(t)
			equal(t, "the hold of a new order", placed.HoldExpiresAt.Sub(placed.CreatedAt), 2*time.Hour)
			after := allEvents(t, s) // earlier events are unchanged and come first
			if diff := cmp.Diff(events, after[:min(len(events), len(after))], cmp.AllowUnexported(shop.Event{})); diff != "" {
				t.Errorf("the earlier events have changed:\n%s", diff)
			}

			sent := 0
			shoptest.Deliver(t, s.Service, func(shop.Message) shop.Attempt { sent++; return shop.Attempt{At: s.Clock.Now(), Status: 200} })
			equal(t, "messages that were sent", sent, 3) // the orders and the animal

			for _, move := range moves {
				s.Clock.Forward(-move)
			}
			s.Clock.Forward(31 * day)
			runAllJobs(t, s.Service)
			wantReplay(t, s.Service, "once", false)
			_, err = s.SessionPrincipal(t.Context(), session)
			wantCode(t, err, shop.InvalidAPIKey)
			equal(t, "the new order", must(s.Order(t.Context(), placed.ID))(t).Status, shop.Expired)
			for _, event := range allEvents(t, s) {
				if event.Time.Before(s.Clock.Now().Add(-30 * day)) {
					t.Errorf("a month later there is still the event %+v", event)
				}
			}
		})
	}
}

func allEvents(t *testing.T, s *shoptest.Shop) []shop.Event {
	t.Helper()
	return must(s.ListEvents(t.Context(), shop.Caller{}, shop.EventFilter{}, shop.PageRequest{Limit: 100}))(t).Items
}

// runAllJobs runs every periodic job once.
func runAllJobs(t *testing.T, s *shop.Service) {
	t.Helper()
	ctx := t.Context()
	check(t, errors.Join(s.ExpireHolds(ctx), s.SaveLastUses(ctx), s.PruneIdempotencyRecords(ctx), s.RemoveEvents(ctx), s.RemoveDeliveries(ctx),
		s.RemoveSessions(ctx), s.Maintain(ctx)))
}

// Even if a node's clock is off by days, the node does not repeat a write that another node has executed.
func TestRetryOnANodeWithAWrongClock(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	node := func(off time.Duration) *shop.Service {
		return must(s.Node(t.Context(), shop.Options{Now: func() time.Time { return s.Clock.Now().Add(off) }}))(t)
	}
	for i, off := range []time.Duration{-2 * day, 2 * day} {
		wrong, key := node(off), fmt.Sprint(i)
		wantReplay(t, wrong, key, false)
		for _, other := range []*shop.Service{s.Service, wrong} {
			runAllJobs(t, wrong)
			runAllJobs(t, s.Service)
			wantReplay(t, other, key, true)
		}
		s.Clock.Forward(day + time.Hour)
		runAllJobs(t, s.Service)
		wantReplay(t, s.Service, key, false)
	}
}
