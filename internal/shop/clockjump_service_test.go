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

// A service keeps working correctly if its clock jumps back, or forward and then back, while it is running. The test
// runs all jobs after each jump.
func TestServiceSurvivesClockJumps(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string][]time.Duration{
		"a day back":               {-day},
		"a day back and forth":     {-day, day},
		"a day forward and back":   {day + time.Hour, -day - time.Hour},
		"years back":               {-20 * year},
		"forward and further back": {3*day - time.Hour, -4 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJumpingShop(t)
			for _, move := range moves {
				j.Clock.Forward(move)
				j.sessionEnded = j.sessionEnded || move >= shop.SessionLifetime
				runAllJobs(t, j.Service)
				wantReplay(t, j.Service, "once", true)
			}
			j.wantOrders(t)
			j.wantFeed(t)
			j.wantKeys(t)
			j.wantDeliveries(t)
			j.wantEnds(t)
		})
	}
}

// runAllJobs runs every periodic job once.
func runAllJobs(t *testing.T, s *shop.Service) {
	t.Helper()
	ctx := t.Context()
	check(t, errors.Join(s.CheckClock(ctx), s.ExpireHolds(ctx), s.SaveLastUsed(ctx), s.SaveLastSeen(ctx), s.PruneIdempotencyRecords(ctx),
		s.RemoveEvents(ctx), s.RemoveDeliveries(ctx), s.RemoveSessions(ctx), s.Maintain(ctx)))
}

// jumpingShop is a shop that already contains some data when its clock jumps.
type jumpingShop struct {
	*shoptest.Shop
	order        shop.Order
	events       []shop.Event
	key          shop.IssuedKey
	session      string
	sessionEnded bool // whether the clock has ever been past the end of the session
}

var jumpingOptions = shop.Options{EventRetention: 30 * day}

func newJumpingShop(t *testing.T) *jumpingShop {
	t.Helper()
	j := &jumpingShop{Shop: shoptest.Open(t, shoptest.Options{Options: jumpingOptions})}
	must(j.CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}))(t)
	wantReplay(t, j.Service, "once", false)
	for range 4 {
		j.AddPet(t, "Rex", 1, shop.Available)
	}
	j.order = must(j.PlaceOrder(t.Context(), shop.NewOrder{PetID: 2}))(t)
	partner := shop.NewKey{Name: "partner", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: j.Clock.Now().Add(2 * time.Hour)}
	j.key = must(j.CreateKey(t.Context(), partner))(t)
	must(j.Authenticate(t.Context(), j.key.Secret))(t)
	j.session = must(j.SignIn(t.Context(), shoptest.AdminKey, shop.NewSession{}))(t).Token
	j.fanOut(t)
	j.events = j.allEvents(t)
	runAllJobs(t, j.Service)
	return j
}

// fanOut creates the deliveries for all events so far.
func (j *jumpingShop) fanOut(t *testing.T) {
	t.Helper()
	must(j.LastEvent(t.Context()))(t) // assigns positions to the events
	fanOutAll(t, j.NewFanOut())
}

func (j *jumpingShop) allEvents(t *testing.T) []shop.Event {
	t.Helper()
	return must(j.ListEvents(t.Context(), shop.EventFilter{}, shop.PageRequest{Limit: 100}))(t).Items
}

// wantOrders checks that existing holds still end at the same time, that new holds start now, and that no timestamp
// moves back.
func (j *jumpingShop) wantOrders(t *testing.T) {
	t.Helper()
	equal(t, "the order", must(j.Order(t.Context(), j.order.ID))(t), j.order)
	_, err := j.PlaceOrder(t.Context(), shop.NewOrder{PetID: 2})
	wantCode(t, err, shop.PetNotAvailable)
	after := must(j.UpdateOrder(t.Context(), j.order.ID, shop.OrderChange{Status: new(shop.Approved)}, nil))(t)
	if after.CreatedAt != j.order.CreatedAt || after.UpdatedAt.Before(j.order.UpdatedAt) {
		t.Errorf("%+v became %+v", j.order, after)
	}
	before := j.Clock.Now().UTC().Truncate(time.Microsecond)
	placed := must(j.PlaceOrder(t.Context(), shop.NewOrder{PetID: 3}))(t)
	equal(t, "the new hold", placed.HoldExpiresAt.Sub(placed.CreatedAt), shop.DefaultOrderHold)
	if placed.CreatedAt.Before(before) || placed.CreatedAt.After(j.Clock.Now()) {
		t.Errorf("after %v, the order %+v was placed", before, placed)
	}
	for range 2 { // rotating the secret changes nothing visible except updatedAt
		before := must(j.Webhook(t.Context(), 1))(t)
		if after := must(j.RotateWebhook(t.Context(), 1, 0))(t); !after.UpdatedAt.After(before.UpdatedAt) {
			t.Errorf("the webhook was changed at %v, after a rotation at %v", before.UpdatedAt, after.UpdatedAt)
		}
	}
}

// wantFeed checks that the events from before the jump are unchanged, keep their positions and come before all later
// events.
func (j *jumpingShop) wantFeed(t *testing.T) {
	t.Helper()
	after := j.allEvents(t)
	if diff := cmp.Diff(j.events, after[:min(len(j.events), len(after))], cmp.AllowUnexported(shop.Event{})); diff != "" {
		t.Errorf("the earlier events have changed:\n%s", diff)
	}
}

// wantKeys checks that keys expire according to the current clock and that no key was last used in the future.
func (j *jumpingShop) wantKeys(t *testing.T) {
	t.Helper()
	_, err := j.Authenticate(t.Context(), j.key.Secret)
	if !j.Clock.Now().Before(j.key.ExpiresAt) {
		wantCode(t, err, shop.InvalidAPIKey)
		return
	}
	check(t, err)
	runAllJobs(t, j.Service)
	keys := must(j.ListKeys(t.Context(), shop.PageRequest{Limit: 10}))(t).Items
	if now := j.Clock.Now(); len(keys) != 1 || keys[0].LastUsedAt.After(now.Add(time.Minute)) {
		t.Errorf("it is %v, and the keys are %+v", now, keys)
	}
}

// wantDeliveries checks that deliveries that were due before a clock jump are still due.
func (j *jumpingShop) wantDeliveries(t *testing.T) {
	t.Helper()
	claim := func(when string) []shop.Claim {
		t.Helper()
		claims := must(j.ClaimDeliveries(t.Context(), unlimited))(t)
		equal(t, "the messages that are due "+when, len(claims), 5)
		return claims
	}
	claim("after the jump")
	j.Clock.Forward(-time.Hour) // the clock jumps while a worker holds the claims, and that worker is then killed
	runAllJobs(t, j.Service)
	for _, c := range claim("after the end of the claims") {
		attempt := shop.Attempt{At: j.Clock.Now(), Error: "the connection was refused"}
		outcomes := must(j.FinishAttempts(t.Context(), shop.AttemptResult{Claim: c, Attempt: attempt}))(t)
		equal(t, "the outcome", outcomes[0], shop.OutcomeRetry)
	}
	j.Clock.Forward(-year)
	runAllJobs(t, j.Service)
	claim("after a jump of a year")
}

// wantEnds checks that everything created before or after the clock jump expires eventually. It moves the clock and
// then starts a new service, because a running service would treat the move as a clock jump and keep the data longer.
func (j *jumpingShop) wantEnds(t *testing.T) {
	t.Helper()
	if _, err := j.SessionPrincipal(t.Context(), j.session); err != nil && !j.sessionEnded {
		t.Errorf("the session has ended: %v", err)
	}
	j.Clock.Forward(shop.SessionLifetime + 2*time.Minute)
	_, err := j.SessionPrincipal(t.Context(), j.session)
	wantCode(t, err, shop.InvalidAPIKey)
	j.Clock.Forward(day - shop.SessionLifetime)
	runAllJobs(t, must(j.Node(t.Context(), jumpingOptions))(t))
	wantReplay(t, j.Service, "once", false)
	j.fanOut(t)

	j.Clock.Forward(30 * day)
	later := must(j.Node(t.Context(), jumpingOptions))(t)
	runAllJobs(t, later)
	if events := j.allEvents(t); len(events) > 2 { // only events for expired orders may be left
		t.Errorf("a month later there are still the events %+v", events)
	}
	list := shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 10}}
	equal(t, "deliveries a month later", len(must(later.ListDeliveries(t.Context(), list))(t).Items), 0)
	order := must(later.Order(t.Context(), 2))(t)
	if order.Status != shop.Expired && j.Clock.Now().After(order.HoldExpiresAt) {
		t.Errorf("at %v, the order is %+v", j.Clock.Now(), order)
	}
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
		runAllJobs(t, node(0)) // a service that was started after the clock moved
		wantReplay(t, node(0), key, false)
	}
}
