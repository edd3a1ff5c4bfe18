package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"animalstore/internal/shop"
)

// TestScreenshots takes the screenshots for the documentation. Run it with `make screenshots`.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.fillDemo()
	folder := t.TempDir()
	if *screenshots != "" {
		folder = *screenshots
	}
	anna, err := s.CreateKey(t.Context(), shop.NewKey{Name: "Anna", Scopes: []shop.Scope{shop.Admin}})
	if err != nil {
		t.Fatal(err)
	}
	take := func(p *user, name, path, ready string) {
		p.open(path, ready)
		var picture []byte
		p.Run(chromedp.CaptureScreenshot(&picture))
		if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
		if len(picture) < 5000 {
			t.Errorf("the screenshot %s is nearly empty", name)
		}
	}
	p := s.signIn(desktop, anna.Secret)
	take(p, "staff", "/staff/pets", ".pets .name")
	take(p, "staff-today", "/", ".chart canvas")
	take(p, "staff-animal", fmt.Sprint("/staff/pets/", s.mostOrderedPet()), ".history li")
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.Run(emulation.SetDeviceMetricsOverride(phone, 740, 2, true))
	take(p, "staff-phone", "/staff/pets", ".pets .name")
}

// mostOrderedPet returns the id of the reserved animal with the most orders.
func (s *testShop) mostOrderedPet() (id int64) {
	s.t.Helper()
	orders, err := s.ListOrders(s.t.Context(), shop.OrderList{PageRequest: shop.PageRequest{Limit: 1000}})
	if err != nil {
		s.t.Fatal(err)
	}
	times := map[int64]int{}
	for _, order := range slices.Backward(orders.Items) { // oldest first, so that the open order is an animal's last
		if times[order.PetID]++; order.Status == shop.Placed && times[order.PetID] > times[id] {
			id = order.PetID
		}
	}
	return id
}
