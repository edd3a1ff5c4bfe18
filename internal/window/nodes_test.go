package window

import (
	"flag"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

var rounds = flag.Int("rounds", 100, "how often TestSaleIsSeenOnTheOtherNode sells an animal")

// A sale on one node is seen on another with the next request, every time.
func TestSaleIsSeenOnTheOtherNode(t *testing.T) {
	t.Parallel()
	w := serveWindow(t, shoptest.Open(t, shoptest.Options{Postgres: true}))
	w.switchOn()
	bella := w.publish("Bella", 1)
	store, err := shoptest.OpenAt(t.Context(), w.Database, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Store.Close()
	other := serveWindow(t, store)
	for round := range *rounds {
		other.get("/window").want(t, 200, "Bella")
		other.get("/window").want(t, 200, "Bella") // from the cache
		w.setStatus(bella.ID, shop.Sold)
		other.get("/window").want(t, 200, "-Bella")
		other.get(petPath(bella.ID)).want(t, 410)
		w.setStatus(bella.ID, shop.Available)
		other.get(petPath(bella.ID)).want(t, 200)
		if t.Failed() {
			t.Fatalf("in round %d of %d", round+1, *rounds)
		}
	}
}
