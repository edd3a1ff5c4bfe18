package storetest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"animalstore/internal/shop"
)

// staffCases test the queries for the staff pages.
var staffCases = []testCase{
	{name: "several categories and open orders are read at once", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		ensureCategory(t, store, 3)
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertCategories(shop.Category{ID: 5, Name: "Žofky"}) })
		open := addOrder(t, store, shop.Order{PetID: 7, Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(time.Hour)})
		approved := addOrder(t, store, shop.Order{PetID: 8, Status: shop.Approved, CreatedAt: now, UpdatedAt: now})
		addOrder(t, store, shop.Order{PetID: 9, Status: shop.Cancelled, CreatedAt: now, UpdatedAt: now})
		addOrder(t, store, shop.Order{PetID: 10, Status: shop.Approved, CreatedAt: now, UpdatedAt: now})
		read(t, store, func(tx shop.ReadTx) error {
			categories, err := tx.CategoriesByID([]int64{5, 4, 3})
			slices.SortFunc(categories, func(a, b shop.Category) int { return cmp.Compare(a.ID, b.ID) })
			if diff := diff.Diff([]shop.Category{{ID: 3}, {ID: 5, Name: "Žofky"}}, categories); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			orders, err := tx.OpenOrders([]int64{9, 8, 7})
			slices.SortFunc(orders, func(a, b shop.Order) int { return cmp.Compare(a.ID, b.ID) })
			if diff := diff.Diff([]shop.Order{open, approved}, orders); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			none, err := tx.CategoriesByID(nil)
			if len(none) > 0 || err != nil {
				t.Errorf("%v %v", none, err)
			}
			nothing, err := tx.OpenOrders(nil)
			if len(nothing) > 0 {
				t.Errorf("%v", nothing)
			}
			return err
		})
	}},

	{name: "holds are listed by the time when they end", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var held []shop.Order
		for i, ends := range []time.Duration{3, 1, 2, 2, 4} {
			held = append(held, addOrder(t, store, shop.Order{PetID: int64(i), Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(ends * time.Hour)}))
		}
		addOrder(t, store, shop.Order{PetID: 10, Status: shop.Approved, CreatedAt: now, UpdatedAt: now})
		for _, c := range []struct {
			from, to time.Duration // multiplied by time.Hour below
			limit    int
			want     []int
		}{{1, 3, 9, []int{1, 2, 3}}, {2, 9, 9, []int{2, 3, 0, 4}}, {0, 9, 2, []int{1, 2}}, {5, 9, 9, nil}, {2, 2, 9, nil}} {
			var want []shop.Order
			for _, i := range c.want {
				want = append(want, held[i])
			}
			read(t, store, func(tx shop.ReadTx) error {
				got, err := tx.Holds(now.Add(c.from*time.Hour), now.Add(c.to*time.Hour), c.limit)
				if diff := diff.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%+v (-want +got)\n%s", c, diff)
				}
				return err
			})
		}
		// With HoldFrom, Orders selects orders by the end of their hold, as Holds does, but sorts them by id.
		read(t, store, func(tx shop.ReadTx) error {
			list := shop.OrderList{Status: shop.Placed, HoldFrom: now.Add(2 * time.Hour), PageRequest: shop.PageRequest{Limit: 3}, OldestFirst: true}
			got, err := tx.Orders(list)
			if diff := diff.Diff([]shop.Order{held[0], held[2], held[3]}, got); diff != "" {
				t.Errorf("%+v (-want +got)\n%s", list, diff)
			}
			return err
		})
	}},

	{name: "events are listed newest first on request", run: func(t *testing.T, store shop.Store) {
		recordEvents(t, store, newEvent(shop.PetCreated, "pets/1"), newEvent(shop.PetUpdated, "pets/2"), newEvent(shop.PetUpdated, "pets/1"), newEvent(shop.PetDeleted, "pets/1"))
		all := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 9})
		for _, c := range []struct {
			filter shop.EventFilter
			want   []int // the expected events, as indexes into all
		}{
			{shop.EventFilter{Newest: true}, []int{2, 1}},
			{shop.EventFilter{Newest: true, Subjects: []string{"pets/1"}}, []int{2, 0}},
			{shop.EventFilter{Newest: true, Types: []shop.EventType{shop.PetCreated, shop.PetUpdated}}, []int{2, 1}},
		} {
			var want []shop.StoredEvent
			for _, i := range c.want {
				want = append(want, all[i])
			}
			if diff := diff.Diff(want, publishedEvents(t, store, c.filter, shop.PageRequest{Limit: 2, After: &all[3].ID})); diff != "" {
				t.Errorf("%+v (-want +got)\n%s", c.filter, diff)
			}
		}
	}},
}
