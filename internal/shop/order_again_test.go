package shop_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// eventsSince lists the types of the events after a position, each with the new status of the order or animal.
func eventsSince(t *testing.T, s *shoptest.Shop, position int64) (events []string) {
	t.Helper()
	page := must(s.ListEvents(t.Context(), shop.Caller{}, shop.EventFilter{}, shop.PageRequest{Limit: 100, After: &position}))(t)
	for _, event := range page.Items {
		var data struct{ Current struct{ Status string } }
		check(t, json.Unmarshal(event.Data, &data))
		events = append(events, fmt.Sprint(event.Type, " ", data.Current.Status))
	}
	return events
}

// Placing an order again undoes a mistake in its last step: a new order with the same reference holds the animal.
func TestOrderIsPlacedAgain(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for status, want := range map[shop.OrderStatus]struct {
		old    shop.OrderStatus
		events []string
	}{
		shop.Approved: {shop.Cancelled, []string{"order.cancelled cancelled", "pet.updated available", "order.placed placed", "pet.updated pending"}},
		// The animal becomes available before it is reserved again, because a sold animal cannot become pending.
		shop.Delivered: {shop.Delivered, []string{"pet.updated available", "order.placed placed", "pet.updated pending"}},
		shop.Cancelled: {shop.Cancelled, []string{"order.placed placed", "pet.updated pending"}},
		shop.Expired:   {shop.Expired, []string{"order.placed placed", "pet.updated pending"}},
	} {
		old := orderAt(t, s, status)
		last := must(s.LastEvent(t.Context()))(t)
		again := must(s.PlaceOrderAgain(t.Context(), shop.Caller{}, old.ID, nil))(t)
		wanted := shop.Order{ID: again.ID, PetID: old.PetID, Status: shop.Placed, Reference: "desk 2",
			CreatedAt: again.CreatedAt, UpdatedAt: again.CreatedAt, HoldExpiresAt: again.CreatedAt.Add(shop.DefaultOrderHold)}
		equal(t, "the new order", again, wanted)
		equal(t, "the number of the new order", again.ID > old.ID, true)
		equal(t, "the old order", must(s.Order(t.Context(), old.ID))(t).Status, want.old)
		equal(t, "the animal", must(s.Pet(t.Context(), old.PetID, nil))(t).Status, shop.Pending)
		if events := eventsSince(t, s, last); !slices.Equal(events, want.events) {
			t.Errorf("%s: got the events %q, want %q", status, events, want.events)
		}
	}
}

// If the animal has been ordered or changed in the meantime, the order cannot be placed again, and nothing changes.
func TestOrderIsNotPlacedAgainOverALaterChange(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	petStatus := func(statuses ...shop.Status) func(shop.Order) {
		return func(o shop.Order) {
			for _, status := range statuses {
				must(s.UpdatePet(t.Context(), shop.Caller{}, o.PetID, shop.PetChange{Status: &status}, nil))(t)
			}
		}
	}
	orderAgain := func(o shop.Order) { must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: o.PetID}))(t) }
	remove := func(o shop.Order) { check(t, s.DeletePet(t.Context(), shop.Caller{}, o.PetID, nil)) }
	for name, c := range map[string]struct {
		status shop.OrderStatus
		change func(shop.Order)
		want   shop.Code
	}{
		"placed":                             {shop.Placed, nil, shop.InvalidTransition},
		"cancelled and ordered":              {shop.Cancelled, orderAgain, shop.PetNotAvailable},
		"cancelled and sold":                 {shop.Cancelled, petStatus(shop.Sold), shop.PetNotAvailable},
		"cancelled and removed":              {shop.Cancelled, remove, shop.PetNotFound},
		"expired and ordered":                {shop.Expired, orderAgain, shop.PetNotAvailable},
		"delivered and returned":             {shop.Delivered, petStatus(shop.Available), shop.PetNotAvailable},
		"delivered and sold again":           {shop.Delivered, petStatus(shop.Available, shop.Sold), shop.PetNotAvailable},
		"delivered, reserved and sold again": {shop.Delivered, petStatus(shop.Available, shop.Pending, shop.Sold), shop.PetNotAvailable},
		"delivered and removed":              {shop.Delivered, remove, shop.PetNotFound},
		"delivered and renamed": {shop.Delivered, func(o shop.Order) {
			must(s.UpdatePet(t.Context(), shop.Caller{}, o.PetID, shop.PetChange{Name: new("Max")}, nil))(t)
		}, shop.PetNotAvailable},
		"delivered and delivered to another": {shop.Delivered, func(o shop.Order) {
			petStatus(shop.Available)(o)
			other := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: o.PetID}))(t)
			for _, step := range []shop.OrderStatus{shop.Approved, shop.Delivered} {
				must(s.UpdateOrder(t.Context(), shop.Caller{}, other.ID, shop.OrderChange{Status: &step}, nil))(t)
			}
		}, shop.PetNotAvailable},
	} {
		t.Run(name, func(t *testing.T) {
			order := orderAt(t, s, c.status)
			if c.change != nil {
				c.change(order)
			}
			last := must(s.LastEvent(t.Context()))(t)
			_, err := s.PlaceOrderAgain(t.Context(), shop.Caller{}, order.ID, nil)
			wantCode(t, err, c.want)
			equal(t, "events", len(eventsSince(t, s, last)), 0)
		})
	}
	order := orderAt(t, s, shop.Approved)
	_, err := s.PlaceOrderAgain(t.Context(), shop.Caller{}, order.ID, func(now shop.Order) bool { return now.Status == shop.Delivered })
	wantCode(t, err, shop.PreconditionFailed)
	_, err = s.PlaceOrderAgain(t.Context(), shop.Caller{}, 1e9, nil)
	wantCode(t, err, shop.NotFound)
}

// An order is not placed again if its animal was returned and sold to somebody else, even if the events about the
// first sale have expired.
func TestOrderIsNotPlacedAgainAfterEventsHaveExpired(t *testing.T) {
	inVirtualTime(t, shop.Options{EventRetention: 24 * time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		first := orderAt(t, s, shop.Delivered)
		must(s.UpdatePet(t.Context(), shop.Caller{}, first.PetID, shop.PetChange{Status: new(shop.Available)}, nil))(t)
		second := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: first.PetID}))(t)
		must(s.UpdateOrder(t.Context(), shop.Caller{}, second.ID, shop.OrderChange{Status: new(shop.Approved)}, nil))(t)
		time.Sleep(20 * time.Hour)
		must(s.UpdateOrder(t.Context(), shop.Caller{}, second.ID, shop.OrderChange{Status: new(shop.Delivered)}, nil))(t)
		time.Sleep(5 * time.Hour)
		check(t, s.RemoveEvents(t.Context()))
		_, err := s.PlaceOrderAgain(t.Context(), shop.Caller{}, first.ID, nil)
		wantCode(t, err, shop.PetNotAvailable)
		must(s.PlaceOrderAgain(t.Context(), shop.Caller{}, second.ID, nil))(t)
	})
}

// If several clients place an order again while others order its animal, exactly one client succeeds.
func TestAnimalIsReservedOnceWhileAnOrderIsPlacedAgain(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		for _, status := range []shop.OrderStatus{shop.Cancelled, shop.Delivered, shop.Approved} {
			order := orderAt(t, s, status)
			var succeeded atomic.Int64
			atOnce(6, func(i int) {
				node, err := nodes[i%len(nodes)], error(nil)
				if i%2 == 0 {
					_, err = node.PlaceOrderAgain(t.Context(), shop.Caller{}, order.ID, func(now shop.Order) bool { return now.Status == status })
				} else {
					_, err = node.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: order.PetID})
				}
				switch code := codeOf(err); code {
				case "":
					succeeded.Add(1)
				case shop.PetNotAvailable, shop.PreconditionFailed:
				default:
					t.Errorf("%s: got %v", status, err)
				}
			})
			equal(t, "orders that were placed after "+string(status), succeeded.Load(), 1)
			equal(t, "the animal", must(s.Pet(t.Context(), order.PetID, nil))(t).Status, shop.Pending)
		}
	})
}
