package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// tick clicks the checkboxes of animals.
func (p *user) tick(ids ...int) {
	p.t.Helper()
	for _, id := range ids {
		p.click(fmt.Sprintf(`#pet-%d input[name="pet"]`, id))
	}
}

func TestManyAnimalsAreChangedAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for i := range 5 {
		s.AddPet(t, fmt.Sprint("Rex ", 1+i), 1, shop.Available)
	}
	for _, width := range []int{desktop, 390} {
		p := s.clerk(width)
		p.open("/staff/pets", "#pet-1")
		if browsertest.Eval[bool](p.Page, `document.querySelector("#bulk").checkVisibility()`) {
			t.Error("the actions show although nothing is selected")
		}
		// Use the keyboard to tick a box, go to the actions and choose one.
		p.Run(chromedp.Focus(`#pet-2 input[name="pet"]`, chromedp.ByQuery), chromedp.KeyEvent(" "))
		p.tick(1)
		p.waitText("#bulk-count", "2 selected")
		p.accessible("selected animals")
		p.Run(chromedp.Focus("#bulk .menu > summary", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
		p.waitVisible(`#bulk [value="sold"]`)
		p.accessible("the statuses for selected animals")
		to, badge := "sold", "Sold"
		if width != desktop {
			to, badge = "available", "Available"
		}
		p.Run(chromedp.Focus(fmt.Sprintf(`#bulk [value=%q]`, to), chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
		p.waitText("#flashes", "2 animals changed.")
		p.waitText("#pet-1 .badge", badge)
		p.waitText("#pet-2 .badge", badge)
		p.waitFor(`!document.querySelector("#bulk").checkVisibility() && !document.querySelector("[name=pet]:checked")`)
	}
	p := s.clerk(desktop)
	p.open("/staff/pets", "#pet-1")
	p.waitText("#count-all", "5")
	p.click("#select-all")
	p.waitText("#bulk-count", "5 selected")
	p.tick(3, 4, 5)
	p.waitText("#bulk-count", "2 selected")
	p.click("[popovertarget=bulk-category]")
	p.waitVisible("#bulk-category")
	p.accessible("changing the category of selected animals")
	p.Run(chromedp.SetValue("#bulk-category-input", "new", chromedp.ByQuery))
	p.fill("#bulk-new-category", "Dogs")
	p.click(`#bulk-category [value="category"]`)
	p.waitText("#pet-1 .category", "Dogs")
	p.waitText("#pet-2 .category", "Dogs")

	// If someone else changes an animal, its row loses the tick, because the animal is no longer the one that the
	// user selected.
	p.tick(1, 2)
	s.updatePet(1, shop.PetChange{Name: new("Other")})
	p.waitText("#pet-1-name", "Other")
	p.waitText("#bulk-count", "1 selected")
	p.click(`#bulk [value="remove"]`)
	p.waitVisible("#pet-2.removed")
	p.waitText("#count-all", "4") // the number changes without a reload
	if _, err := s.Pet(t.Context(), 1, nil); err != nil {
		t.Errorf("the animal that was not selected: %v", err)
	}

	// If an order holds an animal, a bulk action does not change the animal, and the result says why.
	order, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 5})
	if err != nil {
		t.Fatal(err)
	}
	p.waitText("#pet-5", "Reserved")
	p.tick(4, 5)
	p.click("#bulk .menu > summary")
	p.click(`#bulk [value="sold"]`)
	p.waitText("#bulk-result", "1 animal changed, 1 not possible")
	p.waitText("#bulk-result", fmt.Sprint("Order ", order.ID, " holds this animal"))
	p.accessible("the result for selected animals")
}

func TestManyAnimalsAreChangedWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for range 3 {
		s.AddPet(t, "Rex", 1, shop.Available)
	}
	p := s.clerkWithoutScripts(desktop)
	p.open("/staff/pets?status=available")
	p.tick(1, 3)
	p.click("#bulk .menu > summary")
	p.click(`#bulk [value="pending"]`)
	p.waitText("h1", "2 animals changed")
	p.click(`main a.button[href="/staff/pets?status=available"]`)
	p.waitText(".tabs", "Reserved 2")
	p.tick(2)
	p.click(`#bulk [value="remove"]`)
	p.waitText("h1", "1 animal removed")
	p.click(`[action="/staff/pets/undo"] button`)
	p.waitText("#flashes", "Rex was restored.")
}

// A clerk who opens an animal far down in the list and then goes back sees the same rows at the same position.
func TestListKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for i := range 170 {
		s.AddPet(t, fmt.Sprint("Rex ", 1+i), 1, []shop.Status{shop.Available, shop.Sold}[i%2])
	}
	p := s.clerk(desktop)
	const top = `Math.round(document.querySelector("#pet-21-name").getBoundingClientRect().top)`
	for _, path := range []string{"/staff/pets", "/staff/pets?status=available&sort="} {
		p.open("/staff/orders")
		p.open(path, "#pet-169")
		p.waitFor(`(scrollTo(0, document.body.scrollHeight), !!document.querySelector("#pet-1"))`)
		p.Run(chromedp.Evaluate(`document.querySelector("#pet-21").scrollIntoView({block: "center"})`, nil))
		before := browsertest.Eval[int](p.Page, top)
		p.click("#pet-21-name")
		p.waitVisible("#pet-detail")
		p.Run(chromedp.NavigateBack())
		p.waitFor(`document.readyState === "complete" && !!document.querySelector("#pet-21-name") && Math.abs(%s - %d) <= 2`, top, before)
		p.Run(chromedp.Reload())
		p.waitFor(`document.readyState === "complete" && !!document.querySelector("#pet-21-name") && Math.abs(%s - %d) <= 2`, top, before)
		if n := browsertest.Eval[int](p.Page, `new Set([...document.querySelectorAll("tr[id^=pet-]")].map(r => r.id)).size - document.querySelectorAll("tr[id^=pet-]").length`); n != 0 {
			t.Errorf("the list has %d rows twice", -n)
		}
	}
	p.open("/staff/orders")
	p.open("/staff/pets", "#pet-170") // a new visit begins at the top
	if y := browsertest.Eval[int](p.Page, "scrollY"); y != 0 {
		t.Errorf("the list is scrolled by %d pixels", y)
	}
}

// On a phone, the tabs form one row. The current tab is visible, and the row indicates whether there are more tabs to
// the right.
func TestTabsOnAPhoneAreOneRow(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Rex", 1, "")
	p := s.clerk(phone)
	const tabs = `document.querySelector(".filters .tabs")`
	for path, more := range map[string]bool{"/staff/pets": true, "/staff/pets?status=none": false, "/staff/orders?status=expired": false} {
		p.open(path)
		p.waitFor(`document.readyState === "complete" && %s.hasAttribute("data-more") === %t`, tabs, more)
		p.waitFor(`%[1]s.offsetHeight < 60 && %[1]s.querySelector("label:has(:checked)").getBoundingClientRect().right <= innerWidth`, tabs)
		p.accessible("the tabs of " + path)
	}
}

// On a phone, a message does not cover the actions for the selected animals.
func TestMessageOnAPhoneLeavesTheActionsFree(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for i := range 20 { // more animals than fit on a screen
		s.AddPet(t, fmt.Sprint("Rex ", 1+i), 1, shop.Available)
	}
	p := s.clerk(phone)
	p.open("/staff/pets", "#pet-20")
	p.tick(20)
	p.choose("#pet-19", "#pet-19-delete")
	p.waitText("#flashes", "Rex 19 was removed.")
	covered := browsertest.Eval[[]string](p.Page, `[...document.querySelectorAll("#bulk > button, #bulk summary, #flashes button")].filter((button) => {
		const { x, y, width, height } = button.getBoundingClientRect();
		return !button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
	}).map((button) => button.textContent)`)
	if len(covered) > 0 {
		t.Errorf("the buttons %q are covered", covered)
	}
}
