package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestPetsAreAddedEditedMovedAndFiltered(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Staging)
	if _, err := s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"); err != nil {
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
	p.choose("#pet-1", "#pet-1-edit")
	p.waitFor(`document.activeElement.id === "edit-1-name"`)
	p.accessible("a row being edited")
	p.fill("#edit-1-name", "Rexo"+kb.Enter)
	p.waitText("#pet-1-name", "Rexo")
	p.choose("#pet-1", "#pet-1-edit")
	p.waitFor(`document.activeElement.id === "edit-1-name"`)
	p.Run(chromedp.KeyEvent("other" + kb.Escape))
	p.waitText("#pet-1-name", "Rexo")

	p.choose("#pet-1", "#pet-1-to-sold")
	p.waitText("#pet-1 .badge", "Sold")

	// Filters survive a reload.
	p.fill("#filter-name", "BELL")
	p.waitFor(`!document.querySelector("#pet-1") && !!document.querySelector("#pet-2") && location.search.includes("name=BELL")`)
	p.Run(chromedp.Reload())
	p.waitVisible("#pet-2")
	if p.text("#pet-1") != "" {
		t.Error("the filter is lost")
	}
}

func TestScrollingLoadsEveryPetOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for i := range 120 {
		s.AddPet(t, fmt.Sprint("Rex ", i), 1, shop.Available)
	}
	p := s.signIn(desktop, s.Key(t, shop.PetsRead).Secret)
	p.open("/staff/pets", "#pet-120")
	p.waitFor(`(scrollTo(0, document.body.scrollHeight), !!document.querySelector("#pet-1"))`)
	if n := browsertest.Eval[int](p.Page, `new Set([...document.querySelectorAll("tr[id^=pet-]")].map(r => r.id)).size`); n != 120 {
		t.Errorf("the page has %d animals, want 120", n)
	}
}

// Users see each other's changes, and the second of two conflicting edits is refused.
func TestConcurrentUsersSeeChangesAndConflicts(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	one, two := s.clerk(desktop), s.clerk(phone)
	for _, p := range []*user{one, two} {
		p.open("/staff/pets", "#pet-1")
	}
	one.choose("#pet-1", "#pet-1-to-pending")
	two.waitText("#pet-1 .badge", "Reserved")
	s.AddPet(t, "Bella", 1, shop.Available)
	for _, p := range []*user{one, two} { // both users see the new animal and edit the old one
		p.waitText("#pet-2-name", "Bella")
		p.choose("#pet-1", "#pet-1-edit")
		p.waitVisible("#edit-1-name")
	}
	one.fill("#edit-1-name", "Rexo"+kb.Enter)
	one.waitText("#pet-1-name", "Rexo")
	two.fill("#edit-1-name", "Max"+kb.Enter)
	two.waitText("#pet-1 .conflict", "Someone else changed this animal")
	two.waitText("#pet-1 .conflict table", "Rexo")
	two.waitText("#pet-1 .conflict table", "Max")
	two.accessible("a conflict")
	two.Run(chromedp.Click("#pet-1 button.primary", chromedp.ByQuery)) // overwrites the other user's change
	one.waitText("#pet-1-name", "Max")

	// A removed animal is marked as removed on open pages.
	if err := s.DeletePet(t.Context(), shop.Caller{}, 2, nil); err != nil {
		t.Fatal(err)
	}
	one.waitText("#pet-2", "Bella was removed.")

	// A live update does not replace a field that is being edited.
	s.updatePet(1, shop.PetChange{Status: new(shop.Available)})
	// Wait until this event is published, so that the page that is opened next does not receive it as a live update.
	one.waitText("#pet-1 .badge", "Available")
	two.open("/staff/pets/1", "#reserve-reference")
	two.Run(chromedp.Focus("#reserve-reference", chromedp.ByQuery), chromedp.KeyEvent("Mrs N"))
	s.updatePet(1, shop.PetChange{Name: new("Renamed")})
	two.waitText("#flashes", "changed while you were typing")
	if text := browsertest.Eval[string](two.Page, `document.querySelector("#reserve-reference").value`); text != "Mrs N" {
		t.Errorf("the field has become %q", text)
	}
}

// If a user clicks a button in a row, the message appears even if a live update replaces the row before the response
// arrives.
func TestFlashSurvivesTheReplacementOfItsRow(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerk(desktop)
	p.open("/staff/pets")
	browsertest.Eval[bool](p.Page, `document.body.addEventListener("htmx:beforeRequest", (e) => e.detail.elt.closest("#pet-1").remove(), { once: true }), true`)
	p.choose("#pet-1", "#pet-1-to-pending")
	p.waitText("#flashes", "Rex is now reserved.")
}

// A live update that arrives between a click and its response does not make the page lose the response.
func TestLiveUpdatesWaitForTheUsersRequest(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerk(desktop)
	p.open("/staff/pets", "#pet-1")
	browsertest.Eval[bool](p.Page, `window.held = {},
		document.body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, pathInfo } }) => {
			const send = xhr.send, ended = new Promise((resolve) => xhr.addEventListener("loadend", resolve));
			xhr.send = (body) => held[pathInfo.requestPath] = () => (send.call(xhr, body), ended.then(() => true));
		}), true`)
	s.updatePet(1, shop.PetChange{Name: new("Rexo")})
	p.waitFor(`!!held["/staff/pets/1/row"]`)
	p.choose("#pet-1", "#pet-1-edit")
	for _, path := range []string{"/staff/pets/1/row", "/staff/pets/1/edit"} {
		p.waitFor(`!!held[%q]`, path)
		browsertest.Eval[bool](p.Page, fmt.Sprintf("held[%q]()", path))
	}
	p.waitFor(`document.querySelector("#edit-1-name")?.value === "Rexo"`)
}

func TestHTMLInNamesNeverRuns(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	evil := `<img src=x onerror="window.evil=1"><script>window.evil=1</script>`
	pet := s.AddPet(t, evil, 1, shop.Available)
	if _, err := s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: evil}, shop.PutCondition{}); err != nil {
		t.Fatal(err)
	}
	p := s.signIn(desktop, s.Key(t, shop.Admin).Secret)
	for _, page := range []string{"/", "/staff/pets", "/staff/pets/1", "/staff/categories"} {
		p.open(page, "main")
		if browsertest.Eval[bool](p.Page, `!!window.evil || !!document.querySelector("main img")`) {
			t.Errorf("the script in the name ran on %s", page)
		}
	}
	p.open("/staff/pets")
	p.choose("#pet-1", "#pet-1-to-pending") // shows a flash message and a new row, both with the animal's name
	p.waitText("#flashes", evil+" is now reserved.")
	s.updatePet(pet.ID, shop.PetChange{Name: new(evil + "!")})
	p.waitText("#pet-1-name", evil+"!")
	if browsertest.Eval[bool](p.Page, `!!window.evil || !!document.querySelector("img")`) {
		t.Error("the script in the name ran in a fragment")
	}
}

func TestPagesWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerkWithoutScripts(desktop)
	p.open("/staff/pets?name=rex")
	p.choose("#pet-1", "#pet-1-to-pending")
	p.waitVisible("#pet-1 .status-pending.badge")
	if name := browsertest.Eval[string](p.Page, `document.querySelector("#filter-name").value`); name != "rex" {
		t.Errorf("the filter has become %q", name)
	}
	p.choose("#pet-1", "#pet-1-edit")
	p.waitVisible(`form.stack [name="name"]`)
	p.Run(chromedp.SendKeys(`form.stack [name="name"]`, "o", chromedp.ByQuery))
	p.click("form.stack button.primary")
	p.waitVisible("#pet-detail")
	if pet, err := s.Pet(t.Context(), 1, nil); err != nil || pet.Status != shop.Pending || !strings.Contains(pet.Name, "o") {
		t.Errorf("the animal is %v (error %v), want it pending and renamed", pet, err)
	}
	p.choose(".page-head", "#remove")
	p.waitVisible(".badge.removed")
}

func TestDashboardAndOrdersUpdateLive(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(phone)
	p.open("/staff/orders")
	p.waitText("#orders", "No orders yet")
	n := s.fillDemo()
	p.open("/", ".chart svg")
	p.waitText(".tiles", fmt.Sprint(n, " Total"))
	p.accessible("the dashboard")
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	p.waitText(".tiles", fmt.Sprint(n+1, " Total")) // the total changes without a reload
	p.waitVisible(".chart svg")
	p.prefer("dark")
	p.open("/") // reload the page; without a reload, the colours would change gradually
	p.accessible("the dashboard in dark mode")

	p.open("/staff/orders")
	p.waitText("#orders", "Handed over")
	order, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: rex.ID})
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprint("#order-", order.ID)
	p.waitText(row, "Rex") // the row appears without a reload
	p.accessible("the orders in dark mode")
	p.click(row + "-approved")
	p.waitText(row+" .badge", "Approved")
	if _, err := s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: new(shop.Cancelled)}, nil); err != nil {
		t.Fatal(err)
	}
	p.waitText(row+" .badge", "Cancelled")

	// Reserve, sell and return the animal.
	p.open(fmt.Sprint("/staff/pets/", rex.ID))
	p.fill("#reserve-reference", "Mrs Novák"+kb.Enter)
	row = fmt.Sprint("#order-", order.ID+1)
	p.waitText(row, "2 days 23 h")
	if _, err := s.UpdateOrder(t.Context(), shop.Caller{}, order.ID+1, shop.OrderChange{Status: new(shop.Approved)}, nil); err != nil {
		t.Fatal(err)
	}
	p.click(row + "-delivered") // the button appears without a reload
	p.waitText(".page-head .badge", "Sold")
	p.click("#to-available")
	p.waitText(".page-head .badge", "Available")
	p.waitText(".history", "from sold to available")
	p.accessible("an animal with orders and a history in dark mode")

	p.open("/staff/categories")
	p.accessible("the categories in dark mode")
	p.fill(`#category-6 [name="name"]`, "Fishes"+kb.Enter)
	p.waitFor(`!!document.querySelector('#category-6 [name="was-name"][value="Fishes"]')`)
	p.open("/staff/pets", fmt.Sprint("#pet-", rex.ID))
	p.accessible("the catalogue in dark mode")
}

func TestKeysAndWebhooksAreManaged(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.lateEvening()
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	p := s.signIn(phone, s.Key(t, shop.Admin).Secret)
	p.open("/staff/people")
	p.click("details.panel summary")
	p.fill(`form.stack [name="name"]`, "till")
	p.click(`[name="role"][value="custom"]`)
	p.click(`[name="scope"][value="pets:read"]`)
	p.accessible("adding a program")
	p.click("form.stack button.primary")
	p.waitVisible("#secret")
	p.accessible("a new key")
	secret := p.text("#secret")
	till := s.signIn(phone, secret)
	till.open("/staff/pets", "#catalogue")
	if till.text(`a[href="/staff/people"]`) != "" {
		t.Error("the link to the keys is shown without the scope admin")
	}
	p.choose("#person-2", "[popovertarget=rotate-2]")
	p.click("#rotate-2 button.primary")
	p.waitText(".secret", "has a new secret")
	if again := p.text("#secret"); again == secret || again == "" {
		t.Errorf("the new secret is %q", again)
	}
	p.choose("#person-2", "[popovertarget=revoke-2]")
	p.waitVisible("#revoke-2")
	p.accessible("revoking a key")
	p.click("#revoke-2 button.danger")
	p.waitFor(`document.readyState === "complete" && !document.querySelector("#person-2")`)
	till.waitVisible(`[name="key"]`) // the sign-in form appears without a reload
	if next := browsertest.Eval[string](till.Page, `document.querySelector("[name=next]").value`); next != "/staff/pets" {
		t.Errorf("sign-in would return to %q, want /staff/pets", next)
	}
	till.accessible("signing in")

	p.open("/staff/webhooks")
	p.click("details.panel summary")
	p.fill(`[name="url"]`, receiver.URL)
	p.accessible("adding a webhook")
	p.click("form.stack button.primary")
	p.waitVisible("#secret")
	p.open("/staff/webhooks/1")
	p.click("#send-test")
	p.waitText("#delivery-1", "webhook.test")
	p.accessible("a webhook")
	p.click("#delivery-1 button")
	p.waitText("#delivery-2", "webhook.test")
}
