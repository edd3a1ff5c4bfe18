package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"animalstore/internal/shop"
)

// totals returns the sum of all inventory counts, the number of pets and the number of events.
func totals(t *testing.T, store *Store) (counted, pets, events int64) {
	t.Helper()
	err := store.Read(t.Context(), func(rtx shop.ReadTx) error {
		inventory, err := rtx.Inventory()
		if err != nil {
			return err
		}
		counted = inventory.Available + inventory.Pending + inventory.Sold + inventory.Unspecified
		if pets, _, err = one(rtx.(*tx), scanValue[int64], "SELECT count(*) FROM pets"); err != nil {
			return err
		}
		events, _, err = one(rtx.(*tx), scanValue[int64], "SELECT count(*) FROM events")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return counted, pets, events
}

// addPetWithEvent inserts a pet together with its event, as the shop does, and appends the pet's id to ids.
func addPetWithEvent(name string, ids *[]int64) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		pets, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: 1, Status: shop.Available})
		if err != nil {
			return err
		}
		*ids = append(*ids, pets[0].ID)
		return tx.InsertEvents(shop.NewEvent{Type: shop.PetCreated, Subject: fmt.Sprintf("pets/%d", pets[0].ID), Actor: "test", Data: []byte("{}")})
	}
}

// The members of a group get consecutive pet ids in the order in which they run. A failed member leaves no
// gap.
func TestGroupAssignsIDsWithoutGaps(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 3) // these pets get the ids 1, 2 and 3
	var first, failed, second, third []int64
	errs := together(t, store, addPetWithEvent("A", &first),
		func(tx shop.WriteTx) error {
			return errors.Join(addPetWithEvent("B", &failed)(tx), errors.New("on purpose"))
		},
		addPetWithEvent("C", &second),
		func(tx shop.WriteTx) error { // a statement sees the rows that earlier members queued
			if pet, found, err := tx.Pet(5); err != nil || !found || pet.Name != "C" {
				return fmt.Errorf("found %v, %v, %v", pet, found, err)
			}
			return addPetWithEvent("D", &third)(tx)
		})
	for i, want := range []bool{true, false, true, true} {
		if (errs[i] == nil) != want {
			t.Errorf("write %d: %v", i, errs[i])
		}
	}
	if got := fmt.Sprint(first, second, third); got != "[4] [5] [6]" {
		t.Errorf("the ids are %s, want 4, 5 and 6", got)
	}
	if got := names(t, store); got != "D C A pet 2 pet 1 pet 0" {
		t.Errorf("found %q", got)
	}
	if counted, pets, events := totals(t, store); counted != 6 || pets != 6 || events != 3 {
		t.Errorf("%d counted, %d animals, %d events; want 6, 6 and 3", counted, pets, events)
	}
	err := store.Read(t.Context(), func(tx shop.ReadTx) error {
		events, err := tx.Events(shop.EventFilter{}, shop.PageRequest{Limit: 10})
		for i, want := range []string{"pets/4", "pets/5", "pets/6"} {
			if events[i].Subject != want || events[i].ID != int64(i+1) {
				t.Errorf("the event %d is %d of %s, want %s", i+1, events[i].ID, events[i].Subject, want)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A member sees which categories earlier members have created or removed, except for changes made by a failed
// member.
func TestGroupKnowsItsCategories(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	var ids []int64
	errs := together(t, store,
		func(tx shop.WriteTx) error {
			created, err := tx.EnsureCategories(7)
			return errors.Join(err, fmt.Errorf("created %v, and failed", created))
		},
		func(tx shop.WriteTx) error { // the failed member has left no category behind
			_, err := tx.InsertPets(shop.NewPet{Name: "orphan", CategoryID: 7})
			return err
		},
		func(tx shop.WriteTx) error {
			if created, err := tx.EnsureCategories(7); err != nil || len(created) != 1 {
				return fmt.Errorf("created %v, %v", created, err)
			}
			return nil
		},
		func(tx shop.WriteTx) error {
			if created, err := tx.EnsureCategories(7); err != nil || len(created) != 0 {
				return fmt.Errorf("created %v again, %v", created, err)
			}
			return tx.DeleteCategory(shop.Category{ID: 7})
		},
		func(tx shop.WriteTx) error {
			_, err := tx.InsertPets(shop.NewPet{Name: "orphan", CategoryID: 7})
			return err
		},
		addPetWithEvent("A", &ids))
	for i, want := range []bool{false, false, true, true, false, true} {
		if (errs[i] == nil) != want {
			t.Errorf("write %d: %v", i, errs[i])
		}
	}
	if got := names(t, store); got != "A" {
		t.Errorf("found %q, want A", got)
	}
}

// A group does not rely on anything that an earlier group has read, because another process may have written
// in between.
func TestGroupSeesWritesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	store, other := open(t, path, Options{Exclusive: true}), open(t, path, Options{})
	var ids, others []int64
	for range 3 {
		for _, err := range []error{
			store.Write(t.Context(), addPetWithEvent("A", &ids)),
			other.Write(t.Context(), addPetWithEvent("B", &others)),
			store.Write(t.Context(), addPetWithEvent("C", &ids)),
			other.Write(t.Context(), func(tx shop.WriteTx) error {
				for _, id := range slices.Concat(ids, others) {
					if pet, found, err := tx.Pet(id); err != nil || found && tx.DeletePet(pet) != nil {
						return fmt.Errorf("cannot delete %d: %w", id, err)
					}
				}
				return tx.DeleteCategory(shop.Category{ID: 1})
			}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := fmt.Sprint(ids, others); got != "[1 3 4 6 7 9] [2 5 8]" {
		t.Errorf("the ids are %s", got)
	}
	err := store.Write(t.Context(), func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(shop.NewPet{Name: "orphan", CategoryID: 1})
		return err
	})
	if err == nil {
		t.Error("an animal was taken without its category")
	}
}

// A member may add more rows than the queue can hold. If this member fails afterwards, none of its rows
// remain.
func TestLargeMemberIsUndoneWhole(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		store := openNew(t)
		var before, many, after []int64
		const n = 3*maxQueued/10 + 7
		errs := together(t, store, addPetWithEvent("A", &before), func(tx shop.WriteTx) error {
			many = nil
			for i := range n {
				if err := addPetWithEvent(fmt.Sprintf("many %d", i), &many)(tx); err != nil {
					return err
				}
			}
			if fails {
				return errors.New("on purpose")
			}
			return nil
		}, addPetWithEvent("B", &after))
		want, id := int64(n+2), int64(n+2)
		if fails {
			want, id = 2, 2
		}
		if errs[0] != nil || errs[2] != nil || (errs[1] != nil) != fails {
			t.Errorf("got %v", errs)
		}
		if counted, pets, events := totals(t, store); counted != want || pets != want || events != want {
			t.Errorf("%d counted, %d animals, %d events; want %d of each", counted, pets, events, want)
		}
		if len(many) != n || many[n-1] != int64(n+1) || after[0] != id {
			t.Errorf("the last of many is %d, the one after them %d; want %d and %d", many[len(many)-1], after[0], n+1, id)
		}
	}
}
