package httpapi

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A change that commits during a load makes the loaded response stale, even if the load read the old state.
func TestResponseLoadedDuringAChangeIsNotServedAgain(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	cache := newResponseCache(s.Service)
	get := func(load func() (cachedResponse, error)) string {
		response, err := cache.get(t.Context(), 0, "GET /pets", load)
		if err != nil {
			t.Fatal(err)
		}
		return string(response.body)
	}
	get(func() (cachedResponse, error) {
		before := cachedResponse{body: []byte("before the change")}
		s.AddPet(t, "Rex", 1, shop.Available)
		return before, nil
	})
	after := func() (cachedResponse, error) { return cachedResponse{body: []byte("after the change")}, nil }
	if got := get(after); got != "after the change" {
		t.Errorf("got the response from %s, want the one from after the change", got)
	}
}
