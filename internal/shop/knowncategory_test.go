package shop_test

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// If only known categories are allowed, an animal of an unknown category is refused, and no category is
// created.
func TestUnknownCategoriesAreRefused(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{KnownCategories: true}})
	dogs, err := s.CreateCategory(t.Context(), "Dogs")
	if err != nil {
		t.Fatal(err)
	}
	const unknown = 99
	pet := s.AddPet(t, "Rex", dogs.ID, "")
	_, err = s.CreatePet(t.Context(), shop.NewPet{Name: "Mia", CategoryID: unknown})
	wantError(t, err, shop.ValidationFailed)
	_, err = s.UpdatePet(t.Context(), pet.ID, shop.PetChange{CategoryID: new(int64(unknown))}, nil)
	wantError(t, err, shop.ValidationFailed)
	if _, err = s.UpdatePet(t.Context(), pet.ID, shop.PetChange{CategoryID: &dogs.ID, Name: new("Max")}, nil); err != nil {
		t.Error(err)
	}
	for _, dryRun := range []bool{false, true} {
		rows := []shop.ImportRow{
			{Line: 2, NewPet: shop.NewPet{Name: "Leo", CategoryID: dogs.ID}},
			{Line: 3, NewPet: shop.NewPet{Name: "Mia", CategoryID: unknown}},
			{Line: 4, NewPet: shop.NewPet{CategoryID: unknown, Status: "gone"}},
		}
		_, err = s.ImportPets(t.Context(), rows, dryRun)
		wantError(t, err, shop.ValidationFailed)
		const want = "Nothing was imported because 2 rows are not valid: line 3: categoryId must be the id of an existing category; " +
			"line 4: name must have 1 to 200 characters, not 0, status must be one of available, pending, sold, categoryId must be the id of an existing category."
		if got := shop.AsError(err).Message; got != want {
			t.Errorf("dry run %v: got\n%s\nwant\n%s", dryRun, got, want)
		}
	}
	page, err := s.ListCategories(t.Context(), shop.PageRequest{Limit: 10})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("the categories are %+v (%v), want only %+v", page.Items, err, dogs)
	}
	pets, err := s.ListPets(t.Context(), shop.PetList{PageRequest: shop.PageRequest{Limit: 10}})
	if err != nil || len(pets.Items) != 1 {
		t.Errorf("the animals are %+v (%v), want one", pets.Items, err)
	}
}
