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

// The work list contains every open order once, with its animal. Each part of the list has at most the requested number
// of orders. The oldest order comes first, even if its hold was changed.
func TestWorkListHasEveryOpenOrderOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, status := range []shop.OrderStatus{shop.Placed, shop.Approved, shop.Delivered, shop.Cancelled, shop.Placed, shop.Approved, shop.Placed} {
		orderAt(t, s, status)
	}
	must(s.UpdateOrder(t.Context(), shop.Caller{}, 5, shop.OrderChange{HoldExpiresAt: new(s.Clock.Now().AddDate(0, 0, 2))}, nil))(t)
	work := must(s.WorkList(t.Context(), 10))(t)
	equal(t, "to approve", orderIDs(work.ToApprove.Items), "[1 5 7]")
	equal(t, "to hand over", orderIDs(work.ToHandOver.Items), "[2 6]")
	equal(t, "ending today", orderIDs(work.EndingToday.Items), "[]")
	if work.ToApprove.More || work.ToHandOver.More || work.ToApprove.Items[0].Pet == nil {
		t.Errorf("got %+v", work)
	}
	work = must(s.WorkList(t.Context(), 1))(t)
	equal(t, "the first to approve", orderIDs(work.ToApprove.Items), "[1]")
	equal(t, "the first to hand over", orderIDs(work.ToHandOver.Items), "[2]")
	if !work.ToApprove.More || !work.ToHandOver.More || work.EndingToday.More {
		t.Errorf("got %+v", work)
	}
	s.Clock.Forward(shop.DefaultOrderHold) // the holds of orders 1 and 7 are over
	work = must(s.WorkList(t.Context(), 10))(t)
	equal(t, "after the holds have ended", orderIDs(work.ToApprove.Items)+orderIDs(work.EndingToday.Items), "[][]")
}
