package httpapi

import (
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// On PostgreSQL, reading a page or an animal that is not cached takes one round trip, even after the connection was
// idle. If the API key is not cached, the request takes one more round trip.
func TestReadsTakeOneRoundTrip(t *testing.T) {
	t.Parallel()
	proxy := pgtest.StartProxy(t, shoptest.NewPostgresDatabase(t))
	s := newShopWith(t, shoptest.Options{Database: proxy.URL() + "&pool_max_conns=2"})
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	get := func(path, key string) (roundTrips int) {
		s.api.pageCache, s.api.petCache = newResponseCache(s.Service), newResponseCache(s.Service)
		before := proxy.RoundTrips()
		s.do("GET", path, "", "Authorization: Bearer "+key).want(t, 200, "")
		return proxy.RoundTrips() - before
	}
	// Each of the two connections prepares the statement for the path and that for the key once, which takes another round
	// trip. So at least one of five requests does not prepare any.
	least := func(path string, key func() string) (roundTrips int) {
		roundTrips = get(path, key())
		for range 4 {
			roundTrips = min(roundTrips, get(path, key()))
		}
		return roundTrips
	}
	cached := func() string { return shoptest.AdminKey }
	uncached := func() string { return s.Key(t, shop.Admin).Secret }
	get("/v1/pets", uncached())
	s.awaitCache()
	for _, path := range []string{
		"/v1/pets", "/v1/pets?status=pending&categoryId=1", "/v1/pets?status=sold", "/v1/pets?id=1&id=2", "/v1/pets/1",
		"/v1/store/orders", "/v1/store/orders/1", "/v1/store/inventory", "/v1/store", "/v1/categories", "/v1/categories/1",
	} {
		if n := least(path, cached); n != 1 {
			t.Errorf("GET %s took %d round trips, want 1", path, n)
		}
		if n := least(path, uncached); n != 2 {
			t.Errorf("GET %s with a key that is not cached took %d round trips, want 2", path, n)
		}
	}
}
