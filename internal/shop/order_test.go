package shop_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Of many clients on two nodes that order the same animal at the same time, exactly one gets it.
func TestAnimalIsSoldOnlyOnce(t *testing.T) {
	t.Parallel()
	for engine, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			other, err := s.Node(t.Context(), shop.Options{})
			if err != nil {
				t.Fatal(err)
			}
			pet := s.AddPet(t, "Rex", 1, shop.Available)
			var placed atomic.Int64
			var clients sync.WaitGroup
			for i := range 12 {
				clients.Go(func() {
					_, err := []*shop.Service{s.Service, other}[i%2].PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID})
					switch {
					case err == nil:
						placed.Add(1)
					case shop.AsError(err).Code != shop.PetNotAvailable:
						t.Errorf("an order was refused with %v, want pet_not_available", err)
					}
				})
			}
			clients.Wait()
			if n := placed.Load(); n != 1 {
				t.Errorf("%d orders were placed for one animal, want 1", n)
			}
		})
	}
}

// An order moves its animal with it, and only the documented transitions are possible.
func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	allowed := map[shop.OrderStatus]map[shop.OrderStatus]shop.Status{ // from, to, and the animal's status afterwards
		shop.Placed:    {shop.Placed: shop.Pending, shop.Approved: shop.Pending, shop.Cancelled: shop.Available},
		shop.Approved:  {shop.Approved: shop.Pending, shop.Delivered: shop.Sold, shop.Cancelled: shop.Available},
		shop.Delivered: {shop.Delivered: shop.Sold},
		shop.Cancelled: {shop.Cancelled: shop.Available},
	}
	ways := map[shop.OrderStatus][]shop.OrderStatus{
		shop.Placed: nil, shop.Approved: {shop.Approved}, shop.Delivered: {shop.Approved, shop.Delivered}, shop.Cancelled: {shop.Cancelled},
	}
	for from, way := range ways {
		for _, to := range shop.OrderStatuses() {
			pet := s.AddPet(t, "Rex", 1, shop.Available)
			order, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID})
			for _, step := range way {
				if err == nil {
					order, err = s.UpdateOrder(t.Context(), order.ID, step, nil)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			before, _ := s.Pet(t.Context(), pet.ID)
			moved, err := s.UpdateOrder(t.Context(), order.ID, to, nil)
			after, _ := s.Pet(t.Context(), pet.ID)
			want, possible := allowed[from][to]
			if possible && (err != nil || moved.Status != to || after.Status != want) {
				t.Errorf("%s to %s: got %s and an animal that is %s, %v; want %s and %s", from, to, moved.Status, after.Status, err, to, want)
			}
			if !possible && (err == nil || shop.AsError(err).Code != shop.InvalidTransition || after != before) {
				t.Errorf("%s to %s: got %v, want invalid_transition", from, to, err)
			}
		}
	}
	if _, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: 999}); shop.AsError(err).Code != shop.PetNotFound {
		t.Errorf("an order for no animal: got %v, want pet_not_found", err)
	}
}

// A hold that has ended is never visible, even if no background job has expired it yet.
func TestOverdueHoldIsNeverVisible(t *testing.T) {
	t.Parallel()
	for what, look := range map[string]func(ctx context.Context, s *shop.Service) (string, error){
		"animal": func(ctx context.Context, s *shop.Service) (string, error) {
			pet, err := s.Pet(ctx, 1)
			return string(pet.Status), err
		},
		"animals": func(ctx context.Context, s *shop.Service) (string, error) {
			page, err := s.ListPets(ctx, shop.PetList{PetFilter: shop.PetFilter{Status: shop.Available}, PageRequest: shop.PageRequest{Limit: 1}})
			return fmt.Sprint(len(page.Items)), err
		},
		"order": func(ctx context.Context, s *shop.Service) (string, error) {
			order, err := s.Order(ctx, 1)
			return string(order.Status), err
		},
		"inventory": func(ctx context.Context, s *shop.Service) (string, error) {
			inventory, err := s.Inventory(ctx)
			return fmt.Sprint(inventory.Available), err
		},
		"another order": func(ctx context.Context, s *shop.Service) (string, error) {
			order, err := s.PlaceOrder(ctx, shop.NewOrder{PetID: 1})
			return string(order.Status), err
		},
		"approval": func(ctx context.Context, s *shop.Service) (string, error) {
			_, err := s.UpdateOrder(ctx, 1, shop.Approved, nil)
			return string(shop.AsError(err).Code), nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			inVirtualTime(t, shop.Options{OrderHold: time.Hour}, func(t *testing.T, s *shoptest.Shop) {
				pet := s.AddPet(t, "Rex", 1, shop.Available)
				if _, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID}); err != nil {
					t.Fatal(err)
				}
				s.Clock.Forward(time.Hour)
				want := map[string]string{"animal": "available", "animals": "1", "order": "expired", "inventory": "1",
					"another order": "placed", "approval": string(shop.InvalidTransition)}[what]
				if got, err := look(t.Context(), s.Service); err != nil || got != want {
					t.Errorf("got %s, %v; want %s", got, err, want)
				}
			})
		})
	}
}

// afterRead is a store that calls a function once, when its next read has ended.
type afterRead struct {
	shop.Store
	then func()
}

func (s *afterRead) Read(ctx context.Context, fn func(shop.ReadTx) error) error {
	err := s.Store.Read(ctx, fn)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return err
}

// An order may be placed while a reader looks up when the next hold ends. The reader must not keep the result
// for a catalogue that has this order.
func TestHoldThatBeginsDuringAReadIsNoticed(t *testing.T) {
	const hold = 500 * time.Millisecond // shorter than any result is kept
	inVirtualTime(t, shop.Options{OrderHold: hold}, func(t *testing.T, s *shoptest.Shop) {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		store := &afterRead{Store: s.Store}
		reader, err := shop.Open(t.Context(), store, shop.Options{OrderHold: hold})
		if err != nil {
			t.Fatal(err)
		}
		store.then = func() {
			if _, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID}); err != nil {
				t.Error(err)
			}
		}
		if _, err := reader.Pet(t.Context(), pet.ID); err != nil {
			t.Fatal(err)
		}
		s.Clock.Forward(hold)
		if got, err := reader.Pet(t.Context(), pet.ID); err != nil || got.Status != shop.Available {
			t.Errorf("after the hold, the animal is %s, %v; want available", got.Status, err)
		}
	})
}

// Every change records exactly one event for each resource that it changes.
func TestEveryChangeRecordsItsEvents(t *testing.T) {
	inVirtualTime(t, shop.Options{OrderHold: time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		key := s.Key(t, shop.Admin)
		principal, err := s.Authenticate(t.Context(), key.Secret)
		if err != nil {
			t.Fatal(err)
		}
		ctx, name, admin := shop.WithPrincipal(t.Context(), principal), "Rexa", shop.NewKey{Name: "second", Scopes: []shop.Scope{shop.Admin}}
		last, err := s.LastEvent(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			change func() error
			want   []string
		}{
			{func() error {
				_, err := s.CreatePet(ctx, shop.NewPet{Name: "Rex", CategoryID: 7, Status: shop.Available})
				return err
			},
				[]string{"category.created categories/7", "pet.created pets/1"}},
			{func() error { _, err := s.UpdatePet(ctx, 1, shop.PetChange{Name: &name}, nil); return err }, []string{"pet.updated pets/1"}},
			{func() error { _, err := s.UpdatePet(ctx, 1, shop.PetChange{Name: &name}, nil); return err }, nil}, // changes nothing
			{func() error { _, err := s.PlaceOrder(ctx, shop.NewOrder{PetID: 1}); return err }, []string{"order.placed store/orders/1", "pet.updated pets/1"}},
			{func() error { _, err := s.UpdateOrder(ctx, 1, shop.Cancelled, nil); return err }, []string{"order.cancelled store/orders/1", "pet.updated pets/1"}},
			{func() error { _, err := s.PlaceOrder(ctx, shop.NewOrder{PetID: 1}); return err }, []string{"order.placed store/orders/2", "pet.updated pets/1"}},
			{func() error { _, err := s.UpdateOrder(ctx, 2, shop.Approved, nil); return err }, []string{"order.approved store/orders/2"}},
			{func() error { _, err := s.UpdateOrder(ctx, 2, shop.Delivered, nil); return err }, []string{"order.delivered store/orders/2", "pet.updated pets/1"}},
			{func() error { return s.DeletePet(ctx, 1, nil) }, []string{"pet.deleted pets/1"}},
			{func() error {
				_, err := s.ImportPets(ctx, []shop.ImportRow{{NewPet: shop.NewPet{Name: "Mia", CategoryID: 7}}}, false)
				return err
			},
				[]string{"pet.created pets/2"}},
			{func() error { _, err := s.CreateCategory(ctx, "Birds"); return err }, []string{"category.created categories/1"}},
			{func() error { _, err := s.PutCategory(ctx, shop.Category{ID: 1, Name: "Fish"}, nil); return err }, []string{"category.updated categories/1"}},
			{func() error { return s.DeleteCategory(ctx, 1, nil) }, []string{"category.deleted categories/1"}},
			{func() error { _, err := s.CreateKey(ctx, admin); return err }, []string{"key.created keys/2"}},
			{func() error { _, err := s.RotateKey(ctx, 2, 0); return err }, []string{"key.rotated keys/2"}},
			{func() error { return s.RevokeKey(ctx, 2) }, []string{"key.revoked keys/2"}},
			{func() error { _, err := s.CreateWebhook(ctx, shop.NewWebhook{URL: "https://example.com/"}); return err }, []string{"webhook.created webhooks/1"}},
			{func() error {
				_, err := s.UpdateWebhook(ctx, 1, shop.WebhookChange{URL: new("https://example.org/")}, nil)
				return err
			},
				[]string{"webhook.updated webhooks/1"}},
			{func() error { return s.DeleteWebhook(ctx, 1, nil) }, []string{"webhook.deleted webhooks/1"}},
		} {
			if err := step.change(); err != nil {
				t.Fatalf("%v: %v", step.want, err)
			}
			events, reached, err := s.EventsAfter(ctx, shop.EventFilter{}, last)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				got = append(got, fmt.Sprint(e.Type, " ", e.Subject))
				if e.Actor != "keys/1" {
					t.Errorf("%s has the actor %s, want keys/1", got[len(got)-1], e.Actor)
				}
			}
			slices.Sort(got)
			slices.Sort(step.want)
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			last = reached
		}
	})
}
