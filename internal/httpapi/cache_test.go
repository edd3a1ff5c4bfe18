package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// Once the service has confirmed a change, every response includes it, even if many clients read at the same time.
func TestCachedResponsesAreNeverStale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		s.skipValidation = true
		s.awaitCache()
		s.add(`{"name":"0","categoryId":1,"status":"available"}`)
		var told atomic.Int64
		var ended atomic.Bool
		var reading sync.WaitGroup
		for _, path := range []string{"/v1/pets?status=available", "/v1/pets", "/v1/pets/1", "/v1/pets?id=1"} {
			reading.Go(func() {
				for !ended.Load() {
					least := told.Load()
					got, err := s.tryDo("GET", path, "")
					if err != nil || got.StatusCode != 200 {
						t.Errorf("%s: %v %s", path, err, got.body)
						return
					}
					var seen int64
					_, name, _ := strings.Cut(string(got.body), `"name":"`)
					if fmt.Sscan(name, &seen); seen < least {
						t.Errorf("%s returns %d after %d was confirmed", path, seen, least)
						return
					}
				}
			})
		}
		for n := range int64(50) {
			s.do("PATCH", "/v1/pets/1", fmt.Sprintf(`{"name":"%d"}`, n+1)).want(t, 200, "")
			told.Store(n + 1)
		}
		ended.Store(true)
		reading.Wait()
	})
}

// If a change is committed while a response is being loaded, only the request that started the load gets this response.
// Later requests do not get it.
func TestResponseLoadedDuringAChangeIsNotServedAgain(t *testing.T) {
	s := parallelShop(t)
	cache := newResponseCache(s.Service)
	for _, want := range []string{"before the change", "after the change"} {
		got, err := cache.Get(t.Context(), 0, "GET /pets", func(valid *shop.Validity) (cachedResponse, error) {
			_, err := s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: shop.PageRequest{Limit: 1}}, valid)
			s.AddPet(t, "Rex", 1, shop.Available)
			return cachedResponse{body: []byte(want)}, err
		})
		if err != nil || string(got.body) != want {
			t.Errorf("got the response from %s (%v), want the one from %s", got.body, err, want)
		}
	}
}

// If the catalogue has changed since a load began, a request that arrives after the change does not use the response of
// that load.
func TestRequestIgnoresALoadFromBeforeAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := shoptest.Open(t, shoptest.Options{})
		cache, gate := newResponseCache(s.Service), make(chan struct{})
		var running sync.WaitGroup
		get := func(want int) {
			got, err := cache.Get(t.Context(), 0, "GET /pets", func(valid *shop.Validity) (cachedResponse, error) {
				page, err := s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: shop.PageRequest{Limit: 1}}, valid)
				<-gate
				return cachedResponse{body: fmt.Append(nil, len(page.Items))}, err
			})
			if err != nil || string(got.body) != fmt.Sprint(want) {
				t.Errorf("got %s animals (%v), want %d", got.body, err, want)
			}
		}
		running.Go(func() { get(0) })
		synctest.Wait()
		s.AddPet(t, "Rex", 1, shop.Available)
		running.Go(func() { get(1) })
		synctest.Wait() // the second request waits for the first one
		close(gate)
		running.Wait()
	})
}

// A cached response expires as soon as a hold expires. Errors are not cached.
func TestCachedResponsesExpireWithAHold(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		s.awaitCache()
		s.Store.FailWith(func(bool) error { return shop.UnavailableError(nil) })
		s.do("GET", "/v1/pets?status=available", "").wantError(t, 503, shop.Unavailable)
		s.Store.FailWith(nil)
		s.do("GET", "/v1/pets?status=available", "").want(t, 200, "[]")
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
		for range 2 { // the second response comes from the cache
			s.do("GET", "/v1/pets?status=available", "").want(t, 200, "[]")
		}
		s.Clock.Forward(shop.DefaultOrderHold)
		s.do("GET", "/v1/pets?status=available", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"available"}]`)
	})
}

// awaitCache waits until responses are cached. On PostgreSQL, the store must first open the session with which it
// confirms that cached responses are valid.
func (s *testShop) awaitCache() {
	s.t.Helper()
	if !sqlstore.IsURL(s.Database) {
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Store.SQL.Collectors()...)
	pgtest.Await(s.t, "the response cache", func() bool {
		s.do("GET", "/v1/pets", "")
		families := shoptest.Must(registry.Gather())(s.t)
		return slices.ContainsFunc(families, func(f *dto.MetricFamily) bool {
			return f.GetName() == "animalstore_postgres_response_cache_usable" && f.GetMetric()[0].GetGauge().GetValue() == 1
		})
	})
}

// All clients share the cache, but the links in a response contain the host that the client used.
func TestCachedResponsesGetLinksPerClient(t *testing.T) {
	s := parallelShop(t)
	for _, host := range []string{"one.example", "two.example", "one.example"} {
		got := s.exchange(t, "GET /v1/pets HTTP/1.1\r\nHost: "+host+"\r\n"+keyLine+"\r\n")
		got.wantHeaders(t, "Link: <http://"+host+`/v1/pets?limit=20>; rel="first"`)
	}
}

// The cache counts every part of a response.
func TestCachedResponseCountsItsBytes(t *testing.T) {
	t.Parallel()
	r := cachedResponse{tag: "1", body: make([]byte, 10, 20), first: "333", next: "4444"}
	if got := r.Bytes(); got != 1+20+3+4 {
		t.Errorf("got %d bytes, want 28", got)
	}
}
