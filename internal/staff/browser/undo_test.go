package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/shop"
)

// A removal takes effect at once. It can be undone in the message, in the list and on the page of removed animals, even
// by someone else.
func TestRemovalIsUndone(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p, other := s.clerk(desktop), s.clerk(390)
	wantRemoved := func(want bool) {
		t.Helper()
		if _, err := s.Pet(t.Context(), 1, nil); (err != nil) != want {
			t.Fatalf("the animal is removed: %v, want %v", err != nil, want)
		}
	}
	p.open("/staff/pets", "#pet-1")
	other.open("/staff/pets", "#pet-1")
	p.choose("#pet-1", "#pet-1-delete")
	p.waitText("#flashes", "Rex was removed.")
	wantRemoved(true)
	other.waitText("#pet-1", "Rex was removed.")
	p.accessible("a removed row and a message with Undo")
	p.click("#flashes button")
	for _, user := range []*user{p, other} {
		user.waitText("#pet-1-name", "Rex")
	}
	p.waitText("#flashes", "Rex was restored.")
	wantRemoved(false)

	// Another user can restore a removed animal, too. The button is in the animal's row in the list.
	p.choose("#pet-1", "#pet-1-delete")
	other.click("#pet-1.removed button")
	p.waitText("#pet-1-name", "Rex")

	// An animal that was removed on its own page can still be restored after the user has left that page.
	p.open("/staff/pets/1")
	p.choose(".page-head", "#remove")
	p.waitVisible(".badge.removed")
	p.waitText(".history", "removed")
	p.accessible("the page of a removed animal")
	p.open("/")
	wantRemoved(true)
	p.open("/staff/pets")
	p.click(`a[href="/staff/pets/removed"]`)
	p.waitVisible("#removed-1")
	p.accessible("the removed animals")
	p.click("#removed-1 button")
	p.waitText("#removed .empty", "No animals have been removed.")
	p.open("/staff/pets/1", ".status-available.badge")
	wantRemoved(false)
}

// Undo reverts an edit or a change of status, unless another user has changed the animal since.
func TestUndoNoticesTheOtherUser(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	one, two := s.clerk(desktop), s.clerk(390)
	one.open("/staff/pets", "#pet-1")
	two.open("/staff/pets/1", "#to-sold")
	one.choose("#pet-1", "#pet-1-edit")
	one.fill("#edit-1-name", "Rexo"+kb.Enter)
	one.waitText("#flashes", "Rexo was saved.")
	one.click("#flashes button")
	one.waitText("#pet-1-name", "Rex")
	one.waitText("#flashes", "Rex is as before.")
	two.waitText("h1", "Rex")
	one.choose("#pet-1", "#pet-1-to-pending")
	one.waitText("#flashes", "Rex is now reserved.")
	two.click("#to-available") // the button appears without a reload
	one.waitText("#pet-1 .badge", "Available")
	one.click("#flashes button")
	one.waitText("#flashes .problem", "Someone has changed Rex in the meantime, so nothing was undone.")
	if pet, err := s.Pet(t.Context(), 1, nil); err != nil || pet.Status != shop.Available {
		t.Errorf("the animal is %+v (error %v)", pet, err)
	}
	// The user is asked to confirm a change that cannot be undone.
	s.updatePet(1, shop.PetChange{Status: new(shop.Pending)})
	two.waitText("#to-sold", "…") // the button changes without a reload
	two.click("#to-sold")
	two.waitText("#question dialog[open] h2", "Mark Rex as sold?")
	two.accessible("a question")
	two.click("#question [data-close]")
	two.waitFor(`!document.querySelector("#question dialog[open]")`)
	two.click("#to-sold")
	two.click("#question dialog[open] #confirm")
	two.waitText(".page-head .badge", "Sold")
	two.waitText("#flashes", "Rex is now sold.")
}

// A cancellation and a hand-over can be undone, unless another user has reserved the animal since.
func TestOrderStepsAreUndone(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	one, two := s.clerk(desktop), s.clerk(390)
	one.open("/staff/pets/1")
	one.fill("#reserve-reference", "Mrs Novák"+kb.Enter)
	one.waitVisible("#order-1-approved")
	one.choose("#order-1", "#order-1-cancelled")
	one.waitText("#order-1 .badge", "Cancelled")
	one.click("#flashes > :last-child button")
	one.waitText("#order-1 .badge", "Reserved")
	one.waitText("#flashes", "Order 1 is reserved again.")
	one.click("#order-1-approved")
	one.waitText("#flashes", "Order 1 is now approved.")
	one.click("#order-1-delivered")
	one.waitText("#flashes", "Order 1 is now handed over.")
	one.waitText(".page-head .badge", "Sold")
	// Only the newest message about the order is left.
	one.waitFor(`document.querySelectorAll("#flashes [data-about='order-1']").length === 1`)
	two.open("/staff/orders", "#order-1")
	one.click("#flashes > :last-child button")
	one.waitText(".page-head .badge", "Reserved")
	one.waitText("#flashes", "Order 1 is approved again.")
	two.waitText("#order-1 .badge", "Approved") // the other user sees the order without a reload
	two.choose("#order-1", "#order-1-cancelled")
	two.waitText("#order-1 .badge", "Cancelled")
	one.fill("#reserve-reference", "Mr Faster"+kb.Enter)
	one.waitText("#order-2", "Mr Faster")
	two.click("#flashes > :last-child button")
	two.waitText("#flashes .problem", "The status of animal 1 has changed since order 1 became cancelled.")
	two.accessible("an Undo that was too late")
	orders, err := s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PageRequest: shop.PageRequest{Limit: 10}})
	if err != nil || len(orders.Items) != 2 {
		t.Errorf("got the orders %+v, %v", orders.Items, err)
	}
}

// Without scripts, the page after an action shows a message with an Undo button.
func TestUndoWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerkWithoutScripts(390)
	p.open("/staff/pets")
	p.choose("#pet-1", "#pet-1-delete")
	p.waitVisible("#flashes form button")
	if text := p.text("#flashes"); text != "Rex was removed.Undo" {
		t.Errorf("the message is %q", text)
	}
	p.click("#flashes form button")
	p.waitVisible("#pet-1-name")
	if text := p.text("#flashes"); text != "Rex was restored." {
		t.Errorf("the message is %q", text)
	}
	p.open("/staff/pets/1")
	if text := p.text("#flashes"); text != "" {
		t.Errorf("the message %q is shown twice", text)
	}
}

// Without scripts, the user is asked for confirmation on a separate page.
func TestQuestionWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for _, status := range []shop.Status{shop.Pending, shop.Pending, shop.Available} {
		s.AddPet(t, "Rex", 1, status)
	}
	p := s.clerkWithoutScripts(390)
	p.open("/staff/pets/1")
	p.click("#to-sold")
	p.waitVisible("#confirm")
	if text := p.text("h1"); text != "Mark Rex as sold?" {
		t.Errorf("the question is %q", text)
	}
	p.click(".confirm a.button")
	p.waitVisible("#to-sold")
	p.open("/staff/pets?status=pending")
	p.tick(1, 2)
	p.click("#bulk .menu > summary")
	p.click(`#bulk [value="sold"]`)
	p.waitText("h1", "Mark 2 animals as sold?")
	p.click("#confirm")
	p.waitText("h1", "2 animals changed")
	for id := range int64(2) {
		if pet, err := s.Pet(t.Context(), 1+id, nil); err != nil || pet.Status != shop.Sold {
			t.Errorf("the animal is %+v (error %v)", pet, err)
		}
	}
}

// One click undoes a bulk action for all animals, except those that a colleague has changed since.
func TestBulkActionsAreUndone(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for i := range 3 {
		s.AddPet(t, fmt.Sprint("Rex ", 1+i), 1, shop.Available)
	}
	p, other := s.clerk(desktop), s.clerk(phone)
	p.open("/staff/pets", "#pet-1")
	other.open("/staff/pets", "#pet-1")
	p.click("#select-all")
	p.click(`#bulk [value="remove"]`)
	p.waitText("#flashes", "3 animals removed.")
	for _, user := range []*user{p, other} {
		user.waitText("#pet-1.removed", "Rex 1 was removed.")
	}
	p.accessible("removed rows and a message with Undo")
	p.click("#flashes form button")
	p.waitText("#flashes", "3 animals were restored.")
	p.waitFor(`!document.querySelector("#flashes form") && !document.querySelector("tr.removed")`)
	other.waitFor(`!document.querySelector("tr.removed")`)

	// Do the same on a phone. This time, a colleague changes one of the animals before the user presses Undo.
	other.tick(1, 2, 3)
	other.click("#bulk .menu > summary")
	other.click(`#bulk [value="pending"]`)
	other.waitText("#flashes", "3 animals changed.")
	s.updatePet(2, shop.PetChange{Name: new("Max")})
	other.waitText("#pet-2-name", "Max")
	other.click("#flashes form button")
	other.waitText("#bulk-result", "2 animals are as before. 1 animal stays as it is, because someone has changed it in the meantime.")
	other.waitText("#bulk-result", "Max (no. 2)")
	other.waitText("#pet-1 .badge", "Available")
	other.waitText("#pet-2 .badge", "Reserved")
	other.accessible("an Undo that left an animal alone")

	// If a bulk action cannot be undone for some animals, a dialog says how many and asks for confirmation. If the user
	// cancels, the animals stay selected.
	s.updatePet(1, shop.PetChange{Status: new(shop.Pending)})
	p.waitText("#pet-1 .badge", "Reserved")
	p.waitText("#pet-2 .badge", "Reserved")
	p.tick(1, 2, 3)
	for _, button := range []string{"[data-close]", "#confirm"} {
		p.click("#bulk .menu > summary")
		p.click(`#bulk [value="sold"]`)
		p.waitText("#question dialog[open]", "Mark 3 animals as sold?")
		p.waitText("#question dialog[open]", "This can’t be undone for 2 of them")
		p.accessible("a question about several animals")
		p.waitText("#bulk-count", "3 selected")
		p.click("#question dialog[open] " + button)
	}
	p.waitText("#flashes", "3 animals changed.")
	p.click("#flashes > :last-child button")
	p.waitText("#bulk-result", "1 animal is as before. 2 animals can’t be set back.")
	p.waitText("#pet-3 .badge", "Available")
	p.waitText("#pet-2 .badge", "Sold")
}
