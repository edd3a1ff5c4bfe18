package sqlstore

import (
	"testing"
	"time"

	"animalstore/internal/shop"
)

// On SQLite, every write that may change what the shop window shows changes its version, and no write to an animal that is
// not published does.
func TestVersionOfTheWindowChangesWithPublishedAnimals(t *testing.T) {
	t.Parallel()
	store, now := openNew(t), time.Now()
	write(t, store, func(tx shop.WriteTx) error { _, err := tx.EnsureCategories(1); return err })
	add := func(name string, published bool) (pet shop.Pet) {
		write(t, store, func(tx shop.WriteTx) error {
			pets, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: 1, Status: shop.Available})
			if err != nil {
				return err
			}
			if pet = pets[0]; !published {
				return nil
			}
			return tx.UpdateProfiles(shop.ProfileUpdate{Before: shop.Profile{Pet: pet}, After: shop.Profile{Pet: pet, Published: true, UpdatedAt: now}})
		})
		return pet
	}
	shown, hidden := add("Rex", true), add("Mia", false)
	profile := shop.Profile{Pet: shown, Published: true, UpdatedAt: now}
	version := func() shop.CatalogVersion {
		version, _ := store.CurrentVersion(t.Context(), shop.CatalogVersion{Window: true})
		return version
	}
	update := func(pet shop.Pet, change func(*shop.Pet)) func(shop.WriteTx) error {
		return func(tx shop.WriteTx) error {
			before, _, err := tx.Pet(pet.ID)
			if err != nil {
				return err
			}
			after := before
			change(&after)
			return tx.UpdatePets(shop.PetUpdate{Before: before, After: after})
		}
	}
	order := func(pet shop.Pet) func(shop.WriteTx) error {
		return func(tx shop.WriteTx) error {
			_, err := tx.InsertOrder(shop.Order{PetID: pet.ID, Status: shop.Cancelled, CreatedAt: now, UpdatedAt: now})
			return err
		}
	}
	for _, c := range []struct {
		name  string
		set   *shop.WriteSet
		write func(shop.WriteTx) error
		kept  bool // whether the change does not concern the window
	}{
		{"a name", nil, update(shown, func(p *shop.Pet) { p.Name = "Rexx" }), false},
		{"a status in a group", &shop.WriteSet{Pets: []int64{shown.ID}}, update(shown, func(p *shop.Pet) { p.Status = shop.Pending }), false},
		{"an order", nil, order(shown), false},
		{"an order in a group", &shop.WriteSet{Pets: []int64{shown.ID}}, order(shown), false},
		{"the end of a hold", &shop.WriteSet{Orders: []int64{1}}, func(tx shop.WriteTx) error {
			before, _, err := tx.Order(1)
			if err != nil {
				return err
			}
			return tx.UpdateOrder(before, before)
		}, false},
		{"a profile", nil, func(tx shop.WriteTx) error {
			after := profile
			after.Color = "black"
			return tx.UpdateProfiles(shop.ProfileUpdate{Before: profile, After: after})
		}, false},
		{"a name of a category", nil, func(tx shop.WriteTx) error {
			return tx.UpdateCategory(shop.Category{ID: 1}, shop.Category{ID: 1, Name: "Dogs"})
		}, false},
		{"the settings", nil, func(tx shop.WriteTx) error {
			return tx.UpdateSettings(shop.DefaultSettings(), shop.Settings{Name: "Paws", Kind: shop.KindShop})
		}, false},
		{"a removal", nil, func(tx shop.WriteTx) error {
			return tx.DeletePet(shop.Pet{ID: shown.ID, Name: "Rexx", CategoryID: 1, Status: shop.Pending})
		}, false},
		{"a restore", nil, func(tx shop.WriteTx) error {
			return tx.RestorePet(shop.Pet{ID: shown.ID, Name: "Rexx", CategoryID: 1, Status: shop.Pending})
		}, false},

		{"another animal", nil, update(hidden, func(p *shop.Pet) { p.Name = "Mimi" }), true},
		{"a status of another in a group", &shop.WriteSet{Pets: []int64{hidden.ID}}, update(hidden, func(p *shop.Pet) { p.Status = shop.Pending }), true},
		{"an order for another", nil, order(hidden), true},
		{"an order for another in a group", &shop.WriteSet{Pets: []int64{hidden.ID}}, order(hidden), true},
		{"another profile", nil, func(tx shop.WriteTx) error {
			return tx.UpdateProfiles(shop.ProfileUpdate{Before: shop.Profile{Pet: hidden}, After: shop.Profile{Pet: hidden, Color: "red", UpdatedAt: now}})
		}, true},
		{"a new animal", &shop.WriteSet{Categories: []int64{1}}, func(tx shop.WriteTx) error {
			_, err := tx.InsertPets(shop.NewPet{Name: "Leo", CategoryID: 1, Status: shop.Available})
			return err
		}, true},
	} {
		before := version()
		must(t, store.Write(t.Context(), shop.Writing{Rows: c.set}, c.write))
		if kept := version() == before; kept != c.kept {
			t.Errorf("%s: the version is the same: %v, want %v", c.name, kept, c.kept)
		}
	}
}
