package browser

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// press types a text or presses special keys.
func (p *user) press(keys string) {
	p.t.Helper()
	p.Run(chromedp.KeyEvent(keys))
}

// shortcut presses a key in the same way as a real keyboard. If the page handles the key, no character is typed.
func (p *user) shortcut(key string, modifiers input.Modifier) {
	p.t.Helper()
	p.waitFor(`document.readyState === "complete"`) // wait until the scripts have run
	down := input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithModifiers(modifiers)
	if modifiers == input.ModifierNone {
		down = down.WithText(key)
	}
	p.Run(down, input.DispatchKeyEvent(input.KeyUp).WithKey(key).WithModifiers(modifiers))
}

const searchIsOpen = `document.querySelector("#search-dialog").open && document.activeElement.id === "search-input"`

// The search needs no mouse. A shortcut opens it on every page, the arrow keys select a result, and Enter opens that
// result.
func TestSearchIsOpenedFromAnywhere(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Zoë", 1, shop.Available)
	s.AddPet(t, "Zoë the second", 1, shop.Available)
	s.reserve("Rex", "Mrs Novák")
	for _, look := range []struct {
		width int
		theme string
	}{{1440, "light"}, {1024, "dark"}, {390, "light"}, {390, "dark"}} {
		p := s.clerk(look.width)
		p.look(look.width, look.theme)
		p.open("/staff/orders", "#filter-customer")
		p.shortcut("/", input.ModifierNone)
		p.waitFor(searchIsOpen)
		p.accessible("an empty search")
		p.press("the ZOE")
		p.waitText(`#search-dialog [aria-selected="true"]`, "Zoë the second")
		p.press(kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace + "zoe")
		p.waitFor(`document.querySelectorAll("#search-dialog [role=option]").length === 2`)
		p.accessible("a search with results")
		p.resize(390)
		if low := browsertest.Eval[bool](p.Page, `[...document.querySelectorAll("#search-dialog [role=option]")].some(e => e.offsetHeight < 44)`); low {
			t.Error("results on a phone are lower than 44 pixels")
		}
		p.resize(p.width)
		p.press(kb.ArrowUp) // moves from the first result to the last one
		p.waitFor(`document.querySelector("#search-input").getAttribute("aria-activedescendant") === "hit-0-1"`)
		p.press(kb.ArrowDown + kb.ArrowDown + kb.Enter)
		p.waitFor(`location.pathname === "/staff/pets/1"`)
		p.waitVisible("#pet-detail")
		p.shortcut("k", input.ModifierCtrl)
		p.waitFor(searchIsOpen)
		p.press("novak" + kb.Enter) // Enter is pressed before there are results
		p.waitFor(`location.pathname === "/staff/orders/1"`)
		p.waitVisible("#order-detail")
		p.click("#order-reference")
		p.shortcut("k", input.ModifierMeta)
		p.waitFor(searchIsOpen)
		p.press("nobody")
		p.waitText("#search-results", "No results for “nobody”.")
		p.waitText("#search-status", "No results")
		p.accessible("a search without results")
		p.press(kb.Escape)
		p.waitFor(`!document.querySelector("#search-dialog").open && document.activeElement.id === "order-reference"`)
		p.shortcut("/", input.ModifierNone) // in a text field, the slash is only a character
		p.waitFor(`document.activeElement.value.includes("/") && !document.querySelector("#search-dialog").open`)
		p.open("/staff/pets", "#filter-name")
		p.fill("#filter-name", "second") // the list has its own search
		p.waitFor(`document.querySelectorAll(".pets tbody:last-of-type tr").length === 1`)
	}
}

func TestSearchOnAPhone(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Zoë", 1, shop.Available)
	p := s.clerk(390)
	p.open("/")
	p.click(".tabbar [data-search]")
	p.waitFor(searchIsOpen)
	if size := browsertest.Eval[string](p.Page, `getComputedStyle(document.activeElement).fontSize`); size != "16px" {
		t.Errorf("the field has the font size %s, so that some phones zoom in", size)
	}
	p.press("1")
	p.waitText(`#search-dialog [aria-selected="true"]`, "Zoë")
	p.click("#search-close")
	p.waitFor(`!document.querySelector("#search-dialog").open && document.activeElement.matches(".tabbar [data-search]")`)
}

// Without scripts, the search has a page of its own.
func TestSearchWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.reserve("Zoë", "Mrs Novák")
	for width, link := range map[int]string{desktop: ".sidebar [data-search]", 390: ".tabbar [data-search]"} {
		p := s.clerk(width)
		p.open("/staff/search?q=zoe", ".hits")
		p.accessible("the search page")
		p.open("/staff/search?q=nobody", ".empty")
		p.accessible("the search page without results")
		p.Run(emulation.SetScriptExecutionDisabled(true))
		p.open("/")
		p.click(link)
		p.fill("#page-search", "novak"+kb.Enter)
		p.click(`.hits a[href="/staff/orders/1"]`)
		p.waitVisible("#order-detail")
	}
}

// behindProxy puts a proxy in front of the shop. The proxy forwards a request only if the function before returns true.
func (s *testShop) behindProxy(before func(http.ResponseWriter, *http.Request) bool) {
	s.t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(shoptest.Must(url.Parse(s.url))(s.t))
	s.url = shoptest.Serve(s.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	})).URL
}

// On a slow network, the search shows that it is busy, and a late response does not replace a newer one.
func TestSearchOnASlowNetwork(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	s.AddPet(t, "Bella the second", 1, shop.Available)
	waiting, cancelled, release := make(chan bool, 10), make(chan bool, 10), make(chan bool)
	s.behindProxy(func(_ http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Query().Get("q") {
		case "rex": // this request gets no response; it ends when the browser cancels it
			waiting <- true
			<-r.Context().Done()
			cancelled <- true
			return false
		case "second":
			waiting <- true
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return true
	})
	p := s.clerk(desktop)
	p.open("/staff/orders")
	p.shortcut("/", input.ModifierNone)
	p.waitFor(searchIsOpen)
	p.press("rex")
	<-waiting
	p.waitFor(`document.querySelector("#search-results").ariaBusy === "true"`)
	p.waitFor(`getComputedStyle(document.querySelector("#search-dialog form"), "::after").opacity === "1"`)
	p.accessible("a busy search")
	p.fill("#search-input", "bella")
	<-cancelled
	p.waitText(`#search-dialog [aria-selected="true"]`, "Bella")
	p.waitFor(`!document.querySelector("#search-results").ariaBusy`)

	// If the user presses Enter before there are results, the first result is opened as soon as it arrives. If the user
	// has typed more text in the meantime, no result is opened.
	p.fill("#search-input", "second"+kb.Enter)
	<-waiting
	p.press(" rex") // typed without Enter
	p.waitFor(`document.querySelector("#search-input").value === "second rex"`)
	close(release)
	p.waitText("#search-results", "No results for “second rex”.")
	p.fill("#search-input", "2"+kb.Enter)
	p.waitFor(`location.pathname === "/staff/pets/2"`)
}

// If a search fails, the dialog says so, because it covers the messages on the page. The search works again when the
// service can be reached again.
func TestSearchSaysThatItFailed(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	var away atomic.Bool // true while the proxy cannot reach the service
	s.behindProxy(func(w http.ResponseWriter, _ *http.Request) bool {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
		return !away.Load()
	})
	p := s.clerk(desktop)
	p.open("/staff/orders")
	p.shortcut("/", input.ModifierNone)
	p.waitFor(searchIsOpen)
	p.offline(true)
	p.press("rex")
	p.waitText("#search-problem:not([hidden])", "You’re offline.")
	p.accessible("a search that is offline")
	if n := browsertest.Eval[int](p.Page, `document.querySelectorAll("#flashes > *").length`); n > 0 {
		t.Errorf("the page behind the search shows %d messages", n)
	}
	p.offline(false)
	p.waitText(`#search-dialog [aria-selected="true"]`, "Rex")
	p.waitFor(`document.querySelector("#search-problem").hidden`)
	away.Store(true)
	p.press(kb.Backspace)
	p.waitText("#search-problem:not([hidden])", "The search isn’t available at the moment.")
	away.Store(false)
	p.press(kb.Backspace)
	p.waitText(`#search-dialog [aria-selected="true"]`, "Rex")
	browsertest.Eval[bool](p.Page, `!!(document.querySelector("#search-input").form.action = "/staff/nowhere")`)
	p.press("x")
	// The dialog shows the service's error message.
	p.waitText("#search-problem:not([hidden])", "There is no page at this address.")

	p.ConsoleErrors() // discards the expected errors about failed requests
}
