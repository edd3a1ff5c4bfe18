package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/shop"
)

// effort counts the clicks and key presses that a person needs for a task.
type effort struct{ clicks, keys int }

// worker is a person whose clicks and key presses are counted.
type worker struct {
	*user
	done *effort
}

func (w worker) click(selector string) {
	w.t.Helper()
	w.done.clicks++
	w.user.click(selector)
}

// enter types a text into the field that has the focus, or presses special keys.
func (w worker) enter(keys string) {
	w.t.Helper()
	w.done.keys += len([]rune(keys))
	w.press(keys)
}

// find searches for a text, opens the first result and waits until the element that result selects is visible.
func (w worker) find(text, result string) {
	w.t.Helper()
	w.done.keys++
	w.shortcut("/", input.ModifierNone)
	w.waitFor(searchIsOpen)
	w.enter(text + kb.Enter)
	w.waitVisible(result)
}

// pick chooses an option from a list with two clicks: the first opens the list, and the second chooses the option.
func (w worker) pick(selector, option string) {
	w.t.Helper()
	w.done.clicks += 2
	w.waitFor(`(() => {
		const list = document.querySelector(%q), option = [...(list?.options ?? [])].find(o => o.text.trim() === %q);
		if (!option || !list.checkVisibility()) return false;
		option.selected = true;
		return list.dispatchEvent(new Event("change", {bubbles: true}));
	})()`, selector, option)
}

// focused waits until a field has the focus.
func (w worker) focused(selector string) {
	w.t.Helper()
	w.waitFor(`document.activeElement?.matches(%q)`, selector)
}

// The documentation says how many clicks and key presses ten daily tasks need, and this test counts them. Each task
// begins on the Today page and takes the shortest route that the pages offer.
func TestDailyTasksNeedFewClicksAndKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for _, name := range []string{"Dogs", "Birds"} {
		if _, err := s.CreateCategory(t.Context(), shop.Caller{}, name); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		s.AddPet(t, "Budgie", 1, shop.Available) // a bird in the category for dogs
	}
	s.AddPet(t, "Waldo", 1, shop.Available)
	ready := s.reserve("Bella", "Mr Brown")
	for _, id := range []int64{ready.ID, s.reserve("Mia", "Mr White").ID} {
		if _, err := s.UpdateOrder(t.Context(), shop.Caller{}, id, shop.OrderChange{Status: new(shop.Approved)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	kept := s.reserve("Rex", "Mrs Ito")
	s.Clock.Forward(24 * time.Hour) // so that everything so far happened yesterday
	anna := s.clerk(desktop)
	anna.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument("window.print = () => { window.printed = 1 }").Do(ctx)
		return err
	}))
	newest := func() string {
		pets, err := s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: shop.PageRequest{Limit: 10}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for _, pet := range pets.Items {
			names += fmt.Sprintf("%s %d %s\n", pet.Name, pet.CategoryID, pet.Status)
		}
		return names
	}
	var counted strings.Builder
	for _, task := range []struct {
		name string
		do   func(w worker)
	}{
		{"Find an animal by its name, Waldo", func(w worker) {
			w.find("waldo", "#pet-detail")
			w.waitText("h1", "Waldo")
		}},
		{"Reserve Waldo for a caller, Mrs Novak", func(w worker) {
			w.find("waldo", "#pet-detail")
			w.click("#reserve-name")
			w.enter("Mrs Novak" + kb.Enter)
			w.waitText("#pet-detail .orders", "Mrs Novak")
			w.waitText("#pet-detail .badge", "Reserved")
		}},
		{"Hand over an animal whose order is approved", func(w worker) {
			w.click(fmt.Sprintf(`#work-%d [value="delivered"]`, ready.ID))
			w.waitText("#flashes", "handed over")
		}},
		{"Add ten dogs, each with a name of five letters", func(w worker) {
			w.click(`.sidebar a[href="/staff/pets"]`)
			// Wait until the scripts have run.
			w.waitFor(`location.pathname === "/staff/pets" && document.readyState === "complete"`)
			w.click(".panel > summary")
			for i := range 10 {
				w.focused("#add-name")
				w.enter(fmt.Sprint("Dog ", i))
				if i == 0 { // the form keeps the category for the next animal
					w.enter(kb.Tab + "D" + kb.Tab + kb.Tab)
				}
				w.enter(kb.Enter)
				w.waitText("#flashes", fmt.Sprint("Dog ", i))
				w.waitFor(`document.querySelector("#add-name").value === ""`)
			}
			if got := newest(); strings.Count(got, " 1 available\n") != 10 {
				t.Errorf("the new animals are\n%s", got)
			}
		}},
		{"See what changed yesterday, and who did it", func(w worker) {
			w.click(`[aria-labelledby="since-yesterday"] .card-head a`)
			w.click("#activity-days a:last-child")
			w.waitFor(`location.search.includes("day=")`)
			w.waitText(".activity li", "System reserved Rex for Mrs Ito")
		}},
		{"Undo a wrong cancellation", func(w worker) {
			// The clicks that cancel the order by mistake are not counted.
			w.user.choose(fmt.Sprint("#work-", kept.ID), `[value="cancelled"]`)
			w.waitText("#flashes", "cancelled")
			w.click("#flashes > :last-child button")
			w.waitText("#worklist", "Mrs Ito")
		}},
		{"Correct the category of the twenty budgies", func(w worker) {
			w.click(`.sidebar a[href="/staff/pets"]`)
			// Wait until the scripts have run.
			w.waitFor(`location.pathname === "/staff/pets" && document.readyState === "complete"`)
			w.click("#filter-name")
			w.enter("budgie")
			w.waitFor(`location.search.includes("name=budgie") && document.querySelectorAll(".pets tbody:last-of-type tr[id]").length === 20 && !document.querySelector(".htmx-request")`)
			w.click("#select-all")
			w.waitText("#bulk-count", "20 selected")
			w.click("[popovertarget=bulk-category]")
			w.pick("#bulk-category-input", "Birds")
			w.click(`#bulk-category [value="category"]`)
			w.waitText("#flashes", "20 animals changed.")
		}},
		{"Print today’s hand-overs", func(w worker) {
			w.click(`.page-head a[href$="#print"]`)
			w.waitFor("window.printed === 1")
			w.waitText("main", "Mr White")
		}},
		{"Find an order by its customer, Novak", func(w worker) {
			w.find("novak", "#order-detail")
			w.waitText("#order-detail", "Waldo")
		}},
		{"Sign in on a phone", func(w worker) {
			w.click(".account > summary")
			w.click(`.account a[href="/staff/devices"]`)
			w.click(`[action="/staff/devices/link"] button`)
			w.waitVisible("svg.qr")
			phone := worker{s.newPhone(), w.done}
			phone.openLink(w.text("#link")) // a real phone opens the link when its camera reads the QR code
			phone.click(".sign-in button.primary")
			phone.waitVisible("#dashboard")
		}},
	} {
		w := worker{anna, new(effort)}
		w.open("/", "#worklist")
		task.do(w)
		fmt.Fprintf(&counted, "| %s | %d | %d |\n", task.name, w.done.clicks, w.done.keys)
	}
	wantDocumented(t, "| task | clicks | keys |\n|---|---|---|\n", counted.String())
}
