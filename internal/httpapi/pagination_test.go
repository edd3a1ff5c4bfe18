package httpapi

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

// A client reads all pages while other clients add animals. It sees every animal that existed from the
// start exactly once and no animal twice. This holds for any page size and filter.
func TestPaginationDuringInserts(t *testing.T) {
	onBothEngines(t, wantConsistentPages)
}

func wantConsistentPages(t *testing.T, s *testShop) {
	var standing []shop.Pet
	addSome := func(n int) error {
		for i := range n {
			body := fmt.Sprintf(`{"name":"%s %d","categoryId":%d%s}`, []string{"Rex", "Mia"}[i%2], i, i%3,
				[]string{"", `,"status":"available"`, `,"status":"sold"`}[i/2%3])
			got, err := s.tryDo("POST", "/v1/pets", body)
			if err != nil || got.StatusCode != 201 {
				return fmt.Errorf("adding: %v %s", err, got.body)
			}
		}
		return nil
	}
	if err := addSome(40); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(4, 50).Draw(t, "limit")
		filter := rapid.SampledFrom([]string{"", "&status=available", "&categoryId=1", "&status=sold&categoryId=2", "&q=rEX"}).Draw(t, "filter")
		adders := rapid.IntRange(1, 3).Draw(t, "adders")
		first := fmt.Sprintf("/v1/pets?limit=%d%s", limit, filter)

		standing = walk(t, s, first, func() {}) // the animals that exist before other clients add more
		var wg sync.WaitGroup
		errs := make(chan error, adders)
		adding := sync.OnceFunc(func() {
			for range adders {
				wg.Go(func() { errs <- addSome(2) })
			}
		})
		seen := map[int64]int{}
		for _, pet := range walk(t, s, first, adding) {
			seen[pet.ID]++
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, pet := range standing {
			if seen[pet.ID] != 1 {
				t.Errorf("animal %d was there throughout, but was seen %d times", pet.ID, seen[pet.ID])
			}
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("animal %d was seen %d times", id, times)
			}
		}
	})
}

// walk reads all pages, starting at the given path. It calls afterFirst after each page, so the caller
// passes a function that has an effect only once.
func walk(t *rapid.T, s *testShop, path string, afterFirst func()) (all []shop.Pet) {
	for path != "" {
		got, err := s.tryDo("GET", path, "")
		if err != nil || got.StatusCode != 200 {
			t.Fatalf("%s: %v %s", path, err, got.body)
		}
		var pets []shop.Pet
		if err := json.Unmarshal(got.body, &pets); err != nil {
			t.Fatal(err)
		}
		all = append(all, pets...)
		path = got.link("next")
		afterFirst()
	}
	return all
}
