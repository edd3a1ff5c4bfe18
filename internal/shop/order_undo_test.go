package shop_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// setStatus changes the status of an order.
func setStatus(t *testing.T, s *shoptest.Shop, id int64, to shop.OrderStatus) shop.Order {
	t.Helper()
	return must(s.UpdateOrder(t.Context(), shop.Caller{}, id, shop.OrderChange{Status: &to}, nil))(t)
}

// setPetStatus changes the status of an animal several times.
func setPetStatus(t *testing.T, s *shoptest.Shop, id int64, statuses ...shop.Status) {
	t.Helper()
	for _, status := range statuses {
		must(s.UpdatePet(t.Context(), shop.Caller{}, id, shop.PetChange{Status: &status}, nil))(t)
	}
}

// An undo gives an order, under the same number, and its animal the status that they had before.
func TestOrderIsUndone(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for name, c := range map[string]struct {
		steps  []shop.OrderStatus
		want   shop.OrderStatus
		events []string
	}{
		"approved":                {[]shop.OrderStatus{shop.Approved}, shop.Placed, []string{"order.updated placed"}},
		"delivered":               {[]shop.OrderStatus{shop.Approved, shop.Delivered}, shop.Approved, []string{"order.updated approved", "pet.updated pending"}},
		"cancelled when placed":   {[]shop.OrderStatus{shop.Cancelled}, shop.Placed, []string{"order.updated placed", "pet.updated pending"}},
		"cancelled when approved": {[]shop.OrderStatus{shop.Approved, shop.Cancelled}, shop.Approved, []string{"order.updated approved", "pet.updated pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			placed := orderAt(t, s, shop.Placed)
			order := placed
			for _, step := range c.steps {
				order = setStatus(t, s, placed.ID, step)
			}
			// Neither a new name of the animal nor a new reference of the order matters.
			must(s.UpdatePet(t.Context(), shop.Caller{}, placed.PetID, shop.PetChange{Name: new("Max"), CategoryID: new(int64(2))}, nil))(t)
			last := must(s.LastEvent(t.Context()))(t)
			undone := must(s.UndoOrder(t.Context(), shop.Caller{}, placed.ID, func(now shop.Order) bool { return now.Status == order.Status }))(t)
			want := placed
			want.Status, want.UpdatedAt, want.LastChange = c.want, undone.UpdatedAt, undone.LastChange
			if c.want != shop.Placed {
				want.HoldExpiresAt = time.Time{}
			}
			equal(t, "the order", undone, want)
			equal(t, "the stored order", must(s.Order(t.Context(), placed.ID))(t), want)
			equal(t, "the animal", must(s.Pet(t.Context(), placed.PetID, nil))(t).Status, shop.Pending)
			if events := eventsSince(t, s, last); !slices.Equal(events, c.events) {
				t.Errorf("got the events %q, want %q", events, c.events)
			}
			// The order goes on, and its next step can be undone, too.
			next := map[shop.OrderStatus]shop.OrderStatus{shop.Placed: shop.Approved, shop.Approved: shop.Delivered}[c.want]
			setStatus(t, s, placed.ID, next)
			equal(t, "the second undo", must(s.UndoOrder(t.Context(), shop.Caller{}, placed.ID, nil))(t).Status, c.want)
		})
	}
}

// A hold that comes back ends when it would have ended, or an hour from now if that is later.
func TestUndoBringsTheHoldBack(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, step := range []shop.OrderStatus{shop.Approved, shop.Cancelled} {
		for _, c := range []struct{ hold, later, want time.Duration }{
			{3 * time.Hour, time.Hour, 3 * time.Hour},
			{3 * time.Hour, 2*time.Hour + time.Second, 3*time.Hour + time.Second},
			{3 * time.Hour, 20 * time.Hour, 21 * time.Hour},
		} {
			order := orderAt(t, s, shop.Placed)
			start := s.Clock.Now()
			must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{HoldExpiresAt: new(start.Add(c.hold))}, nil))(t)
			setStatus(t, s, order.ID, step)
			s.Clock.Forward(c.later)
			undone := must(s.UndoOrder(t.Context(), shop.Caller{}, order.ID, nil))(t)
			if got, want := undone.HoldExpiresAt, start.Add(c.want); got.Before(want.Add(-time.Second)) || got.After(want.Add(time.Minute)) {
				t.Errorf("%s, undone after %v of %v: the hold ends at %v, want %v", step, c.later, c.hold, got, want)
			}
			s.Clock.Forward(undone.HoldExpiresAt.Sub(s.Clock.Now()))
			equal(t, "after the end of the hold", must(s.Order(t.Context(), order.ID))(t).Status, shop.Expired)
		}
	}
}

// An undo that is refused changes nothing and says why.
func TestUndoIsRefused(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	statuses := func(statuses ...shop.Status) func(*testing.T, shop.Order) {
		return func(t *testing.T, o shop.Order) { setPetStatus(t, s, o.PetID, statuses...) }
	}
	remove := func(t *testing.T, o shop.Order) { check(t, s.DeletePet(t.Context(), shop.Caller{}, o.PetID, nil)) }
	restore := func(t *testing.T, o shop.Order) { must(s.RestorePet(t.Context(), shop.Caller{}, o.PetID))(t) }
	order := func(t *testing.T, o shop.Order) {
		must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: o.PetID}))(t)
	}
	undo := func(t *testing.T, o shop.Order) { must(s.UndoOrder(t.Context(), shop.Caller{}, o.ID, nil))(t) }
	for name, c := range map[string]struct {
		status shop.OrderStatus
		change func(*testing.T, shop.Order)
		reason string // "" if the undo is possible
	}{
		"no change yet": {shop.Placed, nil, "has not changed since it was placed"},
		"a change of the reference": {shop.Placed, func(t *testing.T, o shop.Order) {
			must(s.UpdateOrder(t.Context(), shop.Caller{}, o.ID, shop.OrderChange{Reference: new("x")}, nil))(t)
		}, "has not changed since it was placed"},
		"24 hours ago":           {shop.Delivered, func(*testing.T, shop.Order) { s.Clock.Forward(24*time.Hour - time.Minute) }, ""},
		"more than 24 hours ago": {shop.Delivered, func(*testing.T, shop.Order) { s.Clock.Forward(24*time.Hour + time.Second) }, "more than 24 hours ago"},
		"expired":                {shop.Expired, nil, "has expired"},
		"about to expire":        {shop.Approved, func(t *testing.T, o shop.Order) { undo(t, o); s.Clock.Forward(shop.DefaultOrderHold) }, "has expired"},
		"an undo":                {shop.Delivered, undo, "was an undo"},
		"an undo to placed":      {shop.Cancelled, undo, "was an undo"},
		"made by version 1.1":    {shop.Cancelled, func(t *testing.T, o shop.Order) { forgetLastChange(t, s, o) }, "version 1.1"},
		"ordered again":          {shop.Cancelled, order, "has changed since"},
		"ordered again, and that expired": {shop.Cancelled, func(t *testing.T, o shop.Order) {
			short := shop.OrderChange{HoldExpiresAt: new(s.Clock.Now().Add(time.Hour))}
			other := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: o.PetID}))(t)
			must(s.UpdateOrder(t.Context(), shop.Caller{}, other.ID, short, nil))(t)
			s.Clock.Forward(time.Hour)
		}, "has changed since"},
		"sold by hand":                {shop.Cancelled, statuses(shop.Sold), "has changed since"},
		"sold by hand and taken back": {shop.Cancelled, statuses(shop.Sold, shop.Available), "has changed since"},
		"returned":                    {shop.Delivered, statuses(shop.Available), "has changed since"},
		"returned and sold again":     {shop.Delivered, statuses(shop.Available, shop.Sold), "has changed since"},
		"removed":                     {shop.Delivered, remove, "was removed; restore it first"},
		"removed and restored":        {shop.Delivered, func(t *testing.T, o shop.Order) { remove(t, o); restore(t, o) }, ""},
		"returned, sold again, removed and restored": {shop.Delivered, func(t *testing.T, o shop.Order) {
			setPetStatus(t, s, o.PetID, shop.Available, shop.Sold)
			remove(t, o)
			restore(t, o)
		}, "has changed since"},
		"removed, restored, returned and sold again": {shop.Delivered, func(t *testing.T, o shop.Order) {
			remove(t, o)
			restore(t, o)
			setPetStatus(t, s, o.PetID, shop.Available, shop.Sold)
		}, "has changed since"},
		"imported with another status and back": {shop.Delivered, func(t *testing.T, o shop.Order) {
			for _, status := range []shop.Status{shop.Available, shop.Sold} {
				pet := must(s.Pet(t.Context(), o.PetID, nil))(t)
				row := shop.ImportRow{Line: 1, ID: &o.PetID, ETag: pet.ETag(), NewPet: shop.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: status}}
				must(s.ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{row}, shop.ImportOptions{Upsert: true}))(t)
			}
		}, "has changed since"},
	} {
		t.Run(name, func(t *testing.T) {
			order := orderAt(t, s, c.status)
			if c.change != nil {
				c.change(t, order)
			}
			// Expire what is due now, so that its events come before.
			before := must(s.Order(t.Context(), order.ID))(t)
			last := must(s.LastEvent(t.Context()))(t)
			_, err := s.UndoOrder(t.Context(), shop.Caller{}, order.ID, nil)
			if c.reason == "" {
				check(t, err)
				return
			}
			wantCode(t, err, shop.UndoNotPossible)
			if message := shop.AsError(err).Message; !strings.Contains(message, c.reason) {
				t.Errorf("the message is %q, want a reason like %q", message, c.reason)
			}
			equal(t, "events", len(eventsSince(t, s, last)), 0)
			equal(t, "the order", must(s.Order(t.Context(), order.ID))(t), before)
		})
	}
	approved := orderAt(t, s, shop.Approved)
	_, err := s.UndoOrder(t.Context(), shop.Caller{}, approved.ID, func(now shop.Order) bool { return now.Status == shop.Delivered })
	wantCode(t, err, shop.PreconditionFailed)
	_, err = s.UndoOrder(t.Context(), shop.Caller{}, 1e9, nil)
	wantCode(t, err, shop.NotFound)
}

// forgetLastChange makes an order look like one whose status was last changed by version 1.1.
func forgetLastChange(t *testing.T, s *shoptest.Shop, order shop.Order) {
	t.Helper()
	after := order
	after.LastChange = shop.StatusChange{}
	check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error { return tx.UpdateOrder(order, after) }))
}

// A hand-over that was undone is no sale of its day any more, even on another day.
func TestUndoneHandOverIsNoSale(t *testing.T) {
	t.Parallel()
	for engine, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			sales := func() (sum int64) {
				for _, day := range must(s.DailyStats(t.Context()))(t) {
					if sum += day.Sales; day.Sales < 0 {
						t.Errorf("there were %d sales on %v", day.Sales, day.Day)
					}
				}
				return sum
			}
			one, other := orderAt(t, s, shop.Delivered), orderAt(t, s, shop.Delivered)
			equal(t, "sales", sales(), 2)
			s.Clock.Forward(23 * time.Hour)
			must(s.UndoOrder(t.Context(), shop.Caller{}, one.ID, nil))(t)
			equal(t, "sales after an undo", sales(), 1)
			setStatus(t, s, one.ID, shop.Delivered)
			equal(t, "sales after the second hand-over", sales(), 2)
			// An animal that comes back by hand was sold nevertheless.
			setPetStatus(t, s, other.PetID, shop.Available)
			equal(t, "sales after a return", sales(), 2)
		})
	}
}

// If several clients undo a step while others order the animal, exactly one of them succeeds.
func TestOneUndoOrOrderWins(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		for _, status := range []shop.OrderStatus{shop.Cancelled, shop.Delivered, shop.Approved} {
			for range 3 {
				order := orderAt(t, s, status)
				var succeeded, undone atomic.Int64
				atOnce(6, func(i int) {
					node, err := nodes[i%len(nodes)], error(nil)
					if i%2 == 0 {
						if _, err = node.UndoOrder(t.Context(), shop.Caller{}, order.ID, nil); err == nil {
							undone.Add(1)
						}
					} else {
						_, err = node.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: order.PetID})
					}
					switch code := codeOf(err); code {
					case "":
						succeeded.Add(1)
					case shop.PetNotAvailable, shop.UndoNotPossible:
					default:
						t.Errorf("%s: got %v", status, err)
					}
				})
				equal(t, "undos and orders that succeeded after "+string(status), succeeded.Load(), 1)
				equal(t, "the animal", must(s.Pet(t.Context(), order.PetID, nil))(t).Status, shop.Pending)
				now := must(s.Order(t.Context(), order.ID))(t)
				equal(t, "whether the order is open again", now.IsOpen(), undone.Load() == 1)
			}
		}
	})
}

// Every write that changes the status of an animal counts the change, and no other write does.
func TestEveryChangeOfStatusIsCounted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, _ []*shop.Service) {
		order := orderAt(t, s, shop.Placed)
		id := order.PetID
		want := func(want int64, after string) {
			t.Helper()
			check(t, s.Store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) error {
				got, err := tx.StatusChanges(id)
				equal(t, "changes after "+after, got, want)
				return err
			}))
		}
		want(1, "an order")
		setStatus(t, s, order.ID, shop.Approved)
		want(1, "an approval")
		setStatus(t, s, order.ID, shop.Delivered)
		want(2, "a hand-over")
		must(s.UndoOrder(t.Context(), shop.Caller{}, order.ID, nil))(t)
		want(3, "an undo")
		setStatus(t, s, order.ID, shop.Cancelled)
		want(4, "a cancellation")
		pet := must(s.UpdatePet(t.Context(), shop.Caller{}, id, shop.PetChange{Name: new("Max"), Status: new(shop.Available)}, nil))(t)
		want(4, "a new name")
		setPetStatus(t, s, id, shop.Sold, shop.Available)
		want(6, "two changes by hand")
		row := shop.ImportRow{Line: 1, ID: &id, ETag: pet.ETag(), NewPet: shop.NewPet{Name: "Rex", CategoryID: 3, Status: shop.Sold}}
		must(s.ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{row}, shop.ImportOptions{Upsert: true}))(t)
		want(7, "an import")
		setPetStatus(t, s, id, shop.Available)
		must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: id}))(t)
		s.Clock.Forward(shop.DefaultOrderHold)
		check(t, s.ExpireHolds(t.Context()))
		want(10, "a hold that has expired")
		check(t, s.DeletePet(t.Context(), shop.Caller{}, id, nil))
		must(s.RestorePet(t.Context(), shop.Caller{}, id))(t)
		want(0, "a restore")
	})
}
