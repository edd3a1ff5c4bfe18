package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// focused waits until the element that has the focus matches the selector.
func (p *user) focused(selector string) {
	p.t.Helper()
	p.waitFor(`document.activeElement.matches(%q)`, selector)
}

// focus moves the focus to an element, as the Tab key does.
func (p *user) focus(selector string) {
	p.t.Helper()
	p.waitFor(`document.readyState === "complete"`) // wait until the scripts have run
	p.waitVisible(selector)
	p.waitFor(`(document.querySelector(%[1]q).focus(), document.activeElement.matches(%[1]q))`, selector)
}

// After an action, the focus is at the next step of the same row, or at the row that has taken its place. One key undoes
// the action.
func TestFocusStaysWithWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for _, name := range []string{"Rex", "Mia", "Nala"} {
		s.reserve(name, "Mrs "+name)
	}
	free := s.AddPet(t, "Waldo", 1, shop.Available).ID
	p := s.clerk(desktop)

	// On the page of an animal, Approve turns into Hand over. Then nothing is left to do but printing.
	p.open("/staff/pets/1")
	p.focus("#order-1-approved")
	p.press(kb.Enter)
	p.focused("#order-1-delivered")
	p.press(kb.Enter)
	p.focused("#order-1 .actions a")
	p.shortcut("z", input.ModifierNone)
	p.waitText("#flashes", "Order 1 is approved again.")
	p.focused("#order-1 .actions *")

	// On Today, the orders move from one list to the next. The row below takes the place of the one that moved.
	p.open("/", "#work-2")
	p.focus("#work-2 [value=approved]")
	p.press(kb.Enter)
	p.waitText("[aria-labelledby=to-hand-over]", "Mia")
	p.focused("#work-3 [value=approved]")
	p.press(kb.Enter)
	p.waitText("[aria-labelledby=to-approve]", "Nothing to approve.")
	p.focused("#work-3 [value=delivered]")
	p.shortcut("z", input.ModifierNone)
	p.waitText("[aria-labelledby=to-approve]", "Nala")

	// In the list of animals, the focus stays with the menu, and after a removal it is at Restore.
	row := fmt.Sprint("#pet-", free)
	p.open("/staff/pets", row)
	p.focus(row + " .menu > summary")
	p.press(kb.ArrowDown + kb.ArrowDown + kb.Enter) // Edit, then the first change of status
	p.waitVisible(row + " .badge.status-pending")
	p.focused(row + " .menu > summary")
	p.press(kb.ArrowUp)
	p.focused(row + "-delete")
	p.press(kb.Enter)
	p.waitText(row, "was removed")
	p.focused(row + " button")
	p.shortcut("z", input.ModifierNone)
	p.waitVisible(row + "-name")
	p.focused(row + " *")

	// Reserving ends at the new order.
	p.shortcut("z", input.ModifierNone) // there is nothing left to undo
	p.updateStatus(free, shop.Available)
	p.open(fmt.Sprint("/staff/pets/", free))
	p.fill("#reserve-reference", "Mr Brown"+kb.Enter)
	p.waitText("#pet-detail .orders", "Mr Brown")
	p.focused("#order-4 .actions *")
}

// updateStatus changes the status of an animal directly through the service.
func (p *user) updateStatus(id int64, status shop.Status) {
	p.t.Helper()
	p.shop.updatePet(id, shop.PetChange{Status: &status})
}

// The arrow keys, Home and End move in a menu, and Escape leads back to its button. So does Escape in a dialog.
func TestMenusAreUsedWithTheKeyboard(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.signIn(desktop, s.adminKey("Anna"))
	p.open("/staff/pets", "#pet-1")
	p.focus("#pet-1 .menu > summary")
	for _, step := range []struct{ key, focused string }{
		{kb.ArrowDown, "#pet-1-edit"}, {kb.End, "#pet-1-delete"}, {kb.ArrowDown, "#pet-1-edit"}, {kb.ArrowUp, "#pet-1-delete"},
		{kb.Home, "#pet-1-edit"}, {kb.Escape, "#pet-1 .menu:not([open]) > summary"}, {kb.ArrowUp, "#pet-1-delete"}, {kb.Tab, "body *:not(.items *)"},
	} {
		p.press(step.key)
		p.focused(step.focused)
	}
	p.waitFor(`!document.querySelector(".menu[open]")`)
	p.open("/staff/people", "#person-1")
	p.focus("#person-1 .menu > summary")
	p.press(kb.ArrowDown + kb.Enter)
	p.waitFor(`!!document.querySelector("#rotate-1:popover-open")`)
	p.press(kb.Escape)
	p.focused("#person-1 .menu > summary")
	p.focus(".panel > summary")
	p.press(kb.Enter)
	p.focused(".panel [name=name]")
	p.press(kb.Escape)
	p.focused(".panel:not([open]) > summary")
}

// "?" and the menu of the user list the shortcuts. They do nothing while the user types or is in a dialog, and can be
// turned off.
func TestShortcutsAreListedAndCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	s.AddPet(t, "Mia", 1, shop.Available)
	p := s.clerk(desktop)
	p.open("/staff/pets", "#pet-1")
	p.shortcut("j", input.ModifierNone)
	p.focused("#pet-2-name")
	p.shortcut("j", input.ModifierNone)
	p.focused("#pet-1-name")
	p.shortcut("x", input.ModifierNone)
	p.waitText("#bulk-count", "1 selected")
	p.shortcut("k", input.ModifierNone)
	p.focused("#pet-2-name")
	p.shortcut("?", input.ModifierShift)
	p.waitFor(`document.querySelector("#shortcuts").open`)
	p.accessible("the shortcuts")
	p.shortcut("j", input.ModifierNone)
	p.press(kb.Escape)
	p.focused("#pet-2-name")
	p.fill("#filter-name", "?jx")
	if text := browsertest.Eval[string](p.Page, `document.querySelector("#filter-name").value + document.querySelector("#shortcuts").open`); text != "?jxfalse" {
		t.Errorf("typing gave %q", text)
	}
	p.focus("#main")
	p.shortcut("g", input.ModifierNone)
	p.shortcut("o", input.ModifierNone)
	p.waitText("h1", "Orders")

	p.click(".account > summary")
	p.click(".account [data-shortcuts-list]")
	p.click("#shortcuts-on")
	p.press(kb.Escape)
	p.focused(".account > summary")
	p.open("/staff/pets", "#pet-1")
	p.focus("#pet-1-name")
	for _, key := range []string{"j", "?", "/"} {
		p.shortcut(key, input.ModifierNone)
	}
	if busy := browsertest.Eval[bool](p.Page, `document.activeElement.id !== "pet-1-name" || !!document.querySelector("dialog[open]")`); busy {
		t.Error("a shortcut that is turned off did something")
	}
	p.shortcut("k", input.ModifierCtrl)
	p.waitFor(searchIsOpen)
}
