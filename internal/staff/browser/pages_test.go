package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestPetIsReservedSoldAndReturned(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.addPet("Rex", shop.Available)
	p := s.clerk(phone)
	p.open("/staff/pets/1")
	p.fill("#reserve-reference", "Mrs Novák"+kb.Enter)
	p.waitText("#order-1", "Placed")
	p.waitText("#order-1", "2 days 23 h")
	p.accessible("an animal with an order")
	p.click("#order-1-approved")
	p.waitText("#order-1 .badge", "Approved")
	p.click("#order-1-delivered")
	p.waitText(".page-head .badge", "Sold")
	p.click("#to-available")
	p.waitText(".page-head .badge", "Available")
	p.fill("#reserve-reference", kb.Enter)
	p.waitText("#order-2", "Placed")
	p.click("#order-2-cancelled")
	p.waitText("#order-2 .badge", "Cancelled")
	p.waitText(".page-head .badge", "Available")
	if history := p.text(".history"); strings.Count(history, "Žofie <at the till> changed") != 5 || !strings.Contains(history, "sold → available") {
		t.Errorf("the history is %s", history)
	}
	p.accessible("an animal with a history")
}

func TestDashboardAndOrdersUpdateLive(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(phone)
	p.open("/staff/orders")
	p.waitText("#orders", "No orders yet")
	n := s.fillDemo()
	p.open("/")
	p.waitVisible(".chart canvas")
	p.waitText(".tiles", fmt.Sprint(n, " Total"))
	p.accessible("the dashboard")
	rex := s.addPet("Rex", shop.Available)
	p.waitText(".tiles", fmt.Sprint(n+1, " Total")) // the total changes without a reload
	p.waitVisible(".chart canvas")
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.open("/") // the page is reloaded, because the change of colours is animated
	p.accessible("the dashboard in dark mode")

	p.open("/staff/orders")
	p.waitText("#orders", "Delivered")
	order, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: rex.ID})
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprint("#order-", order.ID)
	p.waitText(row, "Rex") // the row appears without a reload
	p.accessible("the orders in dark mode")
	p.click(row + "-approved")
	p.waitText(row+" .badge", "Approved")
	if _, err := s.UpdateOrder(t.Context(), order.ID, shop.Cancelled, nil); err != nil {
		t.Fatal(err)
	}
	p.waitText(row+" .badge", "Cancelled")

	p.open("/staff/categories")
	p.accessible("the categories in dark mode")
	p.fill(`#category-6 [name="name"]`, "Fishes"+kb.Enter)
	p.waitFor(`!!document.querySelector('#category-6 [name="was-name"][value="Fishes"]')`)
	p.open("/staff/pets")
	p.waitVisible(fmt.Sprint("#pet-", rex.ID))
	p.accessible("the catalogue in dark mode")
}

func TestKeysAndWebhooksAreManaged(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	p := s.signIn(phone, s.Key(t, shop.Admin).Secret)
	p.open("/staff/keys")
	p.click("details.add-panel summary")
	p.fill(`form.stack [name="name"]`, "till")
	p.accessible("creating a key")
	p.click("form.stack button.primary")
	p.waitVisible("#secret")
	p.accessible("a new key")
	secret := p.text("#secret")
	till := s.signIn(phone, secret)
	till.open("/staff/pets")
	till.waitVisible("#catalogue")
	if till.has(`a[href="/staff/keys"]`) {
		t.Error("the link to the keys is shown without the scope admin")
	}
	p.click("#key-2 details.menu:nth-of-type(1) summary")
	p.click("#key-2 details.menu:nth-of-type(1) button")
	p.waitText(".secret", "has a new secret")
	if again := p.text("#secret"); again == secret || again == "" {
		t.Errorf("the new secret is %q", again)
	}
	p.click("#key-2 details.menu:nth-of-type(2) summary")
	p.accessible("revoking a key")
	p.click("#key-2 details.menu:nth-of-type(2) button")
	p.waitFor(`document.readyState === "complete" && !document.querySelector("#key-2")`)
	till.waitVisible(`[name="key"]`)

	p.open("/staff/webhooks")
	p.click("details.add-panel summary")
	p.fill(`[name="url"]`, receiver.URL)
	p.accessible("adding a webhook")
	p.click("form.stack button.primary")
	p.waitVisible("#secret")
	p.open("/staff/webhooks/1")
	p.click(".toolbar form button")
	p.waitText("#delivery-1", "webhook.test")
	p.accessible("a webhook")
	p.click("#delivery-1 button")
	p.waitText("#delivery-2", "webhook.test")
}

func TestImportIsPreviewedFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(phone)
	p.open("/staff/import")
	p.accessible("importing")
	choose := func(content string) {
		t.Helper()
		file := t.TempDir() + "/animals.csv"
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Run(chromedp.SetUploadFiles("#file", []string{file}, chromedp.ByQuery))
		p.click("#preview-file")
	}
	choose("name,categoryId,status\nRex,1,available\nMax,1,gone\n")
	p.waitText("#import-result", "Invalid rows: 1 of 2")
	p.waitText("#import-result", "must be one of available, pending, sold")
	p.accessible("a file with an invalid row")
	if p.has("#import-now") {
		t.Error("a file with an invalid row can be imported")
	}
	choose("name,categoryId,status\n" + strings.Repeat("Rex <b>,1,available\n", 9000))
	p.waitText("#import-result", "9000 animals ready to import")
	p.accessible("a good file")
	p.waitFor(`(window.bar = 0, new MutationObserver(() => window.bar++).observe(document.getElementById("upload-progress"), {attributes: true}), true)`)
	p.click("#import-now")
	p.waitText("#import-result", "9000 animals added")
	if changes := browsertest.Eval[int](p.Page, "window.bar"); changes < 2 {
		t.Errorf("the progress bar changed %d times", changes)
	}
	p.open("/staff/pets")
	p.waitText("#pet-9000", "Rex <b>")
}
