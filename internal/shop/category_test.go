package shop_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A search for categories compares only the names of the first 20,000 categories, so that its work is bounded.
func TestSearchForCategoriesIsBounded(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	shoptest.OK(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		categories := make([]shop.Category, 20_500)
		for i := range categories {
			categories[i] = shop.Category{ID: int64(i + 1), Name: "Kind"}
		}
		categories[2].Name, categories[19_999].Name, categories[20_400].Name = "Žába", "Zaba", "Žaba"
		return tx.InsertCategories(categories...)
	}))
	found := must(s.FindCategories(t.Context(), shop.Caller{}, "ZABA", 5))(t)
	equal(t, "the categories found", fmt.Sprint(found.Items), "[{3 Žába} {20000 Zaba}]")
	found = must(s.FindCategories(t.Context(), shop.Caller{}, "kind", 5))(t)
	equal(t, "the number of categories on a full page", len(found.Items), 5)
	equal(t, "whether there are more", found.More, true)
}

// If many clients on several nodes try to create the same category at once, exactly one succeeds. The others do not
// rename the category.
func TestCategoryIsCreatedOnlyOnce(t *testing.T) {
	onlyCreate := shop.PutCondition{NoneMatch: func(shop.Category) bool { return false }}
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		names := []string{"Dogs", "Cats", "Fish", "Birds", "Mice", "Owls", "Frogs", "Goats", "Hens", "Lions", "Pigs", "Rats"}
		var winner atomic.Value
		atOnce(len(names), func(i int) {
			created, err := nodes[i%len(nodes)].PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 7, Name: names[i]}, onlyCreate)
			if err != nil && shop.AsError(err).Code != shop.PreconditionFailed {
				t.Errorf("the category was refused with %v, want precondition_failed", err)
			}
			if created && !winner.CompareAndSwap(nil, names[i]) {
				t.Errorf("both %s and %s were created", winner.Load(), names[i])
			}
		})
		equal(t, "the name of the category", any(must(s.Category(t.Context(), 7))(t).Name), winner.Load())
	})
}
