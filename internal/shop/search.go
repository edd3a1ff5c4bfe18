package shop

import (
	"context"
	"strings"
)

// SearchWords returns the folded words of a search text.
func SearchWords(text string) []string { return strings.Fields(FoldSearch(text)) }

// ContainsWords reports whether the text contains all of the words, in any order. The words must already be folded.
func ContainsWords(text string, words []string) bool {
	folded := FoldSearch(text)
	for _, word := range words {
		if !strings.Contains(folded, word) {
			return false
		}
	}
	return true
}

// maxCategoriesCompared is the maximum number of categories whose names FindCategories compares. categoryBatch is the
// number of categories that it reads at once.
const maxCategoriesCompared, categoryBatch = 20_000, 500

// FindCategories returns at most limit categories whose names contain every word of the text (see
// ContainsWords), sorted by ascending id. It looks only at the first 20,000 categories, so that its work is
// bounded.
func (s *Service) FindCategories(ctx context.Context, by Caller, text string, limit int) (Page[Category], error) {
	words := SearchWords(text)
	return read(ctx, s, Reading{By: by, Heavy: true}, func(tx ReadTx) (found Page[Category], err error) {
		batch := PageRequest{Limit: categoryBatch}
		for range maxCategoriesCompared / categoryBatch {
			categories, err := tx.Categories(batch)
			if err != nil {
				return found, err
			}
			for _, category := range categories {
				if category.Name == "" || !ContainsWords(category.Name, words) {
					continue
				}
				if len(found.Items) == limit {
					found.More = true
					return found, nil
				}
				found.Items = append(found.Items, category)
			}
			if len(categories) < categoryBatch {
				return found, nil
			}
			batch.After = &categories[len(categories)-1].ID
		}
		return found, nil
	})
}

// SearchReader contains the methods of ReadTx for searches. SearchPets and SearchOrders find the items whose text
// contains every word of list.Query, newest first, and do a bounded amount of work. If a search stops before it has
// found list.Limit items or reached the end, Page.Stopped says where.
type SearchReader interface {
	// SearchPets searches the names of animals.
	SearchPets(list PetList) (Page[Pet], error)
	// SearchOrders searches the references of orders.
	SearchOrders(list OrderList) (Page[Order], error)
	// NextIndexBatch returns a limited number of new and changed animals and orders for IndexSearch, and whether there
	// is anything to index. The batch is nil if several nodes may share the store, because IndexSearch then collects it
	// itself.
	NextIndexBatch() (batch IndexBatch, more bool, err error)
	// CountUnindexed counts the animals, orders and names of categories that are not indexed yet.
	CountUnindexed() (int64, error)
}
