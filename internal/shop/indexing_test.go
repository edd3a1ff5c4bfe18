package shop_test

import (
	"slices"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A store with many animals that are not indexed yet, such as one from an earlier version, is indexed in several runs
// of the job, which report their progress. A few new animals are indexed without a report.
func TestIndexingReportsItsProgress(t *testing.T) {
	t.Parallel()
	var reports []shop.IndexProgress
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{OnIndexing: func(p shop.IndexProgress) { reports = append(reports, p) }}})
	s.AddPet(t, "Rex", 1, "")
	check(t, s.IndexSearch(t.Context()))
	check(t, s.Store.Write(t.Context(), func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "x", CategoryID: 1}}, 85_000)...)
		return err
	}))
	for range 3 {
		check(t, s.IndexSearch(t.Context()))
	}
	if want := []shop.IndexProgress{{Indexed: 80_001, Left: 5_000}, {Indexed: 85_001}}; !slices.Equal(reports, want) {
		t.Errorf("reported %+v, want %+v", reports, want)
	}
	equal(t, "the progress", s.IndexProgress(), shop.IndexProgress{Indexed: 85_001})
}
