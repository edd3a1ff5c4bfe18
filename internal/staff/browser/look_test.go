package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

func TestThemeIsSwitchedWithoutAReload(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for _, width := range []int{desktop, phone} {
		p := s.clerk(width)
		menu := ".account"
		if width == phone {
			menu = ".tabbar .menu"
		}
		background := `getComputedStyle(document.body).backgroundColor`
		light := browsertest.Eval[string](p.Page, background)
		p.click(menu + " > summary")
		p.accessible("the menu of the user")
		p.click(menu + ` [value="dark"]`)
		p.waitFor(`document.documentElement.dataset.theme === "dark" && %s !== %q`, background, light)
		p.waitFor(`document.querySelector('%s [value="dark"]').ariaPressed === "true"`, menu)
		p.open("/staff/orders")
		p.waitFor(`%s !== %q`, background, light)
	}
}

func TestReserveInTheListGoesToTheCustomer(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerk(phone)
	p.open("/staff/pets")
	p.click("#pet-1 .actions a.button")
	p.waitFor(`document.activeElement.id === "reserve-name"`)
	p.Run(chromedp.KeyEvent("Mrs Novák" + kb.Enter))
	p.waitText("#order-1", "Mrs Novák")
	p.accessible("a reserved animal")
}

// On the smallest phones, the two buttons of a card are beside the name, not below it.
func TestButtonsAreBesideTheNameOnASmallPhone(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	s.AddPet(t, "Hugo, European Shorthair", 1, shop.Available)
	p := s.signIn(320, s.adminKey("Anna, back office"))
	for path, cards := range map[string]string{"/staff/pets": ".pets tr:has(.actions a.button)", "/staff/people": ".people tr:has(.sign-in-link)"} {
		p.open(path, cards)
		below := browsertest.Eval[[]string](p.Page, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(card =>
			card.querySelector(".actions").getBoundingClientRect().top >= card.querySelector(".name").getBoundingClientRect().bottom).map(card => card.innerText)`, cards))
		if len(below) > 0 {
			t.Errorf("%s: got buttons below the name in %q", path, below)
		}
	}
}

func TestPageSaysThatItIsOffline(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(desktop)
	p.open("/staff/pets")
	p.offline(true)
	p.waitVisible("#offline")
	p.accessible("a page that is offline")
	p.fill("#filter-name", "Rex")
	p.waitText("#flashes", "Can’t reach the server")
	p.offline(false)
	p.waitFor(`document.getElementById("offline").hidden`)
	p.ConsoleErrors() // discards the expected errors about requests that could not be sent
}

// holdPosts makes a page hold back every form that the user submits. The forms are sent when a test runs release().
const holdPosts = `window.held = [], document.body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, requestConfig } }) => {
	if (requestConfig.verb !== "post") return;
	const send = xhr.send;
	xhr.send = (body) => held.push(() => send.call(xhr, body));
}), window.release = () => (held.splice(0).forEach((send) => send()), true), true`

// On a slow network, a page shows that it is busy, sends a form only once, and keeps the text that the user types in
// the meantime.
func TestSlowNetworkLosesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(desktop)
	p.open("/staff/pets")
	browsertest.Eval[bool](p.Page, holdPosts)
	p.fill("#add-name", "Rex")
	p.fill("#add-new-category", "Dogs"+kb.Enter)
	p.waitVisible("[data-busy] #busy")
	p.Run(chromedp.KeyEvent(kb.Enter)) // a second press of Enter
	p.fill("#add-name", "Bel")
	p.accessible("a busy page")
	if n := browsertest.Eval[int](p.Page, "held.length"); n != 1 {
		t.Fatalf("the form was sent %d times", n)
	}
	browsertest.Eval[bool](p.Page, "release()")
	p.waitText("#pet-1", "Rex")
	p.waitFor(`!document.querySelector("[data-busy]") && document.activeElement.id === "add-name"`)
	p.Run(chromedp.KeyEvent("la" + kb.Enter))
	p.waitFor("held.length === 1 && release()")
	p.waitText("#pet-2", "Bella")
}

// A long name without spaces is broken. It does not run out of its card.
func TestLongNamesStayInTheirCards(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	long := strings.Repeat("W", 200)
	if _, err := s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: long}, shop.PutCondition{}); err != nil {
		t.Fatal(err)
	}
	s.reserve(long, long)
	p := s.clerk(desktop)
	for _, path := range []string{"/", "/staff/pets", "/staff/pets/1", "/staff/orders", "/staff/orders/1", "/staff/categories", "/staff/activity", "/staff/search?q=www"} {
		p.open(path, "main")
		for _, width := range []int{desktop, 1024, phone} {
			p.resize(width)
			wide := browsertest.Eval[[]string](p.Page, `[document.documentElement, ...document.querySelectorAll(".card, .card li, .card dd, .tiles li > *")]
				.filter(e => e.scrollWidth > e.clientWidth + 1 && e.checkVisibility() && getComputedStyle(e).display !== "inline").map(e => e.outerHTML.slice(0, 160))`)
			if len(wide) > 0 {
				t.Errorf("%s at %d pixels: the name runs out of %q", path, width, wide)
			}
		}
		p.resize(desktop)
	}
}
