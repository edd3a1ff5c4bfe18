package browser

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"animalstore/internal/shop"
)

var (
	screenshots = flag.String("screenshots", "", "directory for the screenshots in the documentation")
	gallery     = flag.String("gallery", "", "directory for screenshots of every page")
)

// TestScreenshots takes the screenshots for the documentation. With the flag -gallery, it also takes screenshots of
// every page for a review. Run it with `make screenshots`.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.fillDemo()
	s.endHoldToday(s.reserve("Nala", "Mrs Miller").ID)
	p := s.signIn(desktop, s.adminKey("Anna"))
	animal := fmt.Sprint("/staff/pets/", s.mostOrderedPet())
	folder := *screenshots
	if folder == "" {
		folder = t.TempDir()
	}
	p.look(desktop, "light")
	p.take(folder, "staff", "/staff/pets", ".pets .name")
	p.take(folder, "staff-today", "/", ".chart svg")
	p.take(folder, "staff-animal", animal, ".history li")
	p.look(390, "dark")
	p.take(folder, "staff-phone", "/staff/pets", ".pets .name")
	if *gallery != "" {
		p.takeGallery(animal)
	}
}

// adminKey creates a key for a person who may do everything.
func (s *testShop) adminKey(name string) string {
	s.t.Helper()
	key, err := s.CreateKey(s.t.Context(), shop.Caller{}, shop.NewKey{Name: name, Scopes: []shop.Scope{shop.Admin}})
	if err != nil {
		s.t.Fatal(err)
	}
	return key.Secret
}

// takeGallery takes a screenshot of every page for a desktop, a tablet and a phone, in light and in dark colours.
func (p *user) takeGallery(animal string) {
	p.t.Helper()
	hook, err := p.shop.CreateWebhook(p.t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://accounts.example.com/animalstore"})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.shop.TestWebhook(p.t.Context(), shop.Caller{}, hook.ID); err != nil {
		p.t.Fatal(err)
	}
	p.shop.adminKey("Till")
	empty := newShop(p.t, shop.Staging)
	newcomer := empty.signIn(desktop, empty.adminKey("Ben"))
	open := p.shop.reserve("Bartholomew Maximilian von Habichtsburg-Lindenau the Third", "Mrs Alexandra Konstantinopoulou-Featherstonehaugh, collects with her sister on Saturday")
	plain := p.shop.signIn(desktop, p.shop.adminKey("Carl"))
	plain.Run(emulation.SetScriptExecutionDisabled(true))
	guest := p.shop.signIn(desktop, p.shop.adminKey("Guest"))
	guest.click(".account > summary")
	guest.click(`.account [action="/staff/sign-out"] button`)
	guest.waitVisible(".sign-in")
	for _, width := range []int{1440, 1100, 820, 390} {
		for _, theme := range []string{"light", "dark"} {
			take := func(p *user, name, path string, clicks ...string) {
				p.look(width, theme)
				p.take(*gallery, fmt.Sprintf("%s-%d-%s", name, width, theme), path, "main", clicks...)
			}
			take(p, "today", "/")
			take(p, "animals", "/staff/pets")
			take(p, "animals-add", "/staff/pets", ".panel > summary")
			take(p, "animals-menu", "/staff/pets", ".pets tbody:last-of-type tr:nth-child(3) .menu > summary")
			take(p, "animals-edit", "/staff/pets", ".pets tbody:last-of-type tr:nth-child(3) .menu > summary", ".menu[open] [id$=-edit]")
			take(p, "animals-none", "/staff/pets?name=zzz")
			take(p, "animal", animal)
			take(p, "animal-available", "/staff/pets/"+fmt.Sprint(p.shop.availablePet()))
			take(p, "edit", animal+"/edit")
			// takeAfter is like take, but clicks first and then waits until the element that effect selects is visible.
			takeAfter := func(p *user, name, effect, path string, clicks ...string) {
				p.look(width, theme)
				p.open(path, "main")
				for _, selector := range clicks {
					p.click(selector)
				}
				p.waitVisible(effect)
				p.capture(*gallery, fmt.Sprintf("%s-%d-%s", name, width, theme))
			}
			none := "/staff/pets/" + fmt.Sprint(p.shop.AddPet(p.t, "Nala", 1, "").ID)
			takeAfter(p, "question", "dialog[open]", none, "#to-available")
			takeAfter(plain, "question-page", ".confirm", none, "#to-available")
			const first, second = `.pets tbody:last-of-type tr:nth-child(1) [name="pet"]`, `.pets tbody:last-of-type tr:nth-child(2) [name="pet"]`
			take(p, "bulk", "/staff/pets?status=available", first, second)
			take(p, "bulk-category", "/staff/pets?status=available", first, second, "[popovertarget=bulk-category]")
			takeAfter(p, "bulk-question", "dialog[open]", "/staff/pets?status=none", first, "#bulk .menu > summary", `#bulk [value="sold"]`)
			takeAfter(p, "bulk-removed", "#flashes form", "/staff/pets?status=available", first, second, `#bulk [value="remove"]`)
			takeAfter(p, "bulk-problems", ".bulk-outcome", "/staff/pets?status=pending", first, second, `#bulk [value="remove"]`)
			takeAfter(plain, "bulk-result", ".confirm", "/staff/pets?status=sold", first, `#bulk [value="remove"]`)
			takeAfter(p, "removed-animal", ".badge.removed", "/staff/pets/"+fmt.Sprint(p.shop.availablePet()), ".page-head .menu > summary", "#remove")
			take(p, "removed-animals", "/staff/pets/removed")
			take(p, "orders", "/staff/orders")
			take(p, "orders-none", "/staff/orders?q=nobody")
			take(p, "orders-menu", "/staff/orders?status=placed", ".orders tr:nth-child(2) .menu > summary")
			take(p, "order", "/staff/orders/1")
			take(p, "order-open", fmt.Sprint("/staff/orders/", open.ID))
			takeAfter(p, "order-saved", "#flashes button", fmt.Sprint("/staff/orders/", open.ID), ".page-head [aria-label^=Extend]", fmt.Sprintf("#extend-%d-1", open.ID))
			take(p, "print-orders", "/staff/orders/print?sort=oldest&status=approved")
			take(p, "print-order", fmt.Sprintf("/staff/orders/%d/print", open.ID))
			take(p, "activity", "/staff/activity")
			take(p, "activity-none", "/staff/activity?animal=999999")
			take(p, "search-empty", "/staff/pets")
			p.shortcut("/", input.ModifierNone)
			p.capture(*gallery, fmt.Sprintf("search-empty-%d-%s", width, theme))
			p.press("mi")
			p.waitVisible("#search-dialog [role=option]")
			p.capture(*gallery, fmt.Sprintf("search-%d-%s", width, theme))
			p.fill("#search-input", "zzz")
			p.waitVisible("#search-results .empty")
			p.capture(*gallery, fmt.Sprintf("search-none-%d-%s", width, theme))
			take(p, "search-page", "/staff/search?q=ri")
			take(p, "categories", "/staff/categories")
			take(p, "files", "/staff/import")
			take(p, "webhooks", "/staff/webhooks")
			take(p, "webhook", fmt.Sprint("/staff/webhooks/", hook.ID))
			take(p, "keys", "/staff/people")
			take(p, "settings", "/staff/settings")
			take(p, "keys-add", "/staff/people", ".panel > summary")
			take(p, "keys-revoke", "/staff/people", "#person-2 .menu > summary", "[popovertarget=revoke-2]")
			take(p, "devices", "/staff/devices")
			p.open("/staff/people")
			p.click("#person-2 .sign-in-link button")
			p.waitVisible(".qr")
			p.capture(*gallery, fmt.Sprintf("new-link-%d-%s", width, theme))
			take(guest, "link", strings.TrimPrefix(p.text("#link"), p.shop.url))
			take(guest, "link-used", "/staff/sign-in/link?token=used")
			guest.ConsoleErrors() // discards the expected error about the link that no longer works
			take(p, "not-found", "/staff/nowhere")
			p.ConsoleErrors() // discards the expected error about the page that was not found
			take(newcomer, "empty-today", "/")
			take(newcomer, "empty-animals", "/staff/pets")
			take(newcomer, "empty-orders", "/staff/orders")
			take(newcomer, "empty-activity", "/staff/activity?kind=orders")
			take(newcomer, "empty-removed", "/staff/pets/removed")
			take(guest, "sign-in", "/staff/sign-in?next=%2Fstaff%2Fpets")
			menu := ".account > summary"
			if width < 700 {
				menu = ".tabbar .menu > summary"
			}
			take(p, "account", "/", menu)
		}
	}
}

// look sets the width of the page and the preferred colours.
func (p *user) look(width int, theme string) {
	p.t.Helper()
	height, mobile, scale := int64(900), width < 700, 1.0
	if mobile {
		height, scale = 844, 2
	}
	p.Run(emulation.SetDeviceMetricsOverride(int64(width), height, scale, mobile))
	p.prefer(theme)
}

// take opens a page, waits until the element that ready selects is visible, clicks some elements and stores a
// screenshot.
func (p *user) take(folder, name, path, ready string, clicks ...string) {
	p.t.Helper()
	p.open(path, ready)
	for _, selector := range clicks {
		p.click(selector)
	}
	p.capture(folder, name)
}

// capture stores a screenshot of the open page.
func (p *user) capture(folder, name string) {
	p.t.Helper()
	p.waitFor(`document.readyState === "complete" && !document.querySelector("[data-busy]")`)
	var picture []byte
	p.Run(chromedp.CaptureScreenshot(&picture))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
	if len(picture) < 5000 {
		p.t.Errorf("the screenshot %s is nearly empty", name)
	}
}

// mostOrderedPet returns the id of the reserved animal with the most orders.
func (s *testShop) mostOrderedPet() (id int64) {
	s.t.Helper()
	orders, err := s.ListOrders(s.t.Context(), shop.Caller{}, shop.OrderList{PageRequest: shop.PageRequest{Limit: 1000}})
	if err != nil {
		s.t.Fatal(err)
	}
	times := map[int64]int{}
	for _, order := range slices.Backward(orders.Items) { // oldest first, so that an animal's open order comes last
		if times[order.PetID]++; order.Status == shop.Placed && times[order.PetID] > times[id] {
			id = order.PetID
		}
	}
	return id
}

// availablePet returns the id of an animal that can be reserved.
func (s *testShop) availablePet() int64 {
	s.t.Helper()
	page, err := s.ListPets(s.t.Context(), shop.Caller{}, shop.PetList{PetFilter: shop.PetFilter{Status: shop.Available}, PageRequest: shop.PageRequest{Limit: 1}}, nil)
	if err != nil || len(page.Items) == 0 {
		s.t.Fatalf("found the animals %v, %v", page.Items, err)
	}
	return page.Items[0].ID
}
