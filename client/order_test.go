package client_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"animalstore/client"
)

func TestOrderLifecycle(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	wantInventory := func(want client.Inventory) {
		t.Helper()
		if got := must(c.Inventory(ctx))(t); got != want {
			t.Errorf("the inventory is %+v, want %+v", got, want)
		}
	}
	wantPet := func(id int64, want client.PetStatus) {
		t.Helper()
		if got := must(c.GetPet(ctx, id))(t); got.Status != want {
			t.Errorf("the animal is %s, want %s", got.Status, want)
		}
	}
	pet := s.addPet("Rex")
	must(c.CreatePet(ctx, client.NewPet{Name: "Mia", CategoryID: 2}))(t)
	wantInventory(client.Inventory{Available: 1, Unspecified: 1})

	order := must(c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "web-17"}))(t)
	if order.ID == 0 || order.PetID != pet.ID || order.Status != client.OrderPlaced || order.Reference != "web-17" ||
		time.Since(order.CreatedAt) > time.Hour || !order.UpdatedAt.Equal(order.CreatedAt) || !order.HoldExpiresAt.After(order.CreatedAt) {
		t.Errorf("placed %+v", order)
	}
	wantPet(pet.ID, client.PetPending)
	wantInventory(client.Inventory{Pending: 1, Unspecified: 1})
	_, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID})
	wantCode(t, err, client.CodePetNotAvailable)
	_, err = c.PlaceOrder(ctx, client.NewOrder{PetID: 99})
	wantCode(t, err, client.CodePetNotFound)
	wantCode(t, c.DeletePet(ctx, pet.ID), client.CodePetHasOpenOrder)
	_, err = c.UpdatePet(ctx, pet.ID, client.PetUpdate{Status: new(client.PetSold)})
	wantCode(t, err, client.CodePetHasOpenOrder)

	if cancelled := must(c.CancelOrder(ctx, order.ID))(t); cancelled.Status != client.OrderCancelled || !cancelled.HoldExpiresAt.IsZero() {
		t.Errorf("cancelled %+v", cancelled)
	}
	wantPet(pet.ID, client.PetAvailable)
	_, err = c.ApproveOrder(ctx, order.ID)
	wantCode(t, err, client.CodeInvalidTransition)

	second := must(c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}))(t)
	_, err = c.DeliverOrder(ctx, second.ID)
	wantCode(t, err, client.CodeInvalidTransition)
	if approved := must(c.ApproveOrder(ctx, second.ID))(t); approved.Status != client.OrderApproved {
		t.Errorf("approved %+v", approved)
	}
	wantPet(pet.ID, client.PetPending)
	delivered := must(c.DeliverOrder(ctx, second.ID))(t)
	wantPet(pet.ID, client.PetSold)
	wantInventory(client.Inventory{Sold: 1, Unspecified: 1})
	if got := must(c.GetOrder(ctx, second.ID))(t); got != delivered || got.Status != client.OrderDelivered || got.Reference != "" {
		t.Errorf("got %+v, want %+v", got, delivered)
	}
	_, err = c.GetOrder(ctx, 99)
	wantCode(t, err, client.CodeNotFound)
	_, err = c.CancelOrder(ctx, 99)
	wantCode(t, err, client.CodeNotFound)
}

func TestOrderQuery(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	rex, mia := s.addPet("Rex"), s.addPet("Mia")
	var ids []int64
	for range 3 {
		order := must(c.PlaceOrder(ctx, client.NewOrder{PetID: rex.ID}))(t)
		must(c.CancelOrder(ctx, order.ID))(t)
		ids = append(ids, order.ID)
	}
	ids = append(ids, must(c.PlaceOrder(ctx, client.NewOrder{PetID: mia.ID}))(t).ID)
	for _, q := range []struct {
		query client.OrderQuery
		want  []int // indexes into ids, newest order first
	}{
		{client.OrderQuery{}, []int{3, 2, 1, 0}},
		{client.OrderQuery{Status: client.OrderPlaced}, []int{3}},
		{client.OrderQuery{PetID: rex.ID}, []int{2, 1, 0}},
		{client.OrderQuery{PetID: rex.ID, Status: client.OrderPlaced}, nil},
	} {
		for _, limit := range []int{0, 1, 2} {
			q.query.Limit = limit
			var want, got []int64
			for _, i := range q.want {
				want = append(want, ids[i])
			}
			for order, err := range c.Orders(ctx, q.query) {
				got = append(got, must(order, err)(t).ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v: got %v, want %v", q.query, got, want)
			}
		}
	}
	orders, next, err := c.ListOrders(ctx, client.OrderQuery{Limit: 3})
	if err != nil || len(orders) != 3 || next == "" {
		t.Fatalf("got %v, %q, %v", orders, next, err)
	}
	orders, next, err = c.ListOrders(ctx, client.OrderQuery{Limit: 3, Cursor: next})
	if err != nil || len(orders) != 1 || orders[0].ID != ids[0] || next != "" {
		t.Errorf("got %v, %q, %v", orders, next, err)
	}
	_, _, err = c.ListOrders(ctx, client.OrderQuery{Status: "lost"})
	wantCode(t, err, client.CodeInvalidParameter)
}

func TestOrderExpires(t *testing.T) {
	t.Parallel()
	s := newTestService(t, func(set *serviceOptions) { set.OrderHold = time.Millisecond })
	c, ctx := s.client(), t.Context()
	pet := s.addPet("Rex")
	order := must(c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}))(t)
	for order.Status == client.OrderPlaced { // repeat until the hold has expired
		order = must(c.GetOrder(ctx, order.ID))(t)
	}
	if order.Status != client.OrderExpired || !order.HoldExpiresAt.IsZero() {
		t.Errorf("the order is %+v", order)
	}
	if got := must(c.GetPet(ctx, pet.ID))(t); got != pet {
		t.Errorf("the animal is %+v, want %+v", got, pet)
	}
}

func TestOneOfManyClientsGetsThePet(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, pet := s.client(), s.addPet("Rex")
	errs := make([]error, 20)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { _, errs[i] = c.PlaceOrder(t.Context(), client.NewOrder{PetID: pet.ID}) })
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !client.IsCode(err, client.CodePetNotAvailable) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d clients got the animal, want 1", won)
	}
}
