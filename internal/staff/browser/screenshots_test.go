package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"animalstore/internal/shop"
)

// The pages look as they are shown in the documentation: `make screenshots` makes the pictures from here.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	if _, err := s.service.FillDemo(t.Context()); err != nil {
		t.Fatal(err)
	}
	for pet, reference := range map[int64]string{6: "Mrs Novák, calls on Friday", 8: "Ben", 13: ""} {
		order, err := s.service.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet, Reference: reference})
		if err == nil && pet == 8 {
			_, err = s.service.UpdateOrder(t.Context(), order.ID, shop.Approved, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	if *screenshots != "" {
		folder = *screenshots
	}
	key := s.key(shop.Admin)
	take := func(p *person, name, path, ready string) {
		p.open(path)
		p.see(ready)
		var picture []byte
		p.Run(chromedp.CaptureScreenshot(&picture))
		if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
		if len(picture) < 5000 {
			t.Errorf("%s is nearly empty", name)
		}
	}
	p := s.visit(desk, key.Secret)
	take(p, "staff", "/staff/pets", "#pet-42")
	take(p, "staff-today", "/", ".plot canvas")
	take(p, "staff-animal", "/staff/pets/6", ".history li")
	take(p, "staff-orders", "/staff/orders", "#order-1")
	if *screenshots == "" {
		return
	}
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	take(p, "staff-dark", "/", ".plot canvas")
	p.Run(emulation.SetDeviceMetricsOverride(phone, 740, 2, true))
	take(p, "staff-phone", "/staff/pets", "#pet-42")
}
