package browser

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"animalstore/internal/shop"
)

// The pages look as they are shown in the documentation: `make screenshots` makes the pictures from here.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.liveThrough(30)
	folder := t.TempDir()
	if *screenshots != "" {
		folder = *screenshots
	}
	anna, err := s.service.CreateKey(t.Context(), shop.NewKey{Name: "Anna", Scopes: []shop.Scope{shop.Admin}})
	if err != nil {
		t.Fatal(err)
	}
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
	p := s.visit(desk, anna.Secret)
	take(p, "staff", "/staff/pets", ".pets .name")
	take(p, "staff-today", "/", ".plot canvas")
	take(p, "staff-animal", "/staff/pets/6", ".history li")
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.Run(emulation.SetDeviceMetricsOverride(phone, 740, 2, true))
	take(p, "staff-phone", "/staff/pets", ".pets .name")
}

// liveThrough lets the demo shop live through some days, up to now.
func (s *openShop) liveThrough(days int) {
	s.t.Helper()
	ctx := s.t.Context()
	check := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	till, err := s.service.CreateKey(ctx, shop.NewKey{Name: "Ben, at the till", Scopes: workerScopes()})
	check(err)
	as, err := s.service.Authenticate(ctx, till.Secret)
	check(err)
	ctx = shop.WithPrincipal(ctx, as)
	names := []string{"Archie", "Bailey", "Cleo", "Dexter", "Ella", "Fritz", "Gizmo", "Holly", "Ivy", "Jasper", "Koko", "Leo", "Mia", "Nala", "Otto", "Poppy"}
	s.ahead.Store(int64(-time.Duration(days) * 24 * time.Hour))
	_, err = s.service.FillDemo(ctx)
	check(err)
	for day := days - 1; day >= 0; day-- {
		s.ahead.Store(int64(-time.Duration(day) * 24 * time.Hour))
		for i := range (day*7 + 3) % 5 {
			pet, err := s.service.CreatePet(ctx, shop.NewPet{Name: names[(day*3+i)%len(names)], CategoryID: int64(1 + (day+i)%6), Status: shop.Available})
			check(err)
			if i > 0 && day > 2 {
				order, err := s.service.PlaceOrder(ctx, shop.NewOrder{PetID: pet.ID})
				check(err)
				for _, step := range []shop.OrderStatus{shop.Approved, shop.Delivered} {
					_, err = s.service.UpdateOrder(ctx, order.ID, step, nil)
					check(err)
				}
			}
		}
	}
	for _, hold := range []struct {
		pet       int64
		ago       time.Duration
		reference string
		approved  bool
	}{{6, 70 * time.Hour, "Mrs Novák, calls on Friday", false}, {8, 60 * time.Hour, "Ben", false}, {13, 3 * time.Hour, "", false}, {15, time.Hour, "Family Okafor", true}} {
		s.ahead.Store(int64(-hold.ago))
		order, err := s.service.PlaceOrder(ctx, shop.NewOrder{PetID: hold.pet, Reference: hold.reference})
		check(err)
		if hold.approved {
			_, err = s.service.UpdateOrder(ctx, order.ID, shop.Approved, nil)
			check(err)
		}
	}
	s.ahead.Store(0)
}
