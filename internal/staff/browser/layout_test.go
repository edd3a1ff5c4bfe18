package browser

import (
	_ "embed"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// unreachable evaluates to what stands between a user and the actions of the page: links, buttons and fields.
//
//go:embed unreachable.js
var unreachable string

var everyWidth = flag.Bool("every-width", false, "look at the pages at every 20 pixels, in light and in dark colours")

// At every width of a screen, a finger reaches every action: none is covered, off screen or too small, and no page
// scrolls sideways. With the flag -every-width, the test looks at every 20 pixels instead of eight widths.
func TestActionsAreReachableAtEveryWidth(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.fillDemo()
	s.lateEvening()
	soon := s.Clock.Now().Add(5 * time.Minute)
	if _, err := s.UpdateOrder(t.Context(), shop.Caller{}, s.reserve("Nala", "Mrs Miller").ID, shop.OrderChange{HoldExpiresAt: &soon}, nil); err != nil {
		t.Fatal(err)
	}
	open := s.reserve("Bartholomew Maximilian von Habichtsburg-Lindenau", "Mrs Alexandra Konstantinopoulou-Featherstonehaugh, collects with her sister on Saturday")
	approved := s.reserve("Mia", "Mr White")
	if _, err := s.UpdateOrder(t.Context(), shop.Caller{}, approved.ID, shop.OrderChange{Status: new(shop.Approved)}, nil); err != nil {
		t.Fatal(err)
	}
	hook := shoptest.Must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://accounts.example.com/animalstore"}))(t)
	if _, err := s.TestWebhook(t.Context(), shop.Caller{}, hook.ID); err != nil {
		t.Fatal(err)
	}
	// A key with permissions of its own takes the most space in the list.
	key := shop.NewKey{Name: "The kiosk at the entrance of the market hall", Scopes: []shop.Scope{shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.EventsRead}}
	if _, err := s.CreateKey(t.Context(), shop.Caller{}, key); err != nil {
		t.Fatal(err)
	}
	available, removed := s.availablePet(), s.AddPet(t, "Luna", 1, shop.Available).ID
	if err := s.DeletePet(t.Context(), shop.Caller{}, removed, nil); err != nil {
		t.Fatal(err)
	}
	p := s.signIn(desktop, s.adminKey("Anna"))
	s.signIn(desktop, s.adminKey("Ben"))
	p.Run(emulation.SetTouchEmulationEnabled(true))
	p.waitFor(`matchMedia("(pointer: coarse)").matches`)

	animal := fmt.Sprint("/staff/pets/", available)
	pages := browsertest.Eval[[]string](p.Page, `[...document.querySelectorAll(".sidebar a[href^='/']")].map((link) => link.pathname).filter((path) => path !== "/docs")`)
	pages = append(pages, animal, animal+"/edit", animal+"/profile/facts", animal+"/profile/internal", fmt.Sprint("/staff/pets/", s.mostOrderedPet()), fmt.Sprint("/staff/pets/", open.PetID),
		fmt.Sprint("/staff/pets/", removed), "/staff/pets/removed", "/staff/pets?name=zzz", fmt.Sprint("/staff/orders/", open.ID), fmt.Sprint("/staff/orders/", approved.ID),
		"/staff/orders?q=nobody", fmt.Sprint("/staff/orders/", open.ID, "/print"), "/staff/orders/print", "/staff/pets/print",
		"/staff/activity?kind=orders", "/staff/search?q=ri", fmt.Sprint("/staff/webhooks/", hook.ID), "/staff/devices", "/staff/import", "/staff/setup/shop", "/staff/setup/animals", animal+"/print")
	before := map[string]func(){
		"/staff/pets": func() { p.tick(int(available)) },
		"/staff/import": func() {
			p.chooseFile("name,categoryId,status\nRex,1,available\n" + strings.Repeat("W", 90) + ",1,gone\n")
			p.waitText("#import-result", "1 Row with a problem")
		},
	}
	widths, themes := []int{320, 390, 600, 720, 820, 1024, 1120, 1440}, []string{"light"}
	if *everyWidth {
		widths, themes = nil, []string{"light", "dark"}
		for width := 320; width <= 1440; width += 20 {
			widths = append(widths, width)
		}
	}
	slices.Sort(pages)
	for _, theme := range themes {
		p.prefer(theme)
		for _, path := range slices.Compact(pages) {
			p.open(path)
			p.waitFor(`document.readyState === "complete"`)
			if prepare := before[path]; prepare != nil {
				prepare()
			}
			for _, width := range widths {
				p.Run(emulation.SetDeviceMetricsOverride(int64(width), 900, 1, false))
				if found := browsertest.Eval[[]string](p.Page, unreachable); len(found) > 0 {
					t.Errorf("%s at %d pixels:\n\t%s", path, width, strings.Join(found, "\n\t"))
				}
			}
			p.Run(chromedp.Evaluate("scrollTo(0, 0)", nil))
		}
	}
}
