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
	dogs := must(s.CreateCategory(t.Context(), "Dogs"))(t)
	const unknown = 99
	pet := s.AddPet(t, "Rex", dogs.ID, "")
	_, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Mia", CategoryID: unknown})
	wantCode(t, err, shop.ValidationFailed)
	_, err = s.UpdatePet(t.Context(), pet.ID, shop.PetChange{CategoryID: new(int64(unknown))}, nil)
	wantCode(t, err, shop.ValidationFailed)
	must(s.UpdatePet(t.Context(), pet.ID, shop.PetChange{CategoryID: &dogs.ID, Name: new("Max")}, nil))(t)
	for _, dryRun := range []bool{false, true} {
		rows := []shop.ImportRow{
			{Line: 2, NewPet: shop.NewPet{Name: "Leo", CategoryID: dogs.ID}},
			{Line: 3, NewPet: shop.NewPet{Name: "Mia", CategoryID: unknown}},
			{Line: 4, NewPet: shop.NewPet{CategoryID: unknown, Status: "gone"}},
		}
		_, err = s.ImportPets(t.Context(), rows, dryRun)
		wantCode(t, err, shop.ValidationFailed)
		equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because 2 rows are not valid: "+
			"line 3: categoryId must be the id of an existing category; line 4: name must have 1 to 200 characters, not 0, "+
			"status must be one of available, pending, sold, categoryId must be the id of an existing category.")
	}
	page := shop.PageRequest{Limit: 10}
	equal(t, "categories", len(must(s.ListCategories(t.Context(), page))(t).Items), 1)
	equal(t, "animals", len(must(s.ListPets(t.Context(), shop.PetList{PageRequest: page}))(t).Items), 1)
}

// In a small shop, the counts are always current, and each event is counted once. Only an animal that becomes
// sold counts as a sale.
func TestStatsAreCurrentAndCountOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for n := range int64(3) {
		days := must(s.DailyStats(t.Context()))(t)
		equal(t, "days", len(days), 30)
		arrivals, sales := int64(0), int64(0)
		for _, day := range days { // add up all days, because midnight may have passed during the test
			arrivals, sales = arrivals+day.Arrivals, sales+day.Sales
		}
		equal(t, "arrivals", arrivals, 2*n)
		equal(t, "sales", sales, n)
		counts := must(s.CountPets(t.Context()))(t)
		if n == 0 && len(counts) != 0 || n > 0 && (len(counts) != 1 || counts[0] != shop.PetCount{CategoryID: 7, Status: shop.Sold, N: 2 * n}) {
			t.Errorf("with %d animals, the counts are %v", 2*n, counts)
		}
		s.AddPet(t, "sold before it arrived", 7, shop.Sold)
		pet := s.AddPet(t, "Rex", 7, shop.Available)
		must(s.UpdatePet(t.Context(), pet.ID, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
	}
}
