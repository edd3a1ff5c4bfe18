package storetest

import (
	"fmt"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var customerCases = []testCase{
	{name: "a search looks into customers only if it may, and finds nothing of them once they are erased", run: func(t *testing.T, store shop.Store) {
		service, ctx, by := openService(t, store), t.Context(), shop.Caller{}
		var ids []int64
		for _, customer := range []shop.Customer{{Name: "Zoë Müller", Phone: "+49 30 555", Email: "zoe@example.com"}, {Email: "bo@example.com"}, {}} {
			pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available})
			order, err := service.PlaceOrder(ctx, by, shop.NewOrder{PetID: pet.ID, Reference: "desk", Customer: customer})
			if err != nil {
				t.Fatal(err)
			}
			wantOrder(t, store, order)
			ids = append(ids, order.ID)
		}
		find := func(query string, customers bool) (found []int64) {
			list := shop.OrderList{Query: query, Customers: customers, PageRequest: shop.PageRequest{Limit: 10}}
			for _, order := range get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Order], error) { return tx.SearchOrders(list) }).Items {
				found = append(found, order.ID)
			}
			return found
		}
		want := func(query string, customers bool, want ...int64) {
			t.Helper()
			if got := find(query, customers); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q, customers %v: found %v, want %v", query, customers, got, want)
			}
		}
		for range 2 {
			want("muller desk zoe", true, ids[0])
			want("example", true, ids[1], ids[0])
			want("muller", false)
			want("example", false)
			want("desk", false, ids[2], ids[1], ids[0])
			want("müllerzoë", true)
			indexSearch(t, store)
		}
		change := shop.OrderChange{Customer: shop.CustomerChange{Name: new("Anna"), Phone: new("")}}
		if _, err := service.UpdateOrder(ctx, by, ids[0], change, nil); err != nil {
			t.Fatal(err)
		}
		want("muller", true)
		want("anna zoe", true, ids[0])
		for _, id := range ids {
			if err := service.EraseCustomer(ctx, by, id, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := get(t, store, shop.ReadTx.CountUnindexed); n != 0 {
			t.Errorf("%d texts wait for the index after customers were erased", n)
		}
		want("anna", true)
		want("example", true)
		want("desk", true, ids[2], ids[1], ids[0])
	}},

	{name: "closed orders with a customer are found by the time of their last step", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		customer := shop.Customer{Phone: "555"}
		var due []int64
		for i, status := range []shop.OrderStatus{shop.Delivered, shop.Cancelled, shop.Expired, shop.Approved, shop.Delivered, shop.Delivered} {
			order := shop.Order{PetID: int64(i), Status: status, Customer: customer, CreatedAt: now, UpdatedAt: now,
				LastChange: shop.StatusChange{At: now.Add(-time.Duration(i) * time.Hour), Before: shop.Placed}}
			switch i {
			case 4:
				order.Customer = shop.Customer{}
			case 5:
				order.LastChange.At = now.Add(time.Second)
			}
			if added := addOrder(t, store, order); i < 3 {
				due = append([]int64{added.ID}, due...)
			}
		}
		orders := get(t, store, func(tx shop.ReadTx) ([]shop.Order, error) { return tx.ClosedWithCustomer(now) })
		var found []int64
		for _, order := range orders {
			found = append(found, order.ID)
		}
		if fmt.Sprint(found) != fmt.Sprint(due) {
			t.Errorf("found %v, want %v", found, due)
		}
	}},
}
