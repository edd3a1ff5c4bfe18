package sqlstore

import (
	"fmt"
	"testing"

	"animalstore/internal/shop"
)

// renaming returns a write that changes the name of a pet.
func renaming(id int64, name string) func(shop.WriteTx) error {
	return func(w shop.WriteTx) error {
		pet, _, err := w.Pet(id)
		if err != nil {
			return err
		}
		after := pet
		after.Name = name
		return w.UpdatePets(shop.PetUpdate{Before: pet, After: after})
	}
}

// A search remembers what it has read of many names that wait for the index. The next search finds the names that have
// changed, whether their change is still queued, has been indexed by its own write, or by the job.
func TestSearchesFindChangedNamesAmongThoseThatWait(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	const many = 3000
	write(t, store, func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		pets := make([]shop.NewPet, many)
		for i := range pets {
			pets[i] = shop.NewPet{Name: fmt.Sprint("Waiting ", 10_001+i), CategoryID: 1}
		}
		_, err := tx.InsertPets(pets...)
		return err
	})
	const oldest = "Waiting 10001"
	wantFound(t, store, oldest, oldest) // all names have been read
	changed := int64(many)
	for _, c := range []struct {
		name   string
		change func(name string)
	}{
		{"Bella", func(name string) { write(t, store, renaming(changed, name)) }},
		{"Luna", func(name string) { write(t, store, indexing(renaming(changed, name))) }},
		{"Milo", func(name string) {
			write(t, store, renaming(changed, "Rex"))
			wantFound(t, store, "rex", "Rex")
			write(t, store, indexing(renaming(changed, "Max")))
			write(t, store, renaming(changed, name))
		}},
		{"Oscar", func(name string) {
			write(t, store, executing(fmt.Sprint("DELETE FROM pets WHERE id = ", changed)))
			wantFound(t, store, oldest, oldest)
			write(t, store, executing(fmt.Sprintf("INSERT INTO pets (id, name, category_id) VALUES (%d, '%s', 1)", changed, name)))
		}},
		{"Simba", func(name string) { // the index has this name and loses it again
			write(t, store, indexing(renaming(changed, name)))
			write(t, store, indexing(func(w shop.WriteTx) error {
				pet, _, err := w.Pet(changed)
				if err != nil {
					return err
				}
				return w.DeletePet(pet)
			}))
			write(t, store, executing(fmt.Sprintf("INSERT INTO pets (id, name, category_id) VALUES (%d, '%s', 1)", changed, name)))
		}},
		{"Hazel", func(name string) { addNames(t, store, name) }},
		{"Coco", func(name string) { // this name is in a batch that is full with changes, so it still waits because of its id
			write(t, store, renaming(2, name))
			for n := range 50 {
				write(t, store, renaming(int64(n+3), rareName(n)))
			}
			for batch := indexOnce(t, store, nil); batch.Unfinished != nil; {
				batch = indexOnce(t, store, batch.Unfinished)
			}
			read(t, store, func(tx shop.ReadTx) error {
				if n := selected[int64](t, tx, "SELECT count(*) FROM pet_search_changes"); n == 0 || n >= 50 {
					t.Errorf("%d changes are queued, want some", n)
				}
				return nil
			})
		}},
		{"Nala", func(name string) { write(t, store, indexing(adding(name))) }},
	} {
		c.change(c.name)
		wantFound(t, store, c.name, c.name)
		wantFound(t, store, oldest, oldest)
		changed--
	}
	if position, _ := progressOf(t, store); position > 0 {
		t.Errorf("the names up to %d do not wait", position)
	}
	indexAll(t, store)
	wantFound(t, store, "hazel", "Hazel")
	wantNothingMissing(t, store)
}
