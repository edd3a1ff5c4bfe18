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

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// TestServiceSurvivesClockJumps moves the clock of a running service back, or forward and then back. It
// runs the jobs after each move.
func TestServiceSurvivesClockJumps(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string][]time.Duration{
		"an hour back":             {-time.Hour},
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
				wantReplay(t, once(t, j.Service, "once"), true)
			}
			j.wantOrders()
			j.wantFeed()
			j.wantKeys()
			j.wantDeliveries()
			j.wantEnds()
		})
	}
}

// runAllJobs runs every periodic job once.
func runAllJobs(t *testing.T, s *shop.Service) {
	t.Helper()
	ctx := t.Context()
	if err := errors.Join(s.CheckClock(ctx), s.ExpireHolds(ctx), s.SaveLastUsed(ctx), s.PruneIdempotencyRecords(ctx), s.RemoveEvents(ctx),
		s.RemoveDeliveries(ctx), s.RemoveSessions(ctx), s.Maintain(ctx)); err != nil {
		t.Fatal(err)
	}
}

// once adds an animal with an idempotency key.
func once(t *testing.T, s *shop.Service, key string) error {
	ctx := shop.WithIdempotency(t.Context(), &shop.IdempotentRequest{Key: key, Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201, Body: []byte("{}")} }})
	_, err := s.CreatePet(ctx, shop.NewPet{Name: "Once", CategoryID: 1})
	return err
}

// wantReplay checks whether a repeated write got the stored response or was executed.
func wantReplay(t *testing.T, err error, want bool) {
	t.Helper()
	if _, replayed := errors.AsType[*shop.ReplayError](err); replayed != want || !replayed && err != nil {
		t.Fatalf("the write got %v, want a stored response: %v", err, want)
	}
}

// jumpingShop is a shop that already contains some data when its clock jumps.
type jumpingShop struct {
	*shoptest.Shop
	t            *testing.T
	options      shop.Options
	order        shop.Order
	events       []shop.Event
	key          shop.IssuedKey
	session      string
	sessionEnded bool // the clock has been past the end of the session at some point
}

func newJumpingShop(t *testing.T) *jumpingShop {
	t.Helper()
	options := shop.Options{EventRetention: 30 * day}
	j := &jumpingShop{Shop: shoptest.Open(t, shoptest.Options{Options: options}), t: t, options: options}
	_, err := j.CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}})
	j.check(err)
	wantReplay(t, once(t, j.Service, "once"), false)
	for range 4 {
		j.AddPet(t, "Rex", 1, shop.Available)
	}
	j.order, err = j.PlaceOrder(t.Context(), shop.NewOrder{PetID: 2})
	j.check(err)
	j.key, err = j.CreateKey(t.Context(), shop.NewKey{Name: "partner", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: j.Clock.Now().Add(2 * time.Hour)})
	j.check(err)
	_, err = j.Authenticate(t.Context(), j.key.Secret)
	j.check(err)
	j.session, err = j.SignIn(t.Context(), shoptest.AdminKey)
	j.check(err)
	j.fanOut()
	j.events = j.allEvents()
	runAllJobs(t, j.Service)
	return j
}

func (j *jumpingShop) check(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

// restart returns a service that is started at the current time of the clock.
func (j *jumpingShop) restart() *shop.Service {
	j.t.Helper()
	service, err := j.Node(j.t.Context(), j.options)
	j.check(err)
	return service
}

// fanOut creates the deliveries for all events so far.
func (j *jumpingShop) fanOut() {
	j.t.Helper()
	_, err := j.LastEvent(j.t.Context()) // assigns positions to the events
	j.check(err)
	hook, err := j.Webhook(j.t.Context(), 1)
	j.check(err)
	_, err = j.FanOut(j.t.Context(), hook, 0)
	j.check(err)
}

func (j *jumpingShop) allEvents() []shop.Event {
	j.t.Helper()
	page, err := j.ListEvents(j.t.Context(), shop.EventFilter{}, shop.PageRequest{Limit: 100})
	j.check(err)
	return page.Items
}

// wantOrders checks that existing holds still end at the same time, that new holds start now, and that no
// timestamp moves back.
func (j *jumpingShop) wantOrders() {
	t := j.t
	t.Helper()
	got, err := j.Order(t.Context(), j.order.ID)
	if diff := cmp.Diff(j.order, got); err != nil || diff != "" {
		t.Errorf("the order has changed (%v):\n%s", err, diff)
	}
	_, err = j.PlaceOrder(t.Context(), shop.NewOrder{PetID: 2})
	wantError(t, err, shop.PetNotAvailable)
	after, err := j.UpdateOrder(t.Context(), j.order.ID, shop.Approved, nil)
	if err != nil || after.CreatedAt != j.order.CreatedAt || after.UpdatedAt.Before(j.order.UpdatedAt) {
		t.Errorf("%+v became %+v (%v)", j.order, after, err)
	}
	before := j.Clock.Now().UTC().Truncate(time.Microsecond)
	placed, err := j.PlaceOrder(t.Context(), shop.NewOrder{PetID: 3})
	if err != nil || placed.HoldExpiresAt.Sub(placed.CreatedAt) != shop.DefaultOrderHold || placed.CreatedAt.Before(before) || placed.CreatedAt.After(j.Clock.Now()) {
		t.Errorf("after %v, the order %+v was placed (%v)", before, placed, err)
	}
	for range 2 { // a rotation changes nothing visible except updatedAt
		before, err := j.Webhook(t.Context(), 1)
		j.check(err)
		after, err := j.RotateWebhook(t.Context(), 1, 0)
		if err != nil || !after.UpdatedAt.After(before.UpdatedAt) {
			t.Errorf("the webhook was changed at %v, after a rotation at %v (%v)", before.UpdatedAt, after.UpdatedAt, err)
		}
	}
}

// wantFeed checks that all earlier events are still where they were and that positions ascend.
func (j *jumpingShop) wantFeed() {
	j.t.Helper()
	after := j.allEvents()
	if diff := cmp.Diff(j.events, after[:min(len(j.events), len(after))], cmp.AllowUnexported(shop.Event{})); diff != "" {
		j.t.Errorf("the earlier events have changed:\n%s", diff)
	}
	for i, event := range after[1:] {
		if event.Position() <= after[i].Position() {
			j.t.Errorf("the event %d follows the event %d", event.Position(), after[i].Position())
		}
	}
}

// wantKeys checks that keys expire according to the current clock and that no last use is in the future.
func (j *jumpingShop) wantKeys() {
	t := j.t
	t.Helper()
	_, err := j.Authenticate(t.Context(), j.key.Secret)
	if !j.Clock.Now().Before(j.key.ExpiresAt) {
		wantError(t, err, shop.InvalidAPIKey)
		return
	}
	j.check(err)
	runAllJobs(t, j.Service)
	keys, err := j.ListKeys(t.Context(), shop.PageRequest{Limit: 10})
	if now := j.Clock.Now(); err != nil || len(keys.Items) != 1 || keys.Items[0].LastUsedAt.After(now.Add(time.Minute)) {
		t.Errorf("it is %v, and the keys are %+v (%v)", now, keys.Items, err)
	}
}

// wantDeliveries checks that deliveries that were due before a clock jump are still due.
func (j *jumpingShop) wantDeliveries() {
	j.t.Helper()
	claim := func(when string) []shop.Claim {
		j.t.Helper()
		claims, err := j.ClaimDeliveries(j.t.Context(), 1, 100)
		if err != nil || len(claims) != 5 {
			j.t.Fatalf("%s, %d messages are due, want 5 (%v)", when, len(claims), err)
		}
		return claims
	}
	claim("after the jump")
	j.Clock.Forward(-time.Hour) // the clock jumps while a worker holds the claims, and that worker is then killed
	runAllJobs(j.t, j.Service)
	for _, c := range claim("after the end of the claims") {
		outcome, err := j.FinishAttempt(j.t.Context(), c, shop.Attempt{At: j.Clock.Now(), Error: "the connection was refused"}, 0)
		if err != nil || outcome != shop.OutcomeRetry {
			j.t.Fatalf("the outcome is %s (%v), want a retry", outcome, err)
		}
	}
	j.Clock.Forward(-year)
	runAllJobs(j.t, j.Service)
	claim("after a jump of a year")
}

// wantEnds checks that everything created before or after the clock jump expires eventually. It starts a
// new service after it moves the clock, so that the new time is accepted.
func (j *jumpingShop) wantEnds() {
	t := j.t
	t.Helper()
	if _, err := j.SessionPrincipal(t.Context(), j.session); err != nil && !j.sessionEnded {
		t.Errorf("the session has ended: %v", err)
	}
	j.Clock.Forward(shop.SessionLifetime + 2*time.Minute)
	_, err := j.SessionPrincipal(t.Context(), j.session)
	wantError(t, err, shop.InvalidAPIKey)

	j.Clock.Forward(day - shop.SessionLifetime)
	runAllJobs(t, j.restart())
	wantReplay(t, once(t, j.Service, "once"), false)
	j.fanOut()

	j.Clock.Forward(30 * day)
	later := j.restart()
	runAllJobs(t, later)
	if events := j.allEvents(); len(events) > 2 { // only events for expired orders may be left
		t.Errorf("a month later there are still the events %+v", events)
	}
	list, err := later.ListDeliveries(t.Context(), shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 10}})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("a month later there are still %d deliveries (%v)", len(list.Items), err)
	}
	order, err := later.Order(t.Context(), 2)
	if err != nil || order.Status != shop.Expired && j.Clock.Now().After(order.HoldExpiresAt) {
		t.Errorf("at %v, the order is %+v (%v)", j.Clock.Now(), order, err)
	}
}

// Even if a node's clock is off by days, the node does not repeat a write that another node has executed.
func TestRetryOnANodeWithAWrongClock(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	node := func(off time.Duration) *shop.Service {
		node, err := s.Node(t.Context(), shop.Options{Now: func() time.Time { return s.Clock.Now().Add(off) }})
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	for i, off := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		wrong := node(off)
		key := fmt.Sprint(i)
		wantReplay(t, once(t, wrong, key), false)
		for _, other := range []*shop.Service{s.Service, wrong} {
			runAllJobs(t, wrong)
			runAllJobs(t, s.Service)
			wantReplay(t, once(t, other, key), true)
		}
		s.Clock.Forward(day + time.Hour)
		runAllJobs(t, node(0)) // a service that was started after the clock moved
		wantReplay(t, once(t, node(0), key), false)
	}
}
