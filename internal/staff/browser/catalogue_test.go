package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// clerk signs a user in who may do everything except administration.
func (s *testShop) clerk(width int) *user {
	s.t.Helper()
	return s.signIn(width, s.Key(s.t, shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.OrdersWrite, shop.EventsRead).Secret)
}

func TestPetsAreAddedEditedMovedAndFiltered(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Staging)
	if _, err := s.CreateCategory(t.Context(), "Dogs"); err != nil {
		t.Fatal(err)
	}
	p := s.clerk(desktop)
	p.waitText(".staging", "This is test data")
	p.open("/staff/pets")
	p.accessible("an empty catalogue")

	// Add two animals using only the keyboard.
	p.Run(chromedp.KeyEvent("n", chromedp.KeyModifiers(input.ModifierAlt)))
	p.waitFor(`document.activeElement.id === "add-name"`)
	p.Run(chromedp.KeyEvent("Rex" + kb.Tab + "Dogs" + kb.Tab + "avail" + kb.Tab + kb.Enter))
	p.waitText("#pet-1 .name", "Rex")
	p.waitText("#flashes", "Rex was added as number 1.")
	p.fill("#add-name", "Bella <b>"+kb.Enter)
	p.waitText("#pet-2 .name", "Bella <b>")
	p.accessible("a catalogue")

	// Edit an animal in the table, then edit it again and cancel.
	p.click("#pet-1-edit")
	p.waitFor(`document.activeElement.id === "edit-1-name"`)
	p.accessible("a row being edited")
	p.fill("#edit-1-name", "Rexo"+kb.Enter)
	p.waitText("#pet-1-name", "Rexo")
	p.click("#pet-1-edit")
	p.waitFor(`document.activeElement.id === "edit-1-name"`)
	p.Run(chromedp.KeyEvent("other" + kb.Escape))
	p.waitText("#pet-1-name", "Rexo")

	p.click("#pet-1-to-sold")
	p.waitText("#pet-1 .badge", "Sold")

	// Filters survive a reload.
	p.fill("#filter-name", "BELL")
	p.waitFor(`!document.querySelector("#pet-1") && !!document.querySelector("#pet-2") && location.search.includes("name=BELL")`)
	p.Run(chromedp.Reload())
	p.waitVisible("#pet-2")
	if p.has("#pet-1") {
		t.Error("the filter is lost")
	}
}

func TestRemovalCanBeUndone(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	rex, bella := s.addPet("Rex", shop.Available), s.addPet("Bella", shop.Available)
	p := s.clerk(desktop)
	p.open("/staff/pets")
	p.click("#pet-1-delete")
	p.waitText("#pet-1", "Rex will be removed")
	p.accessible("an animal that is about to be removed")
	p.click("#pet-1-undo")
	p.waitText("#pet-1-name", "Rex")
	p.elapse()
	p.click("#pet-2-delete")
	p.waitText("#pet-2", "Bella will be removed")
	p.elapse()
	p.waitFor(`!document.querySelector("#pet-2")`)
	p.waitText("#flashes", "Bella was removed.")
	if _, err := s.Pet(t.Context(), bella.ID); err == nil {
		t.Error("the removed animal still exists")
	}
	p.click("#pet-1-delete")
	p.waitText("#pet-1", "Rex will be removed")
	p.open("/staff/pets") // leaving the page cancels the removal
	p.waitText("#pet-1-name", "Rex")
	if _, err := s.Pet(t.Context(), rex.ID); err != nil {
		t.Errorf("the animal whose removal was undone: %v", err)
	}
}

func TestScrollingLoadsEveryPetOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for i := range 120 {
		s.addPet(fmt.Sprint("Rex ", i), shop.Available)
	}
	p := s.signIn(desktop, s.Key(t, shop.PetsRead).Secret)
	p.open("/staff/pets")
	p.waitVisible("#pet-120")
	p.waitFor(`(scrollTo(0, document.body.scrollHeight), !!document.querySelector("#pet-1"))`)
	if n := browsertest.Eval[int](p.Page, `new Set([...document.querySelectorAll("tr[id^=pet-]")].map(r => r.id)).size`); n != 120 {
		t.Errorf("the page has %d animals, want 120", n)
	}
}

// Users see each other's changes, and the second of two conflicting edits is refused.
func TestConcurrentUsersSeeChangesAndConflicts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.addPet("Rex", shop.Available)
	one, two := s.clerk(desktop), s.clerk(phone)
	for _, p := range []*user{one, two} {
		p.open("/staff/pets")
		p.waitVisible("#pet-1")
	}
	one.click("#pet-1-to-pending")
	two.waitText("#pet-1 .badge", "Pending")
	s.addPet("Bella", shop.Available)
	for _, p := range []*user{one, two} {
		p.waitText("#pet-2-name", "Bella")
	}

	// Both users edit the same animal.
	one.click("#pet-1-edit")
	two.click("#pet-1-edit")
	one.waitVisible("#edit-1-name")
	two.waitVisible("#edit-1-name")
	one.fill("#edit-1-name", "Rexo"+kb.Enter)
	one.waitText("#pet-1-name", "Rexo")
	two.fill("#edit-1-name", "Max"+kb.Enter)
	two.waitText("#pet-1 .conflict", "Someone else changed this animal")
	if text := two.text("#pet-1 .conflict table"); !strings.Contains(text, "Rexo") || !strings.Contains(text, "Max") {
		t.Errorf("the conflict shows %q", text)
	}
	two.accessible("a conflict")
	two.Run(chromedp.Click("#pet-1 button.primary", chromedp.ByQuery)) // overwrites the other user's change
	one.waitText("#pet-1-name", "Max")

	// A removed animal is marked as removed on open pages.
	if err := s.DeletePet(t.Context(), 2, nil); err != nil {
		t.Fatal(err)
	}
	one.waitText("#pet-2", "This animal was removed.")

	// A live update does not replace a field that is being edited.
	s.updatePet(1, shop.PetChange{Status: ptr(shop.Available)})
	two.open("/staff/pets/1")
	two.waitVisible("#reserve-reference")
	two.Run(chromedp.Focus("#reserve-reference", chromedp.ByQuery), chromedp.KeyEvent("Mrs N"))
	s.updatePet(1, shop.PetChange{Name: ptr("Renamed")})
	two.waitText("#flashes", "changed this while you were typing")
	if text := browsertest.Eval[string](two.Page, `document.querySelector("#reserve-reference").value`); text != "Mrs N" {
		t.Errorf("the field has become %q", text)
	}
}

func ptr[T any](value T) *T { return &value }

func TestRevokedKeySignsTheBrowserOut(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.Key(t, shop.Admin)
	key := s.Key(t, shop.PetsRead)
	p := s.signIn(desktop, key.Secret)
	p.open("/staff/pets")
	p.waitVisible("#catalogue")
	if err := s.RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	p.waitVisible(`[name="key"]`) // the sign-in form appears without a reload
	if next := browsertest.Eval[string](p.Page, `document.querySelector("[name=next]").value`); next != "/staff/pets" {
		t.Errorf("sign-in would return to %q", next)
	}
	p.accessible("signing in")
}

func TestHTMLInNamesNeverRuns(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	evil := `<img src=x onerror="window.evil=1"><script>window.evil=1</script>`
	pet := s.addPet(evil, shop.Available)
	if _, err := s.PutCategory(t.Context(), shop.Category{ID: 1, Name: evil}, nil); err != nil {
		t.Fatal(err)
	}
	p := s.signIn(desktop, s.Key(t, shop.Admin).Secret)
	for _, page := range []string{"/", "/staff/pets", "/staff/pets/1", "/staff/categories"} {
		p.open(page)
		p.waitVisible("main")
		if browsertest.Eval[bool](p.Page, `!!window.evil || !!document.querySelector("main img")`) {
			t.Errorf("the script in the name ran on %s", page)
		}
	}
	p.open("/staff/pets")
	p.click("#pet-1-to-pending") // shows a flash message and a new row, both with the animal's name
	p.waitText("#flashes", evil+" is now pending.")
	s.updatePet(pet.ID, shop.PetChange{Name: ptr(evil + "!")})
	p.waitText("#pet-1-name", evil+"!")
	if browsertest.Eval[bool](p.Page, `!!window.evil || !!document.querySelector("img")`) {
		t.Error("the script in the name ran in a fragment")
	}
}

func TestPagesWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.addPet("Rex", shop.Available)
	p := s.clerk(desktop)
	p.Run(emulation.SetScriptExecutionDisabled(true))
	p.open("/staff/pets")
	p.click("#pet-1-to-pending")
	p.waitVisibleNoScript("#pet-1 .status-pending.badge")
	p.click("#pet-1-edit")
	p.waitVisibleNoScript(`form.stack [name="name"]`)
	p.Run(chromedp.SendKeys(`form.stack [name="name"]`, "o", chromedp.ByQuery))
	p.click("form.stack button.primary")
	p.waitVisibleNoScript("#pet-detail")
	if pet, err := s.Pet(t.Context(), 1); err != nil || pet.Status != shop.Pending || !strings.Contains(pet.Name, "o") {
		t.Errorf("the animal is %v (error %v), want it pending and renamed", pet, err)
	}
	p.click(`a[href="/staff/pets/1/delete"]`)
	p.click("button.danger")
	p.waitVisibleNoScript(".empty")
}
