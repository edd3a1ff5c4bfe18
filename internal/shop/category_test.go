package shop_test

import (
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Of many clients on several nodes that only want to create a category, exactly one creates it. The others do
// not rename it.
func TestCategoryIsCreatedOnlyOnce(t *testing.T) {
	onlyCreate := shop.PutCondition{NoneMatch: func(shop.Category) bool { return false }}
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		names := []string{"Dogs", "Cats", "Fish", "Birds", "Mice", "Owls", "Frogs", "Goats", "Hens", "Lions", "Pigs", "Rats"}
		var winner atomic.Value
		atOnce(len(names), func(i int) {
			created, err := nodes[i%len(nodes)].PutCategory(t.Context(), shop.Category{ID: 7, Name: names[i]}, onlyCreate)
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
