package httpapi

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// On PostgreSQL, a page or an animal that is not cached takes one round trip, however long the connection was
// idle. A key whose credential is not cached takes one more.
func TestReadsTakeOneRoundTrip(t *testing.T) {
	t.Parallel()
	proxy := pgtest.StartProxy(t, shoptest.NewPostgresDatabase(t))
	s := newShopWith(t, shoptest.Options{Database: proxy.URL() + "&pool_max_conns=1"})
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	get := func(path, key string) (roundTrips int) {
		s.api.pageCache, s.api.petCache = newResponseCache(s.Service), newResponseCache(s.Service)
		before := proxy.RoundTrips()
		s.do("GET", path, "", "Authorization: Bearer "+key).want(t, 200, "")
		return proxy.RoundTrips() - before
	}
	get("/v1/pets", s.Key(t, shop.Admin).Secret)
	pgtest.Await(t, "the response cache", func() bool {
		get("/v1/pets", shoptest.AdminKey)
		return cacheIsUsable(t, s)
	})
	for _, path := range []string{
		"/v1/pets", "/v1/pets?status=pending&categoryId=1", "/v1/pets?status=sold", "/v1/pets?id=1&id=2", "/v1/pets/1",
		"/v1/store/orders", "/v1/store/orders/1", "/v1/store/inventory", "/v1/categories", "/v1/categories/1",
	} {
		get(path, shoptest.AdminKey) // prepares the statement, once per connection
		if n := get(path, shoptest.AdminKey); n != 1 {
			t.Errorf("GET %s took %d round trips, want 1", path, n)
		}
		if n := get(path, s.Key(t, shop.Admin).Secret); n != 2 {
			t.Errorf("GET %s with a key that is not cached took %d round trips, want 2", path, n)
		}
	}
}

// cacheIsUsable returns the metric that says whether the store can confirm cached responses.
func cacheIsUsable(t *testing.T, s *testShop) bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Store.SQL.Collectors()...)
	for _, family := range shoptest.Must(registry.Gather())(t) {
		if family.GetName() == "animalstore_postgres_response_cache_usable" {
			return family.GetMetric()[0].GetGauge().GetValue() == 1
		}
	}
	t.Fatal("the metric is missing")
	return false
}
