package shop_test

import (
	"fmt"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// orderIDs returns the ids of orders as a text.
func orderIDs(orders []shop.OrderView) string {
	ids := []int64{}
	for _, order := range orders {
		ids = append(ids, order.ID)
	}
	return fmt.Sprint(ids)
}

// The work list contains every open order once, with its animal, unless it is approved and will be picked up later. Each part of the list has at most the requested number
// of orders. The oldest order comes first, even if its hold was changed.
func TestWorkListHasEveryOpenOrderOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, status := range []shop.OrderStatus{shop.Placed, shop.Approved, shop.Delivered, shop.Cancelled, shop.Placed, shop.Approved, shop.Placed} {
		orderAt(t, s, status)
	}
	must(s.UpdateOrder(t.Context(), shop.Caller{}, 5, shop.OrderChange{HoldExpiresAt: new(s.Clock.Now().AddDate(0, 0, 2))}, nil))(t)
	work := must(s.WorkList(t.Context(), shop.Caller{}, 10))(t)
	equal(t, "to approve", orderIDs(work.ToApprove.Items), "[1 5 7]")
	equal(t, "without a day", orderIDs(work.WithoutDay.Items), "[2 6]")
	equal(t, "ending today", orderIDs(work.EndingToday.Items), "[]")
	if work.ToApprove.More || work.WithoutDay.More || work.ToApprove.Items[0].Pet == nil {
		t.Errorf("got %+v", work)
	}
	work = must(s.WorkList(t.Context(), shop.Caller{}, 1))(t)
	equal(t, "the first to approve", orderIDs(work.ToApprove.Items), "[1]")
	equal(t, "the first without a day", orderIDs(work.WithoutDay.Items), "[2]")
	if !work.ToApprove.More || !work.WithoutDay.More || work.EndingToday.More {
		t.Errorf("got %+v", work)
	}
	today := s.Today()
	for id, day := range map[int64]shop.Date{1: today, 2: today.Add(-1), 5: today.Add(-20), 6: today.Add(1), 7: today.Add(1)} {
		must(s.UpdateOrder(t.Context(), shop.Caller{}, id, shop.OrderChange{PickupDate: new(day.String())}, nil))(t)
	}
	work = must(s.WorkList(t.Context(), shop.Caller{}, 10))(t)
	equal(t, "overdue", orderIDs(work.Overdue.Items), "[5 2]")
	equal(t, "to hand over today", orderIDs(work.HandOverToday.Items), "[1]")
	equal(t, "the others", orderIDs(work.ToApprove.Items)+orderIDs(work.EndingToday.Items)+orderIDs(work.WithoutDay.Items), "[7][][]")
	work = must(s.WorkList(t.Context(), shop.Caller{}, 1))(t)
	equal(t, "the first overdue", orderIDs(work.Overdue.Items), "[5]")
	equal(t, "the first of the others", orderIDs(work.ToApprove.Items), "[7]")
	if !work.Overdue.More || work.ToApprove.More {
		t.Errorf("got %+v", work)
	}
	tomorrow := must(s.HandOvers(t.Context(), shop.Caller{}, today.Add(1), 1))(t)
	equal(t, "tomorrow", orderIDs(tomorrow.Items)+fmt.Sprint(tomorrow.More), "[6]true")
	s.Clock.Forward(shop.DefaultOrderHold) // the holds of orders 1 and 7 are over
	work = must(s.WorkList(t.Context(), shop.Caller{}, 10))(t)
	equal(t, "after the holds have ended", orderIDs(work.ToApprove.Items)+orderIDs(work.EndingToday.Items), "[][]")
	equal(t, "overdue after three days", orderIDs(work.Overdue.Items), "[2 6]") // order 5 is held until the second day
}
