package shop

import (
	"context"
	"slices"
	"time"
)

// WorkList contains the orders that the staff has to deal with now. Every open order is in one of the lists, except those
// that are approved and will be picked up later.
type WorkList struct {
	Overdue       Page[OrderView] // open orders that should have been picked up before today, the earliest day first
	HandOverToday Page[OrderView] // open orders that will be picked up today, oldest first
	EndingToday   Page[OrderView] // other placed orders whose hold ends today in the shop's time zone, sorted by the end of the hold
	ToApprove     Page[OrderView] // other placed orders, oldest first
	WithoutDay    Page[OrderView] // approved orders without a day of pick-up, oldest first
	Now           time.Time       // the time of the store's clock
}

// maxApprovedLooks is how many of the oldest approved orders WorkList examines to find those without a day of pick-up.
const maxApprovedLooks = 200

// WorkList returns the work list with at most limit orders of each kind.
func (s *Service) WorkList(ctx context.Context, by Caller, limit int) (WorkList, error) {
	return readCurrent(ctx, s, Reading{By: by}, func(tx ReadTx) (work WorkList, err error) {
		if work.Now, err = tx.Now(); err != nil {
			return work, err
		}
		today := s.DateOf(work.Now)
		tomorrow := beginOf(today.Add(1), s.Location())
		listed := map[int64]bool{}
		for _, list := range []struct {
			into *Page[OrderView]
			read func(limit int) ([]Order, error)
		}{
			{&work.Overdue, func(limit int) ([]Order, error) { return tx.Pickups("", today.String(), limit) }},
			{&work.HandOverToday, func(limit int) ([]Order, error) { return tx.Pickups(today.String(), today.Add(1).String(), limit) }},
			{&work.EndingToday, func(limit int) ([]Order, error) { return tx.Holds(work.Now, tomorrow, limit) }},
			{&work.ToApprove, func(limit int) ([]Order, error) {
				return tx.Orders(OrderList{Status: Placed, HoldFrom: tomorrow, OldestFirst: true, PageRequest: PageRequest{Limit: limit}})
			}},
			{&work.WithoutDay, func(int) ([]Order, error) {
				orders, err := tx.Orders(OrderList{Status: Approved, OldestFirst: true, PageRequest: PageRequest{Limit: maxApprovedLooks}})
				return slices.DeleteFunc(orders, func(o Order) bool { return o.PickupDate != "" }), err
			}},
		} {
			items, err := list.read(limit + 1 + len(listed)) // those listed already are left out
			items = slices.DeleteFunc(items, func(o Order) bool { return listed[o.ID] })
			orders, err := pageOf(limit, items[:min(len(items), limit+1)], err)
			if err != nil {
				return work, err
			}
			views, err := orderPage(tx, by, orders)
			if err != nil {
				return work, err
			}
			for _, order := range orders.Items {
				listed[order.ID] = true
			}
			*list.into = views.Page
		}
		return work, nil
	})
}

// HandOvers returns the open orders that will be picked up on a day, oldest first, and at most limit of them.
func (s *Service) HandOvers(ctx context.Context, by Caller, day Date, limit int) (OrderPage, error) {
	return readCurrent(ctx, s, Reading{By: by, Heavy: limit > maxQuickRows}, func(tx ReadTx) (OrderPage, error) {
		items, err := tx.Pickups(day.String(), day.Add(1).String(), limit+1)
		orders, err := pageOf(limit, items, err)
		if err != nil {
			return OrderPage{}, err
		}
		return orderPage(tx, by, orders)
	})
}

// maxPhotoLooks is how many of the newest available animals WithoutPhoto examines.
const maxPhotoLooks = 500

// WithoutPhoto returns at most limit available animals that have no photo, newest first. It does not find an animal if many
// newer ones are available.
func (s *Service) WithoutPhoto(ctx context.Context, limit int) (Page[Pet], error) {
	return readCurrent(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Page[Pet], error) {
		pets, err := tx.PetsWithoutPhoto(maxPhotoLooks, limit+1)
		return pageOf(limit, pets, err)
	})
}
