package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var searchCases = []testCase{
	{name: "a search ignores case and diacritics", run: func(t *testing.T, store shop.Store) {
		for _, c := range []struct{ name, query string }{
			{"Rex", "rEX"}, {"Žofka", "zOF"}, {"ΣΊΣΥΦΟΣ", "σισυφος"}, {"Жужа", "ЖУЖА"}, {"straße", "STRASSE"},
			{"Kelvin", "\u212Aelvin"}, {"Þór", "þo"}, {"𐐀𐐁", "𐐨𐐩"}, {"100%_\\'", "%_\\'"}, {"a🐈b", "🐈B"},
			{"Bella Bengal", "gal bel"}, {`"Quote" OR 1`, `"quote"`}, {"小白狗一", "白狗一"},
		} {
			pet := addPet(t, store, shop.NewPet{Name: c.name, CategoryID: 1})
			for _, indexed := range []bool{false, true} {
				if found := listPets(t, store, queryPets(c.query)); !slices.Contains(found, pet) {
					t.Errorf("%q does not find %q; indexed: %v", c.query, c.name, indexed)
				}
				indexSearch(t, store)
			}
		}
		for _, query := range []string{"%", "_ex", "R_x", "R*", "bel xy gal"} {
			for _, pet := range listPets(t, store, queryPets(query)) {
				if !strings.Contains(pet.Name, query) {
					t.Errorf("%q finds %q", query, pet.Name)
				}
			}
		}
	}},

	// A search finds exactly the animals whose names match the search text. This is true whether animals were added,
	// renamed or removed before or after they were indexed.
	{name: "a search finds what a comparison of all names finds", run: func(t *testing.T, store shop.Store) {
		random := rand.New(rand.NewPCG(1, 2))
		parts := []string{"bella", "ben", "engal", "a", "é", "жук", "小", "白狗", "🐈", "123", "4", " ", " ", " "}
		text := func(most int) string {
			name := "x"
			for range random.IntN(most) {
				name += parts[random.IntN(len(parts))]
			}
			return name
		}
		pets := map[int64]shop.Pet{}
		for range 12 {
			write(t, store, func(tx shop.WriteTx) error {
				for range 40 {
					pet, err := insertPet(tx, shop.NewPet{Name: text(8), CategoryID: random.Int64N(3), Status: shop.Statuses()[random.IntN(2)]})
					if err != nil {
						return err
					}
					pets[pet.ID] = pet
				}
				for id, pet := range pets {
					switch random.IntN(20) {
					case 0:
						if err := tx.DeletePet(pet); err != nil {
							return err
						}
						delete(pets, id)
					case 1, 2:
						after := pet
						after.Name = text(8)
						if err := tx.UpdatePets(shop.PetUpdate{Before: pet, After: after}); err != nil {
							return err
						}
						pets[id] = after
					}
				}
				return nil
			})
			if random.IntN(3) > 0 {
				indexSearch(t, store)
			}
			for range 15 {
				list := queryPets("x" + text(4)[1:])
				list.Limit = 1 + random.IntN(20)
				if random.IntN(2) == 0 {
					list.Status = shop.Statuses()[random.IntN(3)]
				}
				if random.IntN(2) == 0 {
					list.CategoryID = new(random.Int64N(4))
				}
				want := []shop.Pet{}
				for _, pet := range pets {
					if (list.Status == "" || pet.Status == list.Status) && (list.CategoryID == nil || pet.CategoryID == *list.CategoryID) &&
						shop.ContainsWords(pet.Name, shop.SearchWords(list.Query)) {
						want = append(want, pet)
					}
				}
				slices.SortFunc(want, func(a, b shop.Pet) int { return int(b.ID - a.ID) })
				if diff := cmp.Diff(want, listPets(t, store, list)); diff != "" {
					t.Fatalf("%+v: (-want +got)\n%s", list, diff)
				}
			}
		}
	}},

	{name: "a search finds the references of orders", run: func(t *testing.T, store shop.Store) {
		var want []int64
		for i, reference := range []string{"Basket 4711", "", "basket 12", "Korb 4711", "4711 for the Bäsket"} {
			order := addOrder(t, store, shop.Order{PetID: int64(i), Status: shop.Approved, Reference: reference, CreatedAt: utcNow(), UpdatedAt: utcNow()})
			if i == 0 || i == 4 {
				want = append([]int64{order.ID}, want...)
			}
		}
		for _, indexed := range []bool{false, true} {
			var got []int64
			page := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Order], error) {
				return tx.SearchOrders(shop.OrderList{Query: "4711 basket", PageRequest: shop.PageRequest{Limit: 10}})
			})
			for _, order := range page.Items {
				got = append(got, order.ID)
			}
			if !slices.Equal(got, want) || page.More {
				t.Errorf("got %v, more: %v, want %v; indexed: %v", got, page.More, want, indexed)
			}
			indexSearch(t, store)
		}
	}},

	// The work for one page is bounded, whatever the search is for. The next page continues where the search stopped.
	{name: "a search stops after 2,000 animals", run: func(t *testing.T, store shop.Store) {
		const n = 5000
		write(t, store, func(tx shop.WriteTx) error {
			if _, err := tx.EnsureCategories(1, 2); err != nil {
				return err
			}
			var list []shop.NewPet
			for i := range n {
				pet := shop.NewPet{Name: fmt.Sprintf("Bella %d", i), CategoryID: 1, Status: shop.Available}
				if i%2 == 0 {
					pet = shop.NewPet{Name: fmt.Sprintf("Bengal %d", i), CategoryID: 2, Status: shop.Sold}
				}
				list = append(list, pet)
			}
			_, err := tx.InsertPets(list...)
			return err
		})
		search := func(list shop.PetList) (int, int64) {
			list.Limit = 10
			page := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Pet], error) { return tx.SearchPets(list) })
			if !page.More {
				return len(page.Items), 0
			}
			return len(page.Items), page.Next(func(p shop.Pet) int64 { return p.ID })
		}
		stopsAt := func(query string, want int64) {
			t.Helper()
			if items, stopped := search(queryPets(query)); items != 0 || stopped != want {
				t.Errorf("%q: %d items, stopped at %d, want 0 and %d", query, items, stopped, want)
			}
		}
		stopsAt("quokka", 0) // all names that wait for the index are compared
		indexSearch(t, store)
		stopsAt("quokka", 0)       // no name contains three consecutive letters of this word
		stopsAt("bella bengal", 0) // no name has both words, although both are common
		for _, query := range []string{"q", "🐶", "ж", "小", "ql x"} {
			stopsAt(query, n-2000+1)
		}
		common := queryPets("bella") // half of the animals match, but none of them was sold
		common.Status = shop.Sold
		items, stopped := search(common)
		// The search first compares the names of 200 sold animals, and then the next 1,800 names that contain the word.
		if items != 0 || stopped < n-200*2-1800*2-10 || stopped > n-200*2-1800*2+10 {
			t.Errorf("a common word and a filter: %d items, stopped at %d", items, stopped)
		}
		if got := listPets(t, store, common); len(got) != 0 {
			t.Errorf("found %v", got)
		}
		common.CategoryID = new(int64(3))
		if items, stopped := search(common); items != 0 || stopped != 0 {
			t.Errorf("a filter that selects nothing: %d items, stopped at %d", items, stopped)
		}
		if got := listPets(t, store, queryPets("4999")); len(got) != 1 {
			t.Errorf("found %v", got)
		}
	}},
}

func queryPets(query string) shop.PetList {
	return shop.PetList{PetFilter: shop.PetFilter{Query: query}}
}

// indexSearch indexes everything that is not in the search index yet.
func indexSearch(t *testing.T, store shop.Store) {
	t.Helper()
	for batch := (shop.IndexResult{More: true}); batch.More; {
		var err error
		if batch, err = shop.IndexStep(t.Context(), store, batch.Unfinished); err != nil {
			t.Fatal(err)
		}
	}
	if left := get(t, store, shop.ReadTx.CountUnindexed); left != 0 {
		t.Errorf("%d animals and orders are not indexed", left)
	}
}

// searchPets returns all animals that a search finds, page by page.
func searchPets(t *testing.T, store shop.Store, list shop.PetList) []shop.Pet {
	t.Helper()
	found := []shop.Pet{}
	for {
		page := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Pet], error) { return tx.SearchPets(list) })
		found = append(found, page.Items...)
		if !page.More {
			return found
		}
		if len(page.Items) > list.Limit {
			t.Fatalf("a page has %d animals, want at most %d", len(page.Items), list.Limit)
		}
		next := page.Next(func(p shop.Pet) int64 { return p.ID })
		if list.After != nil && next >= *list.After {
			t.Fatalf("the page after %d is followed by the page after %d", *list.After, next)
		}
		list.After = &next
	}
}
