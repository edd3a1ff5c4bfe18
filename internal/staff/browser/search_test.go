package browser

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// press presses a key, as a keyboard would.
func (p *user) press(key string, modifiers ...input.Modifier) {
	p.t.Helper()
	if key == "/" { // chromedp does not know which key that is
		p.Run(input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/"), input.DispatchKeyEvent(input.KeyUp).WithKey("/"))
		return
	}
	p.Run(chromedp.KeyEvent(key, chromedp.KeyModifiers(modifiers...)))
}

const searchIsOpen = `document.querySelector("#search-dialog").open && document.activeElement.id === "search-input"`

// The search needs no mouse: a shortcut opens it on every page, the arrows choose, and Enter opens the result.
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
		p.press("/")
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
		p.press(kb.ArrowUp) // from the first to the last one
		p.waitFor(`document.querySelector("#search-input").getAttribute("aria-activedescendant") === "hit-0-1"`)
		p.press(kb.ArrowDown + kb.ArrowDown + kb.Enter)
		p.waitFor(`location.pathname === "/staff/pets/1"`)
		p.waitVisible("#pet-detail")
		p.press("k", input.ModifierCtrl)
		p.waitFor(searchIsOpen)
		p.press("novak" + kb.Enter) // before there are results
		p.waitFor(`location.pathname === "/staff/orders/1"`)
		p.waitVisible("#order-detail")
		p.click("#order-reference")
		p.press("k", input.ModifierMeta)
		p.waitFor(searchIsOpen)
		p.press("nobody")
		p.waitText("#search-results", "No results for “nobody”.")
		p.waitText("#search-status", "No results")
		p.accessible("a search without results")
		p.press(kb.Escape)
		p.waitFor(`!document.querySelector("#search-dialog").open && document.activeElement.id === "order-reference"`)
		p.press("/") // in a field, it is only a character
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

// Without scripts, the search is a page.
func TestSearchWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.reserve("Zoë", "Mrs Novák")
	for _, width := range []int{desktop, 390} {
		p := s.clerk(width)
		p.open("/staff/search?q=zoe", ".hits")
		p.accessible("the search page")
		p.open("/staff/search?q=nobody", ".empty")
		p.accessible("the search page without results")
		p.Run(emulation.SetScriptExecutionDisabled(true))
		p.open("/")
		p.click(`[data-search]:not(.tabbar *), .tabbar [data-search]`)
		p.Run(chromedp.WaitVisible("#page-search", chromedp.ByQuery), chromedp.SendKeys("#page-search", "novak"+kb.Enter, chromedp.ByQuery),
			chromedp.WaitVisible(`.hits a[href="/staff/orders/1"]`, chromedp.ByQuery))
		p.click(`.hits a[href="/staff/orders/1"]`)
		p.Run(chromedp.WaitVisible("#order-detail", chromedp.ByQuery))
	}
}

// holdSearches makes a page hold the requests of the search until a test runs release(i).
const holdSearches = `window.held = [], document.body.addEventListener("htmx:beforeRequest", ({ detail: { xhr, requestConfig } }) => {
	if (requestConfig.path !== "/staff/search") return;
	const send = xhr.send;
	xhr.send = (body) => held.push(() => send.call(xhr, body));
}), window.release = (i) => (held[i](), true), true`

// On a slow network, the search shows that it is busy, and a late response does not replace a newer one.
func TestSearchOnASlowNetwork(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Bella", 1, shop.Available)
	p := s.clerk(desktop)
	p.open("/staff/orders")
	browsertest.Eval[bool](p.Page, holdSearches)
	p.press("/")
	p.waitFor(searchIsOpen)
	p.press("rex")
	p.waitFor(`held.length === 1 && document.querySelector("#search-results").ariaBusy === "true"`)
	p.waitFor(`getComputedStyle(document.querySelector("#search-dialog form"), "::after").opacity === "1"`)
	p.accessible("a busy search")
	p.press(kb.Backspace + kb.Backspace + kb.Backspace + "bella")
	p.waitFor(`held.length === 2`)
	browsertest.Eval[bool](p.Page, "release(1)")
	p.waitText(`#search-dialog [aria-selected="true"]`, "Bella")
	browsertest.Eval[bool](p.Page, `(() => { try { release(0) } catch {} return true })()`) // the request was cancelled, so it cannot be sent
	p.press("x")
	p.waitFor(`held.length === 3 && release(2)`)
	p.waitText("#search-results", "No results for “bellax”.")
	if text := p.text("#search-results"); browsertest.Eval[string](p.Page, `document.querySelector("#search-input").value`) != "bellax" {
		t.Errorf("the search shows %q", text)
	}
}

// A search that fails says so in the dialog, because the page behind it is out of reach, and recovers.
func TestSearchSaysThatItFailed(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Rex", 1, shop.Available)
	var away atomic.Bool // whether the proxy in front of the service cannot reach it
	proxy := httputil.NewSingleHostReverseProxy(shoptest.Must(url.Parse(s.url))(t))
	s.url = shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	})).URL
	p := s.clerk(desktop)
	p.open("/staff/orders")
	offline := func(is bool) { p.Run(network.Enable(), network.EmulateNetworkConditions(is, 0, -1, -1)) }
	p.press("/")
	p.waitFor(searchIsOpen)
	offline(true)
	p.press("rex")
	p.waitText("#search-problem:not([hidden])", "You’re offline.")
	p.accessible("a search that is offline")
	if n := browsertest.Eval[int](p.Page, `document.querySelectorAll("#flashes > *").length`); n > 0 {
		t.Errorf("the page behind the search shows %d messages", n)
	}
	offline(false)
	p.waitText(`#search-dialog [aria-selected="true"]`, "Rex")
	p.waitFor(`document.querySelector("#search-problem").hidden`)
	away.Store(true)
	p.press(kb.Backspace)
	p.waitText("#search-problem:not([hidden])", "The search isn’t available at the moment.")
	away.Store(false)
	p.press(kb.Backspace)
	p.waitText(`#search-dialog [aria-selected="true"]`, "Rex")
	browsertest.Eval[bool](p.Page, `document.body.addEventListener("htmx:configRequest", ({ detail }) => (detail.path = "/staff/nowhere")), true`)
	p.press("x")
	p.waitText("#search-problem:not([hidden])", "There is no page at this address.") // the service says why

	p.ConsoleErrors() // the browser logs requests that it could not send
}
