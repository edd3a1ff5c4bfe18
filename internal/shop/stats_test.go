package shop_test

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// In a small shop, the counts are always current, and each event is counted once. Only an animal that becomes
// sold counts as a sale.
func TestStatsAreCurrentAndCountOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for n := range int64(3) {
		days, err := s.DailyStats(t.Context())
		if err != nil || len(days) != 30 {
			t.Fatalf("%d days, %v; want 30", len(days), err)
		}
		arrivals, sales := int64(0), int64(0)
		for _, day := range days { // add up all days, because midnight may have passed during the test
			arrivals, sales = arrivals+day.Arrivals, sales+day.Sales
		}
		if arrivals != 2*n || sales != n {
			t.Errorf("there were %d arrivals and %d sales, want %d and %d", arrivals, sales, 2*n, n)
		}
		counts, err := s.CountPets(t.Context())
		if err != nil || n == 0 && len(counts) != 0 || n > 0 && (len(counts) != 1 || counts[0] != shop.PetCount{CategoryID: 7, Status: shop.Sold, N: 2 * n}) {
			t.Errorf("with %d animals, the counts are %v, %v", 2*n, counts, err)
		}
		s.AddPet(t, "sold before it arrived", 7, shop.Sold)
		pet := s.AddPet(t, "Rex", 7, shop.Available)
		if _, err := s.UpdatePet(t.Context(), pet.ID, shop.PetChange{Status: new(shop.Sold)}, nil); err != nil {
			t.Fatal(err)
		}
	}
}
