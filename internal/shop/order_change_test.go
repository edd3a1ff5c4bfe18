package shop_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// orderCustomer is the customer of the orders that orderAt returns.
var orderCustomer = shop.Customer{Name: "Ann", Phone: "555 0100", Email: "ann@example.com"}

// orderAt places an order for a new animal, with the reference "desk 2", and brings the order to the given status.
func orderAt(t *testing.T, s *shoptest.Shop, status shop.OrderStatus) shop.Order {
	t.Helper()
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	order := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID, Reference: "desk 2", Price: &shop.Price{Amount: "5", Currency: "EUR"}, Customer: orderCustomer}))(t)
	steps := map[shop.OrderStatus][]shop.OrderStatus{
		shop.Approved: {shop.Approved}, shop.Delivered: {shop.Approved, shop.Delivered}, shop.Cancelled: {shop.Cancelled},
	}
	for _, step := range steps[status] {
		order = must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: &step}, nil))(t)
	}
	if status == shop.Expired {
		s.Clock.Forward(shop.DefaultOrderHold)
		order = must(s.Order(t.Context(), order.ID))(t)
	}
	equal(t, "the status", order.Status, status)
	return order
}

// The reference of an open order and the end of a hold can be changed. The event is order.updated, unless the status
// changes as well. An update that changes nothing is always accepted and records no event.
func TestOpenOrderCanBeChanged(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	in := func(d time.Duration) *time.Time { return new(s.Clock.Now().Add(d)) }
	const day = 24 * time.Hour
	yearAhead := s.Clock.Now().AddDate(1, 0, 0).Sub(s.Clock.Now())
	type outcome struct {
		code  shop.Code
		event shop.EventType
	}
	updated, closed, invalid := outcome{"", shop.OrderUpdated}, outcome{shop.InvalidTransition, ""}, outcome{shop.ValidationFailed, ""}
	for name, c := range map[string]struct {
		change                      func() shop.OrderChange
		otherwise, placed, approved outcome
	}{
		"nothing":            {change: func() shop.OrderChange { return shop.OrderChange{} }},
		"the same reference": {change: func() shop.OrderChange { return shop.OrderChange{Reference: new("desk 2")} }},
		"another reference": {change: func() shop.OrderChange { return shop.OrderChange{Reference: new("desk 3")} },
			otherwise: closed, placed: updated, approved: updated},
		"no reference": {change: func() shop.OrderChange { return shop.OrderChange{Reference: new("")} },
			otherwise: closed, placed: updated, approved: updated},
		"an invalid reference": {change: func() shop.OrderChange { return shop.OrderChange{Reference: new(" ")} }, otherwise: invalid,
			placed: invalid, approved: invalid},
		"another day of pick-up": {change: func() shop.OrderChange { return shop.OrderChange{PickupDate: new("2020-02-29")} },
			otherwise: closed, placed: updated, approved: updated},
		"a day that does not exist": {change: func() shop.OrderChange { return shop.OrderChange{PickupDate: new("2026-02-29")} }, otherwise: invalid,
			placed: invalid, approved: invalid},
		"another price": {change: func() shop.OrderChange { return shop.OrderChange{Price: &shop.Price{Amount: "9", Currency: "EUR"}} },
			otherwise: closed, placed: updated, approved: updated},
		"no price": {change: func() shop.OrderChange { return shop.OrderChange{Price: &shop.Price{}} },
			otherwise: closed, placed: updated, approved: updated},
		"an invalid price": {change: func() shop.OrderChange { return shop.OrderChange{Price: &shop.Price{Amount: "9"}} }, otherwise: invalid,
			placed: invalid, approved: invalid},
		"another reference and status": {change: func() shop.OrderChange {
			return shop.OrderChange{Status: new(shop.Cancelled), Reference: new("desk 3")}
		}, otherwise: closed, placed: outcome{"", shop.OrderCancelled}, approved: outcome{"", shop.OrderCancelled}},
		"a longer hold": {change: func() shop.OrderChange { return shop.OrderChange{HoldExpiresAt: in(yearAhead - time.Minute)} },
			otherwise: closed, placed: updated, approved: closed},
		"a shorter hold": {change: func() shop.OrderChange { return shop.OrderChange{HoldExpiresAt: in(time.Minute)} },
			otherwise: closed, placed: updated, approved: closed},
		"a hold that is over": {change: func() shop.OrderChange { return shop.OrderChange{HoldExpiresAt: in(0)} },
			otherwise: invalid, placed: invalid, approved: invalid},
		"a hold of more than a year": {change: func() shop.OrderChange { return shop.OrderChange{HoldExpiresAt: in(yearAhead + day)} },
			otherwise: invalid, placed: invalid, approved: invalid},
		"a hold and a status": {change: func() shop.OrderChange {
			return shop.OrderChange{HoldExpiresAt: in(time.Hour), Status: new(shop.Placed)}
		}, otherwise: invalid, placed: invalid, approved: invalid},
	} {
		for _, status := range shop.OrderStatuses() {
			want := c.otherwise
			switch status {
			case shop.Placed:
				want = c.placed
			case shop.Approved:
				want = c.approved
			}
			what := fmt.Sprint(name, " for an order that is ", status)
			before := orderAt(t, s, status)
			last := must(s.LastEvent(t.Context()))(t)
			change := c.change()
			got, err := s.UpdateOrder(t.Context(), shop.Caller{}, before.ID, change, nil)
			if code := codeOf(err); code != want.code {
				t.Errorf("%s: got %v, want %q", what, err, want.code)
			}
			wantOrder := before
			if want.event != "" {
				if change.Status != nil {
					wantOrder.Status, wantOrder.HoldExpiresAt = *change.Status, time.Time{}
				}
				if change.Reference != nil {
					wantOrder.Reference = *change.Reference
				}
				if change.PickupDate != nil {
					wantOrder.PickupDate = *change.PickupDate
				}
				if change.Price != nil {
					wantOrder.Price = *change.Price
				}
				if change.HoldExpiresAt != nil {
					wantOrder.HoldExpiresAt = change.HoldExpiresAt.UTC().Truncate(time.Microsecond)
				}
				if !got.UpdatedAt.After(before.UpdatedAt) {
					t.Errorf("%s: it was updated at %v", what, got.UpdatedAt)
				}
				wantOrder.UpdatedAt, wantOrder.LastChange = got.UpdatedAt, got.LastChange
			}
			if err == nil {
				equal(t, what+", as returned", got, wantOrder)
			}
			equal(t, what+", as stored", must(s.Order(t.Context(), before.ID))(t), wantOrder)
			events, _, err := s.EventsAfter(t.Context(), shop.Caller{}, shop.EventFilter{Subjects: []string{fmt.Sprint("store/orders/", before.ID)}}, last)
			check(t, err)
			var types []shop.EventType
			for _, e := range events {
				types = append(types, e.Type)
			}
			if wanted := []shop.EventType{want.event}; want.event == "" && len(types) > 0 || want.event != "" && !slices.Equal(types, wanted) {
				t.Errorf("%s: got the events %v, want %q", what, types, want.event)
			}
		}
	}
}

// codeOf returns the code of an error, or "" if there is no error.
func codeOf(err error) shop.Code {
	if err == nil {
		return ""
	}
	return shop.AsError(err).Code
}

// A hold ends at its new time, whether that is earlier or later than the old time, even if the service has already
// read the old time.
func TestHoldEndsAtItsNewTime(t *testing.T) {
	inVirtualTime(t, shop.Options{OrderHold: time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		wantStatus := func(order shop.Order, want shop.OrderStatus) {
			t.Helper()
			equal(t, "the order", must(s.Order(t.Context(), order.ID))(t).Status, want)
		}
		longer, shorter := placeHold(t, s), placeHold(t, s)
		move := func(order shop.Order, by time.Duration) {
			must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{HoldExpiresAt: new(order.HoldExpiresAt.Add(by))}, nil))(t)
		}
		move(longer, time.Hour)
		wantStatus(shorter, shop.Placed) // the service now knows when the next hold ends
		move(shorter, -time.Hour+500*time.Millisecond)
		s.Clock.Forward(500 * time.Millisecond)
		wantStatus(shorter, shop.Expired)
		s.Clock.Forward(2*time.Hour - time.Second)
		wantStatus(longer, shop.Placed)
		s.Clock.Forward(time.Second)
		_, err := s.UpdateOrder(t.Context(), shop.Caller{}, longer.ID, shop.OrderChange{HoldExpiresAt: new(s.Clock.Now().Add(time.Hour))}, nil)
		wantCode(t, err, shop.InvalidTransition)
		wantStatus(longer, shop.Expired)
	})
}

// Whether the end of a hold is in the future is decided by the store's clock, because the clocks of nodes differ.
func TestHoldIsComparedWithTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	order := placeHold(t, s)
	slow := must(s.Node(t.Context(), shop.Options{Now: func() time.Time { return s.Clock.Now().Add(-24 * time.Hour) }}))(t)
	_, err := slow.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{HoldExpiresAt: new(s.Clock.Now().Add(-time.Hour))}, nil)
	wantCode(t, err, shop.ValidationFailed)
}
