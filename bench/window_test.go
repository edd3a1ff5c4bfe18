package bench

import (
	"fmt"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestWindow compares the first page of the shop window with a bare handler that sends the same bytes on SQLite, and with
// the list of animals on PostgreSQL. `make bench-window` runs it.
func TestWindow(t *testing.T) {
	if *pairs == 0 {
		t.Skip("runs by hand: make bench-window")
	}
	binary := buildStatic(t)
	page, list := request{method: "GET", path: "/window"}, request{method: "GET", path: "/v1/pets?limit=20"}
	t.Run("SQLite", func(t *testing.T) {
		const least = 0.5
		s := start(t, newVersion, binary, programtest.NewFolderWithKey(t), "animalstore.db")
		fillWindow(t, s)
		c := row{fmt.Sprintf("the window, %d bytes", len(page.record(t, s).body)), nil}
		c.samples = measure(t, benchCase{c.name, page.load, replay(page)}, []*subject{s}, true)
		ratio := median(c.ratios(bare))
		fmt.Printf("SQLite: %s: %s, bare %s, ratio %.2f\n", c.name, c.figures(newVersion), c.figures(bare), ratio)
		if ratio < least {
			t.Errorf("the window is served at %.2f of the rate of the bare handler, want at least %.2f", ratio, least)
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		const least = 0.8
		s := start(t, newVersion, binary, programtest.NewFolderWithKey(t), pgtest.Start(t, pgtest.Durable...).URL())
		fillWindow(t, s)
		var ratios []float64
		for turn := range *pairs + 1 {
			rate := func(r request) float64 {
				got, err := r.load(t, s, turn)
				if err != nil {
					t.Fatal(err)
				}
				return got.perSecond
			}
			var shown, listed float64
			if turn%2 == 0 {
				shown, listed = rate(page), rate(list)
			} else {
				listed, shown = rate(list), rate(page)
			}
			fmt.Printf("PostgreSQL: the window %.0f/s, /v1/pets %.0f/s, ratio %.2f\n", shown, listed, shown/listed)
			if turn > 0 { // the first turn fills the caches
				ratios = append(ratios, shown/listed)
			}
		}
		if ratio := median(ratios); ratio < least {
			t.Errorf("the window is served at %.2f of the rate of /v1/pets, want at least %.2f", ratio, least)
		} else {
			fmt.Printf("PostgreSQL: ratio %.2f\n", ratio)
		}
	})
}

// fillWindow adds a hundred animals, publishes them, and switches the shop window on.
func fillWindow(t *testing.T, s *subject) {
	t.Helper()
	send := func(status int, method, path, body string) {
		t.Helper()
		if got, err := s.send(method, path, body); err != nil || got.status != status {
			t.Fatalf("%s %s: got %d %s (error %v)", method, path, got.status, got.body, err)
		}
	}
	send(200, "PATCH", "/v1/store", `{"window":{"enabled":true}}`)
	for i := range 100 {
		send(201, "POST", "/v1/pets", fmt.Sprintf(`{"name":"Animal %d","categoryId":%d,"status":"available"}`, i, i%7))
		send(200, "PATCH", fmt.Sprintf("/v1/pets/%d/profile", i+1),
			`{"published":true,"breeds":["Beagle"],"sex":"female","size":"small","birthDate":"2024-02-01","price":{"amount":"250.00","currency":"EUR"},"tags":["calm"]}`)
	}
}
