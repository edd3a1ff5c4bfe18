package shop

import (
	"context"
	"time"
)

// WorkList contains the orders that the staff has to deal with now. Every placed order is either in EndingToday or in
// ToApprove.
type WorkList struct {
	EndingToday Page[OrderView] // placed orders whose hold ends today in the shop's time zone, sorted by the end of the hold
	ToApprove   Page[OrderView] // placed orders whose hold ends later, oldest first
	ToHandOver  Page[OrderView] // approved orders, oldest first
	Now         time.Time       // the time of the store's clock
}

// WorkList returns the work list with at most limit orders of each kind.
func (s *Service) WorkList(ctx context.Context, limit int) (WorkList, error) {
	return readCurrent(ctx, s, Reading{}, func(tx ReadTx) (work WorkList, err error) {
		if work.Now, err = tx.Now(); err != nil {
			return work, err
		}
		tomorrow := s.beginOf(s.DateOf(work.Now).Add(1))
		oldest := func(list OrderList) func() ([]Order, error) {
			list.OldestFirst, list.Limit = true, limit+1
			return func() ([]Order, error) { return tx.Orders(list) }
		}
		for _, list := range []struct {
			into *Page[OrderView]
			read func() ([]Order, error)
		}{
			{&work.EndingToday, func() ([]Order, error) { return tx.Holds(work.Now, tomorrow, limit+1) }},
			{&work.ToApprove, oldest(OrderList{Status: Placed, HoldFrom: tomorrow})},
			{&work.ToHandOver, oldest(OrderList{Status: Approved})},
		} {
			items, err := list.read()
			orders, err := pageOf(limit, items, err)
			if err != nil {
				return work, err
			}
			views, err := orderPage(tx, orders)
			if err != nil {
				return work, err
			}
			*list.into = views.Page
		}
		return work, nil
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
