package shop_test

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// In a small shop, the counts are always current. Each event is counted once.
func TestStatsAreCurrentAndCountOnce(t *testing.T) {
	t.Parallel()
	service := shoptest.Open(t, shoptest.Options{})
	for want := range int64(3) {
		counts, err := service.CountPets(t.Context())
		if err != nil || want == 0 && len(counts) != 0 || want > 0 && (len(counts) != 1 || counts[0] != shop.PetCount{CategoryID: 7, Status: shop.Sold, N: want}) {
			t.Errorf("with %d animals the counts are %v %v", want, counts, err)
		}
		days, err := service.DailyStats(t.Context())
		if err != nil || len(days) != 30 {
			t.Fatalf("%v %v", days, err)
		}
		arrivals, sales := int64(0), int64(0)
		for _, day := range days { // add up all days, because midnight may have passed during the test
			arrivals, sales = arrivals+day.Arrivals, sales+day.Sales
		}
		if arrivals != want || sales != 0 { // adding an animal that is already sold does not count as a sale
			t.Errorf("with %d animals there were %d arrivals and %d sales", want, arrivals, sales)
		}
		service.AddPet(t, "Rex", 7, shop.Sold)
	}
}

// Sales are counted from the events that the service itself records. The count is correct whatever fields an
// animal has.
func TestSalesAreCounted(t *testing.T) {
	t.Parallel()
	service := shoptest.Open(t, shoptest.Options{})
	pet := service.AddPet(t, "Rex", 7, shop.Available)
	sold := shop.Sold
	if _, err := service.UpdatePet(t.Context(), pet.ID, shop.PetChange{Status: &sold}, nil); err != nil {
		t.Fatal(err)
	}
	days, err := service.DailyStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sales := int64(0)
	for _, day := range days { // add up all days, because midnight may have passed during the test
		sales += day.Sales
	}
	if sales != 1 {
		t.Errorf("%d sales were counted, want 1", sales)
	}
}
