package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// addOrder inserts an order in a separate write transaction.
func addOrder(t *testing.T, store shop.Store, order shop.Order) shop.Order {
	t.Helper()
	var added shop.Order
	write(t, store, func(tx shop.WriteTx) (err error) {
		added, err = tx.InsertOrder(order)
		return err
	})
	return added
}

var orderCases = []testCase{
	{name: "an order is stored and updated", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		for _, order := range []shop.Order{
			{PetID: 1, Status: shop.Placed, Reference: "basket 🧺", PickupDate: "2026-12-05", Price: shop.Price{Amount: "9.50", Currency: "EUR"},
				Customer: shop.Customer{Name: "Ann", Email: "ann@example.com"}, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(time.Hour)},
			{PetID: math.MinInt64, Status: shop.Approved, CreatedAt: now, UpdatedAt: now.Add(time.Second)},
		} {
			added := addOrder(t, store, order)
			order.ID = added.ID
			wantOrder(t, store, order)
			order.Status, order.UpdatedAt, order.HoldExpiresAt = shop.Cancelled, now.Add(time.Minute), time.Time{}
			if order.Reference != "" {
				order.Reference, order.PickupDate, order.Price, order.Customer = "", "", shop.Price{}, shop.Customer{}
			} else {
				order.Reference, order.PickupDate, order.Price = "desk 2", "2026-12-06", shop.Price{Amount: "5", Currency: "JPY"}
				order.Customer = shop.Customer{Phone: "555"}
			}
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateOrder(added, order) })
			wantOrder(t, store, order)
		}
	}},

	{name: "an animal has at most one open order", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		open := shop.Order{PetID: 7, Status: shop.Approved, CreatedAt: now, UpdatedAt: now}
		first := addOrder(t, store, open)
		err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			_, err := tx.InsertOrder(open)
			return err
		})
		if err == nil {
			t.Error("a second open order was accepted")
		}
		openOrder := func(pet int64) func(shop.ReadTx) (shop.Order, bool, error) {
			return func(tx shop.ReadTx) (shop.Order, bool, error) { return tx.OpenOrder(pet) }
		}
		wantFound(t, store, &first, openOrder(7))
		wantFound(t, store, nil, openOrder(8))
		delivered := first
		delivered.Status = shop.Delivered
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdateOrder(first, delivered) })
		wantFound(t, store, nil, openOrder(7))
		addOrder(t, store, open)
	}},

	{name: "orders are listed newest or oldest first, and filters combine", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		var all []shop.Order
		for i := range 12 {
			status := shop.OrderStatuses()[2+i%3] // one of the statuses that are not open
			day := []string{"2026-12-05", "", "2026-12-06"}[i/2%3]
			all = append(all, addOrder(t, store, shop.Order{PetID: int64(i % 2), Status: status, PickupDate: day, CreatedAt: now, UpdatedAt: now}))
		}
		slices.Reverse(all)
		for _, status := range append(shop.OrderStatuses(), "") {
			for _, pet := range []*int64{nil, new(int64(0)), new(int64(1)), new(int64(2))} {
				for _, list := range []shop.OrderList{{}, {PageRequest: shop.PageRequest{After: &all[5].ID}},
					{OldestFirst: true}, {OldestFirst: true, PageRequest: shop.PageRequest{After: &all[5].ID}},
					{PickupDate: "2026-12-06"}, {PickupDate: "2026-12-06", PageRequest: shop.PageRequest{After: &all[5].ID}}} {
					want := slices.DeleteFunc(slices.Clone(all), func(o shop.Order) bool {
						passed := list.After != nil && (list.OldestFirst && o.ID <= *list.After || !list.OldestFirst && o.ID >= *list.After)
						return passed || status != "" && o.Status != status || pet != nil && o.PetID != *pet ||
							list.PickupDate != "" && o.PickupDate != list.PickupDate
					})
					if list.OldestFirst {
						slices.Reverse(want)
					}
					list.Status, list.PetID, list.Limit = status, pet, 3
					read(t, store, func(tx shop.ReadTx) error {
						got, err := tx.Orders(list)
						if diff := cmp.Diff(want[:min(3, len(want))], got); diff != "" {
							t.Errorf("%+v (-want +got)\n%s", list, diff)
						}
						return err
					})
				}
			}
		}
	}},

	{name: "open orders are found by their day of pick-up", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		ids := map[int64]string{}
		for pet, day := range []string{"2026-12-06", "2026-12-05", "", "2026-12-06", "2027-01-01", "", "2026-12-05"} {
			order := shop.Order{PetID: int64(pet), Status: shop.Approved, PickupDate: day, CreatedAt: now, UpdatedAt: now}
			switch pet {
			case 0:
				order.Status, order.HoldExpiresAt = shop.Placed, now
			case 5, 6:
				order.Status = shop.Delivered
			}
			ids[addOrder(t, store, order).ID] = fmt.Sprint(pet)
		}
		for _, c := range []struct {
			from, to string
			limit    int
			want     string
		}{
			{"", "2026-12-06", 9, "1"}, {"2026-12-06", "2026-12-07", 9, "0 3"}, {"2026-12-06", "2026-12-07", 1, "0"},
			{"2026-12-05", "2028-01-01", 9, "1 0 3 4"}, {"2026-12-07", "2026-12-31", 9, ""}, {"", "", 9, "2"},
		} {
			orders := get(t, store, func(tx shop.ReadTx) ([]shop.Order, error) { return tx.Pickups(c.from, c.to, c.limit) })
			var pets []string
			for _, order := range orders {
				pets = append(pets, ids[order.ID])
			}
			if got := strings.Join(pets, " "); got != c.want {
				t.Errorf("from %q to %q, at most %d: got the orders of %q, want %q", c.from, c.to, c.limit, got, c.want)
			}
		}
	}},

	{name: "a new order takes the price of the profile unless another or none is given", run: func(t *testing.T, store shop.Store) {
		service, ctx, by := openService(t, store), t.Context(), shop.Caller{}
		profile, own := shop.Price{Amount: "250.00", Currency: "EUR"}, shop.Price{Amount: "9", Currency: "JPY"}
		for _, c := range []struct{ profile, given, want shop.Price }{
			{}, {profile: profile, want: profile}, {profile, own, own}, {given: own, want: own}, {profile: profile, given: shop.Price{Amount: "none"}},
		} {
			pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available})
			change := shop.ProfileChange{Price: &c.profile, Color: new("red")}
			if _, err := service.UpdateProfile(ctx, by, pet.ID, change, nil); err != nil {
				t.Fatal(err)
			}
			n := shop.NewOrder{PetID: pet.ID}
			if c.given != (shop.Price{}) {
				if n.Price = &c.given; c.given.Amount == "none" {
					n.Price = &shop.Price{}
				}
			}
			order, err := service.PlaceOrder(ctx, by, n)
			if err != nil || order.Price != c.want {
				t.Errorf("%+v: the order has the price %+v (%v)", c, order.Price, err)
			}
			change.Price = &shop.Price{Amount: "1", Currency: "EUR"}
			if _, err := service.UpdateProfile(ctx, by, pet.ID, change, nil); err != nil {
				t.Fatal(err)
			}
			wantOrder(t, store, order)
		}
	}},

	{name: "orders are due when their hold ends", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		if got := get(t, store, shop.ReadTx.NextHold); !got.IsZero() {
			t.Errorf("without orders, NextHold returns %v", got)
		}
		for pet, hold := range []time.Duration{time.Hour, time.Minute, 2 * time.Hour} {
			addOrder(t, store, shop.Order{PetID: int64(pet), Status: shop.Placed, CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(hold)})
		}
		addOrder(t, store, shop.Order{PetID: 9, Status: shop.Approved, CreatedAt: now, UpdatedAt: now})
		if got := get(t, store, shop.ReadTx.NextHold); !got.Equal(now.Add(time.Minute)) {
			t.Errorf("the next hold ends at %v, want %v", got, now.Add(time.Minute))
		}
		for _, c := range []struct {
			at   time.Duration
			want []int64
		}{
			{0, nil}, {time.Minute - time.Microsecond, nil}, {time.Minute, []int64{1}}, {90 * time.Minute, []int64{1, 0}}, {3 * time.Hour, []int64{1, 0, 2}},
		} {
			read(t, store, func(tx shop.ReadTx) error {
				orders, err := tx.DueOrders(now.Add(c.at))
				var pets []int64
				for _, order := range orders {
					pets = append(pets, order.PetID)
				}
				if !slices.Equal(pets, c.want) {
					t.Errorf("after %v the orders of %v are due, want %v", c.at, pets, c.want)
				}
				return err
			})
		}
	}},

	{name: "the inventory is exact", run: func(t *testing.T, store shop.Store) {
		wantInventory(t, store, shop.Inventory{})
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		addPet(t, store, shop.NewPet{Name: "Mia", CategoryID: 1, Status: shop.Sold})
		wantInventory(t, store, shop.Inventory{Sold: 1, Unspecified: 1})
		after := pet
		after.Status, after.Name = shop.Available, "Max"
		write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pet, After: after}) })
		wantInventory(t, store, shop.Inventory{Sold: 1, Available: 1})
		store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			if err := tx.DeletePet(after); err != nil {
				t.Error(err)
			}
			return errOnPurpose
		})
		wantInventory(t, store, shop.Inventory{Sold: 1, Available: 1})
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(after) })
		wantInventory(t, store, shop.Inventory{Sold: 1})
	}},
}

func wantOrder(t *testing.T, store shop.Store, want shop.Order) {
	t.Helper()
	wantFound(t, store, &want, func(tx shop.ReadTx) (shop.Order, bool, error) { return tx.Order(want.ID) })
}
