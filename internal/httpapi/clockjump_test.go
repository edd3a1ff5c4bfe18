package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// runAllJobs runs every periodic job once.
func runAllJobs(t *testing.T, s *shop.Service) {
	t.Helper()
	ctx := t.Context()
	if err := errors.Join(s.CheckClock(ctx), s.ExpireHolds(ctx), s.SaveLastUsed(ctx), s.PruneIdempotencyRecords(ctx), s.RemoveEvents(ctx),
		s.RemoveDeliveries(ctx), s.RemoveSessions(ctx), s.Maintain(ctx)); err != nil {
		t.Fatal(err)
	}
}

// TestServiceSurvivesClockJumps moves the clock of a running service back, or forward and then back. It
// runs the jobs after each move.
func TestServiceSurvivesClockJumps(t *testing.T) {
	t.Parallel()
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
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
			w := newWrongClock(t)
			for _, move := range moves {
				w.clock.forward(move)
				w.passed = w.passed || move >= shop.SessionLifetime
				runAllJobs(t, w.service)
				w.wantOnce()
			}
			w.wantOrders()
			w.wantFeed()
			w.wantKeys()
			w.wantDelivery()
			w.wantEnds()
		})
	}
}

// wrongClock is a shop that already contains some data when its clock jumps.
type wrongClock struct {
	*testShop
	begun                      time.Time
	first, page, order, events testResponse
	key                        string
	keyEnds                    time.Time
	session                    string
	passed                     bool // the clock has been past the end of the session at some point
}

func newWrongClock(t *testing.T) *wrongClock {
	t.Helper()
	w := &wrongClock{testShop: newShopWith(t, shop.Options{EventRetention: 30 * 24 * time.Hour})}
	w.begun = w.clock.now()
	w.do("POST", "/v1/webhooks", `{"url":"https://example.com/hook","types":["pet.created"]}`).want(t, 201, "")
	w.first = w.once()
	w.first.want(t, 201, "")
	for range 4 {
		w.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	}
	w.page = w.do("GET", "/v1/pets?limit=2", "")
	w.order = w.do("POST", "/v1/store/orders", `{"petId":2}`)
	w.order.want(t, 201, "")
	w.keyEnds = w.begun.Add(2 * time.Hour)
	key, err := w.service.CreateKey(t.Context(), shop.NewKey{Name: "partner", Scopes: []shop.Scope{shop.Admin}, ExpiresAt: w.keyEnds})
	if err != nil {
		t.Fatal(err)
	}
	w.key = key.Secret
	w.do("GET", "/v1/keys/current", "", bearing(w.key)).want(t, 200, "")
	if w.session, err = w.service.SignIn(t.Context(), adminKey); err != nil {
		t.Fatal(err)
	}
	w.fanOut()
	w.events = w.do("GET", "/v1/events?limit=100", "")
	runAllJobs(t, w.service)
	return w
}

// fanOut creates the deliveries for all events so far.
func (w *wrongClock) fanOut() {
	w.t.Helper()
	if _, err := w.service.LastEvent(w.t.Context()); err != nil { // assigns positions to the events
		w.t.Fatal(err)
	}
	hook, err := w.service.Webhook(w.t.Context(), 1)
	if err == nil {
		_, err = w.service.FanOut(w.t.Context(), hook, 0)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *wrongClock) once() testResponse {
	w.t.Helper()
	return w.do("POST", "/v1/pets", `{"name":"Once","categoryId":1}`, "Idempotency-Key: once")
}

// wantOnce checks that a retried write is not executed again.
func (w *wrongClock) wantOnce() {
	w.t.Helper()
	if again := w.once(); !bytes.Equal(again.body, w.first.body) || again.Header.Get("Idempotency-Replayed") != "true" {
		w.t.Fatalf("%v after %v: %d %s", w.clock.now(), w.begun, again.StatusCode, again.body)
	}
}

// wantOrders checks that existing holds still end at the same time, that new holds start now, and that no
// timestamp moves back.
func (w *wrongClock) wantOrders() {
	w.t.Helper()
	t, before := w.t, w.order.order(w.t)
	w.do("GET", "/v1/store/orders/1", "").want(t, 200, strings.TrimSpace(string(w.order.body)))
	w.do("POST", "/v1/store/orders", `{"petId":2}`).wantError(t, 409, shop.PetNotAvailable)
	after := w.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`).order(t)
	if after.Status != shop.Approved || after.CreatedAt != before.CreatedAt || after.UpdatedAt.Before(before.UpdatedAt) {
		t.Errorf("%+v became %+v", before, after)
	}
	placed := w.do("POST", "/v1/store/orders", `{"petId":3}`)
	placed.want(t, 201, "")
	if o := placed.order(t); o.HoldExpiresAt.Sub(o.CreatedAt) != shop.DefaultOrderHold || w.clock.now().Sub(o.CreatedAt).Abs() > time.Minute {
		t.Errorf("at %v: %+v", w.clock.now(), o)
	}
	w.do("POST", "/v1/store/orders", `{"petId":3}`).wantError(t, 409, shop.PetNotAvailable)
	for range 2 { // a rotation changes nothing visible except updatedAt
		hook := w.do("GET", "/v1/webhooks/1", "")
		w.do("POST", "/v1/webhooks/1/rotate", "").want(t, 200, "")
		if again := w.do("GET", "/v1/webhooks/1", ""); again.Header.Get("ETag") == hook.Header.Get("ETag") {
			t.Errorf("%s became %s", hook.body, again.body)
		}
	}
}

// wantFeed checks that paginated lists and the event feed continue where they were before the clock jump.
func (w *wrongClock) wantFeed() {
	w.t.Helper()
	if rest := w.do("GET", w.page.link("next"), "").pets(w.t); len(rest) != 2 || rest[0].ID != 3 {
		w.t.Errorf("the next page is %v", rest)
	}
	var before, after []json.RawMessage
	if err := errors.Join(json.Unmarshal(w.events.body, &before),
		json.Unmarshal(w.do("GET", "/v1/events?limit=100", "").body, &after)); err != nil {
		w.t.Fatal(err)
	}
	for i, event := range before {
		if len(after) <= i || !bytes.Equal(event, after[i]) {
			w.t.Fatalf("%s is not where it was", event)
		}
	}
	last := int64(0)
	for _, event := range after {
		var e struct {
			ID int64 `json:"id,string"`
		}
		if err := json.Unmarshal(event, &e); err != nil || e.ID <= last {
			w.t.Fatalf("%s after %d, %v", event, last, err)
		}
		last = e.ID
	}
}

// wantKeys checks that keys expire according to the current clock and that no lastUsedAt is in the future.
func (w *wrongClock) wantKeys() {
	w.t.Helper()
	got := w.do("GET", "/v1/keys/current", "", bearing(w.key))
	if !w.clock.now().Before(w.keyEnds) {
		got.wantError(w.t, 401, shop.InvalidAPIKey)
		return
	}
	got.want(w.t, 200, "")
	runAllJobs(w.t, w.service)
	var keys []shop.Key
	if err := json.Unmarshal(w.do("GET", "/v1/keys", "").body, &keys); err != nil {
		w.t.Fatal(err)
	}
	if len(keys) != 1 || keys[0].LastUsedAt.After(w.clock.now().Add(time.Minute)) {
		w.t.Errorf("it is %v, and %+v", w.clock.now(), keys)
	}
}

// wantDelivery checks that deliveries that were due before a clock jump are still due.
func (w *wrongClock) wantDelivery() {
	w.t.Helper()
	claims, err := w.service.ClaimDeliveries(w.t.Context(), 1, 100)
	if err != nil || len(claims) != 5 {
		w.t.Fatalf("%d messages are due, %v", len(claims), err)
	}
	w.clock.forward(-time.Hour) // the clock jumps while a worker holds the claims, and that worker is then killed
	runAllJobs(w.t, w.service)
	claims, err = w.service.ClaimDeliveries(w.t.Context(), 1, 100)
	if err != nil || len(claims) != 5 {
		w.t.Fatalf("%d messages are due anew, %v", len(claims), err)
	}
	attempt := shop.Attempt{At: w.clock.now(), Error: "the connection was refused"}
	for _, claim := range claims {
		if outcome, err := w.service.FinishAttempt(w.t.Context(), claim, attempt, 0); err != nil || outcome != shop.OutcomeRetry {
			w.t.Fatalf("%s, %v", outcome, err)
		}
	}
	w.clock.forward(-365 * 24 * time.Hour)
	runAllJobs(w.t, w.service)
	if claims, err = w.service.ClaimDeliveries(w.t.Context(), 1, 100); err != nil || len(claims) != 5 {
		w.t.Fatalf("%d messages are due after a year, %v", len(claims), err)
	}
}

// wantEnds checks that everything created before or after the clock jump expires eventually. It starts a
// new service after it moves the clock, so that the new time is accepted.
func (w *wrongClock) wantEnds() {
	w.t.Helper()
	if _, err := w.service.SessionPrincipal(w.t.Context(), w.session); err != nil && !w.passed {
		w.t.Error(err)
	}
	w.clock.forward(shop.SessionLifetime + 2*time.Minute)
	if _, err := w.service.SessionPrincipal(w.t.Context(), w.session); shop.AsError(err).Code != shop.InvalidAPIKey {
		w.t.Errorf("a session goes on: %v", err)
	}
	w.clock.forward(24*time.Hour - shop.SessionLifetime)
	later := w.open(shop.Options{EventRetention: 30 * 24 * time.Hour})
	runAllJobs(w.t, later)
	w.skipValidation = true
	if next := w.once(); next.StatusCode != 201 || next.Header.Get("Idempotency-Replayed") != "" {
		w.t.Errorf("a day later: %d %s", next.StatusCode, next.body)
	}
	w.fanOut()
	w.do("GET", "/v1/events?after=1", "").want(w.t, 200, "")
	w.clock.forward(30 * 24 * time.Hour)
	later = w.open(shop.Options{EventRetention: 30 * 24 * time.Hour})
	runAllJobs(w.t, later)
	// Only events for expired orders may be left.
	if page := w.do("GET", "/v1/events", ""); page.StatusCode != 200 || strings.Count(string(page.body), `"specversion"`) > 2 {
		w.t.Errorf("a month later there is still %s", page.body)
	}
	if list, err := later.ListDeliveries(w.t.Context(), shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 10}}); err != nil || len(list.Items) > 0 {
		w.t.Errorf("a month later there are still %d deliveries, %v", len(list.Items), err)
	}
	w.do("GET", "/v1/store/orders/2", "").want(w.t, 200, "")
	if o := w.do("GET", "/v1/store/orders/2", "").order(w.t); o.Status != shop.Expired && w.clock.now().After(o.HoldExpiresAt) {
		w.t.Errorf("at %v: %+v", w.clock.now(), o)
	}
}

// Even if a node's clock is off by days, the node does not repeat a write that another node has executed.
func TestRetryOnANodeWithAWrongClock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i, off := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		wrong := s.open(shop.Options{Now: func() time.Time { return s.clock.now().Add(off) }})
		repeat := func(on *shop.Service) error {
			ctx := shop.WithIdempotency(t.Context(), &shop.IdempotentRequest{Key: fmt.Sprint(i), Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201, Body: []byte("{}")} }})
			_, err := on.CreatePet(ctx, shop.NewPet{Name: "Rex", CategoryID: 1})
			return err
		}
		if err := repeat(wrong); err != nil {
			t.Fatal(err)
		}
		for _, node := range []*shop.Service{s.service, wrong} {
			runAllJobs(t, wrong)
			runAllJobs(t, s.service)
			if _, replayed := errors.AsType[*shop.ReplayError](repeat(node)); !replayed {
				t.Errorf("%v off: the write was executed twice", off)
			}
		}
		s.clock.forward(25 * time.Hour)
		runAllJobs(t, s.open(shop.Options{})) // a service that was started after the clock moved
		if err := repeat(s.open(shop.Options{})); err != nil {
			t.Errorf("%v off: a day later: %v", off, err)
		}
	}
}
