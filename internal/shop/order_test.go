package shop_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// If many clients on several nodes order the same animal at the same time, exactly one of them gets it.
func TestAnimalIsSoldOnlyOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		var placed atomic.Int64
		atOnce(12, func(i int) {
			_, err := nodes[i%len(nodes)].PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID})
			if err == nil {
				placed.Add(1)
			} else if shop.AsError(err).Code != shop.PetNotAvailable {
				t.Errorf("an order was refused with %v, want pet_not_available", err)
			}
		})
		equal(t, "orders of one animal", placed.Load(), 1)
	})
}

// A change of an order's status also changes the status of its animal. Only the documented transitions are possible.
func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	// allowed[old][new] is the animal's status after the order's status has changed from old to new.
	allowed := map[shop.OrderStatus]map[shop.OrderStatus]shop.Status{
		shop.Placed:    {shop.Placed: shop.Pending, shop.Approved: shop.Pending, shop.Cancelled: shop.Available},
		shop.Approved:  {shop.Approved: shop.Pending, shop.Delivered: shop.Sold, shop.Cancelled: shop.Available},
		shop.Delivered: {shop.Delivered: shop.Sold},
		shop.Cancelled: {shop.Cancelled: shop.Available},
	}
	ways := map[shop.OrderStatus][]shop.OrderStatus{
		shop.Placed: nil, shop.Approved: {shop.Approved}, shop.Cancelled: {shop.Cancelled},
		shop.Delivered: {shop.Approved, shop.Delivered},
	}
	for from, way := range ways {
		for _, to := range shop.OrderStatuses() {
			order := placeHold(t, s)
			for _, step := range way {
				must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: new(step)}, nil))(t)
			}
			before := must(s.Pet(t.Context(), order.PetID, nil))(t)
			moved, err := s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: new(to)}, nil)
			after := must(s.Pet(t.Context(), order.PetID, nil))(t)
			want, possible := allowed[from][to]
			if possible && (err != nil || moved.Status != to || after.Status != want) {
				t.Errorf("%s to %s: got %s and an animal that is %s, %v; want %s and %s", from, to, moved.Status, after.Status, err, to, want)
			}
			if !possible && (err == nil || shop.AsError(err).Code != shop.InvalidTransition || after != before) {
				t.Errorf("%s to %s: got %v, want invalid_transition", from, to, err)
			}
		}
	}
}

// If an order is placed while a reader looks up when the next hold ends, the reader must not reuse that result,
// because the new hold may end earlier.
func TestHoldThatBeginsDuringAReadIsNoticed(t *testing.T) {
	const hold = 500 * time.Millisecond // shorter than the time for which any result is reused
	inVirtualTime(t, shop.Options{OrderHold: hold}, func(t *testing.T, s *shoptest.Shop) {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		store := hook(s.Store)
		reader := must(shop.Open(t.Context(), store, shop.Options{OrderHold: hold}))(t)
		store.afterRead = func() {
			store.afterRead = func() {}
			must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID}))(t)
		}
		must(reader.Pet(t.Context(), pet.ID, nil))(t)
		s.Clock.Forward(hold)
		equal(t, "the animal after the hold", must(reader.Pet(t.Context(), pet.ID, nil))(t).Status, shop.Available)
	})
}

// Every change records exactly one event for each resource that it changes.
func TestEveryChangeRecordsItsEvents(t *testing.T) {
	inVirtualTime(t, shop.Options{OrderHold: time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		ctx, by := t.Context(), shop.Caller{Principal: must(s.Authenticate(t.Context(), s.Key(t, shop.Admin).Secret))(t)}
		last := must(s.LastEvent(ctx))(t)
		want := func(want ...string) func(any, error) {
			return func(_ any, err error) {
				t.Helper()
				check(t, err)
				events, reached, err := s.EventsAfter(ctx, by, shop.EventFilter{}, last)
				check(t, err)
				last = reached
				var got []string
				for _, e := range events {
					got = append(got, fmt.Sprint(e.Type, " ", e.Subject))
					equal(t, "the actor of "+e.Subject, e.Actor, "keys/1")
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		}
		rex := shop.NewPet{Name: "Rex", CategoryID: 7, Status: shop.Available}
		rename := shop.PetChange{Name: new("Rexa")}
		want("category.created categories/7", "pet.created pets/1")(s.CreatePet(ctx, by, rex))
		want("pet.updated pets/1")(s.UpdatePet(ctx, by, 1, rename, nil))
		want()(s.UpdatePet(ctx, by, 1, rename, nil)) // changes nothing
		want("order.placed store/orders/1", "pet.updated pets/1")(s.PlaceOrder(ctx, by, shop.NewOrder{PetID: 1}))
		want("order.updated store/orders/1")(s.UpdateOrder(ctx, by, 1, shop.OrderChange{Reference: new("desk 2")}, nil))
		want("order.cancelled store/orders/1", "pet.updated pets/1")(s.UpdateOrder(ctx, by, 1, shop.OrderChange{Status: new(shop.Cancelled)}, nil))
		want("order.placed store/orders/2", "pet.updated pets/1")(s.PlaceOrder(ctx, by, shop.NewOrder{PetID: 1}))
		want("order.approved store/orders/2")(s.UpdateOrder(ctx, by, 2, shop.OrderChange{Status: new(shop.Approved)}, nil))
		want("order.delivered store/orders/2", "pet.updated pets/1")(s.UpdateOrder(ctx, by, 2, shop.OrderChange{Status: new(shop.Delivered)}, nil))
		want("pet.deleted pets/1")(nil, s.DeletePet(ctx, by, 1, nil))
		want("pet.restored pets/1")(s.RestorePet(ctx, by, 1))
		want("pet.deleted pets/1")(nil, s.DeletePet(ctx, by, 1, nil))
		want("pet.created pets/2")(s.ImportPets(ctx, by, []shop.ImportRow{{NewPet: rex}}, shop.ImportOptions{}))
		want("category.created categories/1")(s.CreateCategory(ctx, by, "Birds"))
		want("category.updated categories/1")(s.PutCategory(ctx, by, shop.Category{ID: 1, Name: "Fish"}, shop.PutCondition{}))
		want("category.deleted categories/1")(nil, s.DeleteCategory(ctx, by, 1, nil))
		want("key.created keys/2")(s.CreateKey(ctx, by, shop.NewKey{Name: "second", Scopes: []shop.Scope{shop.Admin}}))
		want("key.rotated keys/2")(s.RotateKey(ctx, by, 2, 0))
		want("key.revoked keys/2")(nil, s.RevokeKey(ctx, by, 2))
		want("webhook.created webhooks/1")(s.CreateWebhook(ctx, by, shop.NewWebhook{URL: "https://example.com/"}))
		want("webhook.updated webhooks/1")(s.UpdateWebhook(ctx, by, 1, shop.WebhookChange{URL: new("https://example.org/")}, nil))
		want("webhook.deleted webhooks/1")(nil, s.DeleteWebhook(ctx, by, 1, nil))
	})
}

// If only known categories are allowed, an animal of an unknown category is refused, and no category is created.
func TestUnknownCategoriesAreRefused(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{KnownCategories: true}})
	dogs := must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	const unknown = 99
	pet := s.AddPet(t, "Rex", dogs.ID, "")
	_, err := s.CreatePet(t.Context(), shop.Caller{}, shop.NewPet{Name: "Mia", CategoryID: unknown})
	wantCode(t, err, shop.ValidationFailed)
	_, err = s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{CategoryID: new(int64(unknown))}, nil)
	wantCode(t, err, shop.ValidationFailed)
	must(s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{CategoryID: &dogs.ID, Name: new("Max")}, nil))(t)
	for _, dryRun := range []bool{false, true} {
		rows := []shop.ImportRow{
			{Line: 2, NewPet: shop.NewPet{Name: "Leo", CategoryID: dogs.ID}},
			{Line: 3, NewPet: shop.NewPet{Name: "Mia", CategoryID: unknown}},
			{Line: 4, NewPet: shop.NewPet{CategoryID: unknown, Status: "gone"}},
		}
		_, err = s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{DryRun: dryRun})
		wantCode(t, err, shop.ValidationFailed)
		equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because 2 rows are not valid: "+
			"line 3: categoryId must be the id of an existing category; line 4: name must have 1 to 200 characters, not 0, "+
			"status must be one of available, pending, sold, categoryId must be the id of an existing category.")
	}
	page := shop.PageRequest{Limit: 10}
	equal(t, "categories", len(must(s.ListCategories(t.Context(), page))(t).Items), 1)
	equal(t, "animals", len(must(s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: page}, nil))(t).Items), 1)
}

// The counts are always current, and each arrival and sale is counted once. An animal counts as a sale only if
// its status changes to sold, and not if it was sold before it was added.
func TestStatsAreCurrentAndCountOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for n := range int64(3) {
		days := must(s.DailyStats(t.Context()))(t)
		equal(t, "days", len(days), 30)
		arrivals, sales := int64(0), int64(0)
		for _, day := range days { // add up all days, because midnight may have passed during the test
			arrivals, sales = arrivals+day.Arrivals, sales+day.Sales
		}
		equal(t, "arrivals", arrivals, 2*n)
		equal(t, "sales", sales, n)
		// While the shop is empty, there are no counts.
		counts := []shop.CategoryCount{{CategoryID: 7, Inventory: shop.Inventory{Sold: 2 * n}}}[:min(n, 1)]
		equal(t, "the counts", fmt.Sprint(must(s.LargestCategories(t.Context()))(t)), fmt.Sprint(shop.LargestCategories{Counts: counts}))
		s.AddPet(t, "sold before it arrived", 7, shop.Sold)
		pet := s.AddPet(t, "Rex", 7, shop.Available)
		must(s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
	}
}
