package sqlstore

import (
	"context"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/wordindex"
)

var (
	petNames        = &wordindex.List{Name: "pets", Table: "pets", Text: "name", Index: "pet_search", Changes: "pet_search_changes"}
	orderReferences = &wordindex.List{Name: "orders", Table: "orders", Text: "reference", Index: "order_search", Changes: "order_search_changes"}
	// orderCustomers are the words of customers, which only some keys may search.
	orderCustomers = &wordindex.List{Name: "orders, customers", Table: "orders", Text: "customer", Index: "customer_search", Changes: "customer_search_changes"}
	// profileWords are the words of profiles that every key may search, and internalWords those that only some keys may.
	profileWords  = &wordindex.List{Name: "profiles", Table: "profiles", Text: "words", Index: "profile_search", Changes: "profile_search_changes"}
	internalWords = &wordindex.List{Name: "profiles, internal", Table: "profiles", Text: "internal_words", Index: "internal_search", Changes: "internal_search_changes"}
	searchables   = []*wordindex.List{petNames, orderReferences, orderCustomers, profileWords, internalWords}
)

// SearchPets searches the names of pets.
func (t *tx) SearchPets(list shop.PetList) (shop.Page[shop.Pet], error) {
	status, category, noStatus := list.Status, list.CategoryID, list.NoStatus
	filtered := list.PetFilter
	filtered.Query = ""
	return search(wordindex.Search[shop.Pet]{
		Index: t.dialect.words, Tx: t.Tx, Lists: []*wordindex.List{petNames}, From: "pets", Columns: petColumns, Scan: scanPets(),
		ID:   func(p shop.Pet) int64 { return p.ID },
		Text: func(p shop.Pet) string { return p.Name },
		Page: func(limit int, after *int64) ([]shop.Pet, error) {
			return t.Pets(shop.PetList{PetFilter: filtered, PageRequest: shop.PageRequest{Limit: limit, After: after}})
		},
		Filtered: status != "" || noStatus || category != nil,
		ListOnly: len(list.IDs) > 0,
		Matches: func(p shop.Pet) bool {
			return (status == "" || p.Status == status) && (!noStatus || p.Status == "") && (category == nil || p.CategoryID == *category)
		},
	}, list.Query, list.PageRequest)
}

// SearchOrders searches the references of orders, and their customers if list.Customers is set.
func (t *tx) SearchOrders(list shop.OrderList) (shop.Page[shop.Order], error) {
	lists := []*wordindex.List{orderReferences}
	if list.Customers {
		lists = append(lists, orderCustomers)
	}
	status, pet, pickup := list.Status, list.PetID, list.PickupDate
	return search(wordindex.Search[shop.Order]{
		Index: t.dialect.words, Tx: t.Tx, Lists: lists, From: "orders", Columns: orderColumns, Scan: scanOrder,
		ID:   func(o shop.Order) int64 { return o.ID },
		Text: func(o shop.Order) string { return o.Words(list.Customers) },
		Page: func(limit int, after *int64) ([]shop.Order, error) {
			return t.Orders(shop.OrderList{Status: status, PetID: pet, PickupDate: pickup, PageRequest: shop.PageRequest{Limit: limit, After: after}})
		},
		Filtered: status != "" || pet != nil || pickup != "",
		Matches: func(o shop.Order) bool {
			return (status == "" || o.Status == status) && (pet == nil || o.PetID == *pet) && (pickup == "" || o.PickupDate == pickup)
		},
	}, list.Query, list.PageRequest)
}

// search returns the page of rows that contain all words of the text.
func search[T any](s wordindex.Search[T], text string, page shop.PageRequest) (shop.Page[T], error) {
	s.Words, s.Contains = shop.SearchWords(text), shop.ContainsWords
	found, more, stopped, err := s.Run(page.Limit, page.After)
	if err != nil {
		return shop.Page[T]{}, err
	}
	return shop.Page[T]{Items: found, More: more, Stopped: stopped}, nil
}

// indexRound is the batch that NextIndexBatch returns.
type indexRound struct {
	unkeyed bool // whether there are names of categories or pets without keys
	words   *wordindex.Round
	more    bool // whether there was more to do than this round contains
}

// NextIndexBatch collects a batch for IndexSearch. On PostgreSQL, it only reports whether there is anything to index.
func (t *tx) NextIndexBatch() (shop.IndexBatch, bool, error) {
	// Without ORDER BY, PostgreSQL may read all categories.
	_, unkeyed, err := one(t, scanValue[int64], t.dialect.selectUnkeyed("id")+" ORDER BY id LIMIT 1")
	if err == nil && !unkeyed {
		_, unkeyed, err = one(t, scanValue[int64], t.dialect.selectUnkeyedPets("id")+" ORDER BY id LIMIT 1")
	}
	if err != nil {
		return nil, false, err
	}
	words, found, err := t.dialect.words.Next(t.Tx)
	if err != nil || !found && !unkeyed {
		return nil, false, err
	}
	if t.dialect.words.Shared() {
		return nil, true, nil
	}
	return &indexRound{unkeyed: unkeyed, words: words}, true, nil
}

// IndexSearch indexes a part of a batch from NextIndexBatch, or of the rest of one. Without a batch, it collects and
// indexes one itself. It also adds keys to the names of categories and pets that have none.
func (t *tx) IndexSearch(batch shop.IndexBatch) (result shop.IndexResult, err error) {
	round, _ := batch.(*indexRound)
	if round == nil {
		if err := t.dialect.words.Begin(t.Tx); err != nil {
			return result, err
		}
	}
	if round == nil || round.unkeyed {
		if result.Indexed, result.More, err = t.addCategoryKeys(); err != nil {
			return result, err
		}
		more, err := t.addPetKeys()
		if err != nil {
			return result, err
		}
		result.More = result.More || more
	}
	var words wordindex.Result
	if round == nil {
		words, err = t.dialect.words.WriteAll(t.Tx)
	} else {
		words, err = t.dialect.words.WritePart(t.Tx, round.words)
		result.More = result.More || round.more
	}
	if err != nil {
		return result, err
	}
	if words.Rest != nil {
		result.Unfinished = &indexRound{words: words.Rest, more: result.More}
	}
	result.Indexed, result.More = result.Indexed+words.Indexed, result.More || words.More
	return result, nil
}

// CountUnindexed counts the rows that IndexSearch still has to index.
func (t *tx) CountUnindexed() (int64, error) {
	unkeyed, _, err := one(t, scanValue[int64], t.dialect.selectUnkeyed("count(*)"))
	if err != nil {
		return 0, err
	}
	n, err := t.dialect.words.CountUnindexed(t.Tx)
	return unkeyed + n, err
}

// CheckSearch calls missing for every row that should have been indexed, but is missing from the search index. A search
// might not find such a row.
func (c *Conn) CheckSearch(ctx context.Context, missing func(table string, id int64)) error {
	t := c.tx(ctx)
	return t.dialect.words.Check(t.Tx, missing)
}
