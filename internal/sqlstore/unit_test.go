package sqlstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"animalstore/internal/shop"
)

// shopModel is what a store must contain after a sequence of writes. Pets and orders have consecutive ids.
type shopModel struct {
	pets   []modelPet   // the pet with the id i+1
	orders []modelOrder // the order with the id i+1
}

type modelPet struct {
	name   string
	status shop.Status
	// changes is the number of status changes.
	changes int64
}

type modelOrder struct {
	pet    int64
	status shop.OrderStatus
}

// modelWrite is a write with the rows that it declares, or nil if it runs alone.
type modelWrite struct {
	what   string
	set    *shop.WriteSet
	fn     func(shop.WriteTx) error
	change func(*shopModel) bool // applies the write to the model, and reports whether it succeeds
}

var errOnPurpose = errors.New("on purpose")

// randomWrite returns a write that creates or renames a pet, or places or cancels an order. Each of them may declare its
// rows or run alone. Some fail on purpose, after their changes.
func randomWrite(r *rand.Rand, pets, orders int) modelWrite {
	var w modelWrite
	var set shop.WriteSet
	pet, order := 1+r.Int64N(int64(pets+2)), 1+r.Int64N(int64(orders+2))
	switch kind := r.IntN(10); {
	case kind < 4:
		name := fmt.Sprint("pet ", r.Int())
		w.what, set.Categories = "create "+name, []int64{1}
		w.fn = func(tx shop.WriteTx) error { return addPetWithEvent(name, new([]int64))(tx) }
		w.change = func(m *shopModel) bool {
			m.pets = append(m.pets, modelPet{name: name, status: shop.Available})
			return true
		}
	case kind < 6:
		w.what, set.Pets = fmt.Sprint("order ", pet), []int64{pet}
		w.fn = func(tx shop.WriteTx) error { return placeOrder(tx, pet, nil) }
		w.change = func(m *shopModel) bool {
			if int(pet) > len(m.pets) || m.pets[pet-1].status != shop.Available {
				return false
			}
			m.pets[pet-1].status = shop.Pending
			m.pets[pet-1].changes++
			m.orders = append(m.orders, modelOrder{pet, shop.Placed})
			return true
		}
	case kind < 8:
		w.what, set.Orders = fmt.Sprint("cancel ", order), []int64{order}
		w.fn = func(tx shop.WriteTx) error { return cancelOrder(tx, order) }
		w.change = func(m *shopModel) bool {
			if int(order) > len(m.orders) || m.orders[order-1].status != shop.Placed {
				return false
			}
			m.orders[order-1].status = shop.Cancelled
			m.pets[m.orders[order-1].pet-1].status = shop.Available
			m.pets[m.orders[order-1].pet-1].changes++
			return true
		}
	default:
		name := fmt.Sprint("renamed ", r.Int())
		w.what = fmt.Sprint("rename ", pet)
		w.fn = func(tx shop.WriteTx) error {
			before, found, err := tx.Pet(pet)
			if err != nil || !found {
				return errors.Join(err, errOnPurpose)
			}
			after := before
			after.Name = name
			return tx.UpdatePets(shop.PetUpdate{Before: before, After: after})
		}
		w.change = func(m *shopModel) bool {
			if int(pet) > len(m.pets) {
				return false
			}
			m.pets[pet-1].name = name
			return true
		}
	}
	if declares := r.IntN(3) > 0; declares {
		w.set = &set
	}
	if r.IntN(5) == 0 {
		w.what += ", and fail"
		fn := w.fn
		w.fn = func(tx shop.WriteTx) error { return errors.Join(fn(tx), errOnPurpose) }
		w.change = func(*shopModel) bool { return false }
	}
	return w
}

// cancelOrder cancels a placed order and makes its pet available.
func cancelOrder(tx shop.WriteTx, id int64) error {
	if err := moveOrder(tx, id, shop.Cancelled); err != nil {
		return err
	}
	order, _, err := tx.Order(id)
	if err != nil {
		return err
	}
	before, found, err := tx.Pet(order.PetID)
	if err != nil || !found {
		return errors.Join(err, fmt.Errorf("there is no pet %d", order.PetID))
	}
	after := before
	after.Status = shop.Available
	return tx.UpdatePets(shop.PetUpdate{Before: before, After: after})
}

// Writes that declare their rows and writes that run alone see each other's changes in one group, in the order of the
// group, and a failed write leaves nothing behind: no rows, no counts, no ids.
func TestGroupsMixDeclaredAndAloneWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			store, model := openNew(t), &shopModel{}
			write(t, store, func(tx shop.WriteTx) error { _, err := tx.EnsureCategories(1); return err })
			for range 12 {
				var writes []modelWrite
				for range 1 + r.IntN(16) {
					writes = append(writes, randomWrite(r, len(model.pets), len(model.orders)))
				}
				for i, err := range togetherDeclared(t, store, writes...) {
					if want := writes[i].change(model); (err == nil) != want {
						t.Fatalf("%s, declared %v: got %v, want success %v", writes[i].what, writes[i].set != nil, err, want)
					}
				}
				model.compare(t, store)
			}
		})
	}
}

// compare checks that a store contains what the model says, and that its inventory is right.
func (m *shopModel) compare(t *testing.T, store *Store) {
	t.Helper()
	want, got, counts := &shopModel{}, &shopModel{}, shop.Inventory{}
	*want = *m
	read(t, store, func(tx shop.ReadTx) error {
		page := shop.PageRequest{Limit: 1000}
		pets, err := tx.Pets(shop.PetList{PageRequest: page, OldestFirst: true})
		if err != nil {
			return err
		}
		for i, pet := range pets {
			if pet.ID != int64(i+1) {
				t.Errorf("pet %d has the id %d", i+1, pet.ID)
			}
			changes, err := tx.StatusChanges(pet.ID)
			if err != nil {
				return err
			}
			got.pets = append(got.pets, modelPet{pet.Name, pet.Status, changes})
			if pet.Status == shop.Available {
				counts.Available++
			} else {
				counts.Pending++
			}
		}
		orders, err := tx.Orders(shop.OrderList{PageRequest: page, OldestFirst: true})
		if err != nil {
			return err
		}
		for i, order := range orders {
			if order.ID != int64(i+1) {
				t.Errorf("order %d has the id %d", i+1, order.ID)
			}
			got.orders = append(got.orders, modelOrder{order.PetID, order.Status})
		}
		if inventory, err := tx.Inventory(); err != nil || inventory != counts {
			t.Errorf("the inventory is %+v, %v, want %+v", inventory, err, counts)
		}
		return nil
	})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the store has\n%v\nwant\n%v", got, want)
	}
}
