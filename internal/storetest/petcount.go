package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// petCountCases test the number of animals in each category.
var petCountCases = []testCase{
	{name: "the largest categories are counted by status", run: func(t *testing.T, store shop.Store) {
		c := newCounted(t, store)
		for _, pet := range []shop.NewPet{
			{Name: "a", CategoryID: 1, Status: shop.Sold}, {Name: "b", CategoryID: 1, Status: shop.Sold}, {Name: "c", CategoryID: 1},
			{Name: "d", CategoryID: math.MinInt64, Status: shop.Available}, {Name: "e", CategoryID: math.MaxInt64, Status: shop.Pending},
		} {
			c.add(pet)
		}
		ensureCategory(t, store, 4)
		first := shop.CategoryCount{CategoryID: 1, Inventory: shop.Inventory{Sold: 2, Unspecified: 1}}
		second := shop.CategoryCount{CategoryID: math.MinInt64, Inventory: shop.Inventory{Available: 1}}
		third := shop.CategoryCount{CategoryID: math.MaxInt64, Inventory: shop.Inventory{Pending: 1}}
		for _, step := range []func(){func() {}, c.publish, c.fold} {
			step()
			read(t, store, func(tx shop.ReadTx) error {
				got, err := tx.LargestCategories(2)
				if diff := diff.Diff([]shop.CategoryCount{first, second}, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				got, err = tx.CountCategories([]int64{math.MaxInt64, 4, 1, 5})
				slices.SortFunc(got, func(a, b shop.CategoryCount) int { return cmp.Compare(a.CategoryID, b.CategoryID) })
				if diff := diff.Diff([]shop.CategoryCount{first, third}, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				none, err := tx.CountCategories(nil)
				if len(none) > 0 {
					t.Errorf("%v", none)
				}
				return err
			})
		}
	}},

	{name: "counts are exact before and after events are published and folded", run: func(t *testing.T, store shop.Store) {
		c := newCounted(t, store)
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range 150 {
			switch n := random.IntN(12); {
			case n < 5 || len(c.pets) == 0:
				c.add(shop.NewPet{Name: "x", CategoryID: random.Int64N(6), Status: anyStatus(random)})
			case n < 8:
				pet := c.pets[random.IntN(len(c.pets))]
				pet.CategoryID, pet.Status = random.Int64N(6), anyStatus(random)
				c.update(pet)
			case n < 10:
				c.remove(c.pets[random.IntN(len(c.pets))])
			case n < 11:
				c.publish()
			default:
				c.fold()
			}
			if c.want(); t.Failed() {
				t.Fatalf("after step %d of the seed %d", i, seed)
			}
		}
	}},

	{name: "events are added to the counts once", run: func(t *testing.T, store shop.Store) {
		c := newCounted(t, store)
		for range 5 {
			c.add(shop.NewPet{Name: "x", CategoryID: 1, Status: shop.Sold})
		}
		c.publish()
		twice := c.changes(1, 3) // these changes are folded twice below, as if by two nodes at the same time
		if none := c.changes(100, 200); none.From != none.To {
			t.Errorf("got %+v although there are few events", none)
		}
		for range 2 {
			write(t, store, func(tx shop.WriteTx) error { return tx.FoldCounts(twice) })
			c.want()
		}
		c.fold()
		c.want()
		if none := c.changes(1, 10); none.From != none.To {
			t.Errorf("got %+v after all events have been folded", none)
		}
	}},

	{name: "removed events stay in the counts", run: func(t *testing.T, store shop.Store) {
		c := newCounted(t, store)
		for range 5 {
			c.add(shop.NewPet{Name: "x", CategoryID: 1, Status: shop.Sold})
		}
		c.publish()
		later := time.Now().Add(time.Hour)
		write(t, store, func(tx shop.WriteTx) error {
			_, err := tx.RemoveEvents(later, later)
			return err
		})
		if left := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10}); len(left) > 0 {
			t.Errorf("%d events are left", len(left))
		}
		c.want()
		c.fold()
		c.want()
	}},
}

// counted is a store whose animals change together with their events, as in the service.
type counted struct {
	t     *testing.T
	store shop.Store
	pets  []shop.Pet
}

func newCounted(t *testing.T, store shop.Store) *counted {
	for id := range int64(6) {
		ensureCategory(t, store, id)
	}
	ensureCategory(t, store, math.MinInt64)
	ensureCategory(t, store, math.MaxInt64)
	return &counted{t: t, store: store}
}

func anyStatus(random *rand.Rand) shop.Status {
	return append(shop.Statuses(), "")[random.IntN(4)]
}

// change runs a mutation and records its event in the same transaction.
func (c *counted) change(kind shop.EventType, mutate func(shop.WriteTx) (current, previous *shop.Pet, err error)) {
	c.t.Helper()
	write(c.t, c.store, func(tx shop.WriteTx) error {
		current, previous, err := mutate(tx)
		if err != nil {
			return err
		}
		data, err := json.Marshal(map[string]any{"current": current, "previous": previous})
		if err != nil {
			return err
		}
		return tx.InsertEvents(newEvent(shop.CategoryCreated, "categories/1"), // category events are not counted
			shop.NewEvent{Type: kind, Subject: fmt.Sprintf("pets/%d", cmp.Or(current, previous).ID), Actor: "system", Data: data})
	})
}

func (c *counted) add(pet shop.NewPet) {
	c.t.Helper()
	var added shop.Pet
	c.change(shop.PetCreated, func(tx shop.WriteTx) (current, previous *shop.Pet, err error) {
		inserted, err := tx.InsertPets(pet)
		if err != nil {
			return nil, nil, err
		}
		added = inserted[0]
		return &added, nil, nil
	})
	c.pets = append(c.pets, added)
}

func (c *counted) update(after shop.Pet) {
	c.t.Helper()
	at := slices.IndexFunc(c.pets, func(p shop.Pet) bool { return p.ID == after.ID })
	before := c.pets[at]
	c.change(shop.PetUpdated, func(tx shop.WriteTx) (current, previous *shop.Pet, err error) {
		return &after, &before, tx.UpdatePets(shop.PetUpdate{Before: before, After: after})
	})
	c.pets[at] = after
}

func (c *counted) remove(pet shop.Pet) {
	c.t.Helper()
	c.change(shop.PetDeleted, func(tx shop.WriteTx) (current, previous *shop.Pet, err error) {
		return nil, &pet, tx.DeletePet(pet)
	})
	c.pets = slices.DeleteFunc(c.pets, func(p shop.Pet) bool { return p == pet })
}

func (c *counted) publish() {
	c.t.Helper()
	if err := c.store.Publish(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *counted) changes(minimum, maximum int64) shop.CountChanges {
	c.t.Helper()
	return get(c.t, c.store, func(tx shop.ReadTx) (shop.CountChanges, error) { return tx.CountChanges(minimum, maximum) })
}

// fold adds all published events to the stored counts, a few at a time.
func (c *counted) fold() {
	c.t.Helper()
	for {
		changes := c.changes(1, 4)
		if changes.From == changes.To {
			return
		}
		write(c.t, c.store, func(tx shop.WriteTx) error { return tx.FoldCounts(changes) })
	}
}

// want checks that the store's counts match the animals, for all categories and for the largest ones.
func (c *counted) want() {
	c.t.Helper()
	byID := map[int64]shop.Inventory{}
	for _, pet := range c.pets {
		byID[pet.CategoryID] = add(byID[pet.CategoryID], pet.Status)
	}
	var all []shop.CategoryCount
	for id, inventory := range byID {
		all = append(all, shop.CategoryCount{CategoryID: id, Inventory: inventory})
	}
	slices.SortFunc(all, func(a, b shop.CategoryCount) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.CategoryID, b.CategoryID))
	})
	for n := range 8 {
		got := get(c.t, c.store, func(tx shop.ReadTx) ([]shop.CategoryCount, error) { return tx.LargestCategories(n) })
		if want := all[:min(n, len(all))]; !slices.Equal(got, want) {
			c.t.Errorf("the %d largest are %v, want %v", n, got, want)
		}
	}
	got := get(c.t, c.store, func(tx shop.ReadTx) ([]shop.CategoryCount, error) {
		return tx.CountCategories([]int64{0, 1, 2, 3, 4, 5})
	})
	slices.SortFunc(got, func(a, b shop.CategoryCount) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.CategoryID, b.CategoryID))
	})
	if !slices.Equal(got, all) {
		c.t.Errorf("counted %v, want %v", got, all)
	}
}
