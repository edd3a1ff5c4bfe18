package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// Even if clients send more searches than the store has connections, the service still authenticates keys, reports
// its readiness and answers reads that use an index. A key with too many searches gets a 429. The searches of another
// key still get their turn.
func TestSearchesDoNotDelayOtherReads(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		greedy, another := s.Key(t, shop.PetsRead), s.Key(t, shop.Admin)
		principal, err := s.Authenticate(t.Context(), greedy.Secret)
		if err != nil {
			t.Fatal(err)
		}
		began, release := s.Store.HoldSearches()
		var searches sync.WaitGroup
		search := func(by shop.Caller, n int) {
			for i := range n {
				searches.Go(func() {
					list := shop.PetList{PetFilter: shop.PetFilter{Query: fmt.Sprint(i)}, PageRequest: shop.PageRequest{Limit: 1}}
					if _, err := s.ListPets(t.Context(), by, list, nil); err != nil {
						t.Error(err)
					}
				})
			}
		}
		defer searches.Wait()
		defer release()
		// With two keys, start at least as many searches as the store has connections. Without a limit, all of them
		// would begin.
		limits := s.Store.ReadLimits()
		search(shop.Caller{Principal: principal}, 60)
		search(shop.Caller{}, 40)
		for range limits.Heavy {
			pgtest.AwaitSignal(t, "a search to begin", began)
		}
		pgtest.Await(t, "the other searches to wait", func() bool {
			running, waiting, _ := s.HeavyReads()
			return running == limits.Heavy && running+waiting == 100
		})
		for path, status := range map[string]int{
			"/readyz": 200, "/v1/keys/current": 200, "/v1/pets": 200, fmt.Sprint("/v1/pets/", pet.ID): 200, "/v1/pets?status=available": 200,
			"/v1/categories/1": 200, "/v1/store/orders": 200, "/v1/store/orders/7": 404, "/v1/store/inventory": 200, "/v1/events": 200,
		} {
			if got := s.do("GET", path, "", "Authorization: Bearer "+another.Secret); got.StatusCode != status {
				t.Errorf("GET %s returned %d: %s", path, got.StatusCode, got.body)
			}
		}
		search(shop.Caller{Principal: principal}, 64-60+max(1, limits.Heavy/2))
		pgtest.Await(t, "the queue of the key to be full", func() bool {
			running, waiting, _ := s.HeavyReads()
			return running+waiting == 100+64-60+max(1, limits.Heavy/2)
		})
		got := s.do("GET", "/v1/pets?q=one+more", "", "Authorization: Bearer "+greedy.Secret)
		if got.StatusCode != 429 || got.Header.Get("Retry-After") != "1" {
			t.Errorf("one more search of the key returned %d: %s", got.StatusCode, got.body)
		}
		release()
		if got := s.do("GET", "/v1/pets?q=re", "", "Authorization: Bearer "+another.Secret); got.StatusCode != 200 {
			t.Errorf("the search of another key returned %d: %s", got.StatusCode, got.body)
		}
	})
}

// A search ends as soon as its client disconnects, whether the search was running or waiting.
func TestSearchEndsWithItsClient(t *testing.T) {
	s := parallelShop(t)
	began, release := s.Store.HoldSearches()
	t.Cleanup(release)
	ctx, disconnect := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i := range 10 {
		clients.Go(func() {
			request, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/v1/pets?q=%d", s.url, i), nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Authorization", "Bearer "+adminKey)
			if response, err := s.client.Do(request); err == nil {
				t.Errorf("got %s", response.Status)
				response.Body.Close()
			}
		})
	}
	pgtest.AwaitSignal(t, "a search to begin", began)
	pgtest.Await(t, "all searches to begin or wait", func() bool {
		running, waiting, _ := s.HeavyReads()
		return running > 0 && running+waiting == 10
	})
	disconnect()
	clients.Wait()
	pgtest.Await(t, "the searches to end", func() bool {
		running, waiting, _ := s.HeavyReads()
		return running+waiting == 0
	})
}
