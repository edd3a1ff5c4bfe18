// Package browser tests the staff pages in a real browser with a real store.
package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/demo"
	"animalstore/internal/httpapi"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/staff"
)

// testShop is a shop whose staff pages are served by a real HTTP server.
type testShop struct {
	*shoptest.Shop
	t   *testing.T
	url string
}

func newShop(t *testing.T, environment shop.Environment) *testShop {
	t.Helper()
	return openShop(t, shop.Options{Environment: environment})
}

// newShopWithRex opens a shop whose only animal is Rex. He has number 1 and is available.
func newShopWithRex(t *testing.T) *testShop {
	t.Helper()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Rex", 1, shop.Available)
	return s
}

func openShop(t *testing.T, options shop.Options) *testShop {
	t.Helper()
	s := openIdleShop(t, options)
	var working sync.WaitGroup
	t.Cleanup(working.Wait)
	working.Go(func() { s.RunJobs(t.Context(), func(err error) { t.Log("work:", err) }) })
	return s
}

// openIdleShop opens a shop without background jobs.
func openIdleShop(t *testing.T, options shop.Options) *testShop {
	t.Helper()
	s := shoptest.Open(t, shoptest.Options{Options: options})
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	pages := shoptest.Must(staff.New(staff.Config{Service: s.Service, Log: log}))(t)
	api := shoptest.Must(httpapi.New(httpapi.Config{Service: s.Service, Log: log, Version: "test"}))(t)
	server := shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if staff.Serves(r.URL.Path) {
			pages.ServeHTTP(w, r)
		} else {
			api.ServeHTTP(w, r) // the files of photos
		}
	}))
	t.Cleanup(pages.Stopping)
	return &testShop{s, t, server.URL}
}

// fillDemo loads the demo data and returns the number of animals.
func (s *testShop) fillDemo() int {
	s.t.Helper()
	n, err := demo.Fill(s.t.Context(), s.Store, s.Database)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// lateEvening moves the clock forward to 22:48. A time with four digits takes the most space on a page.
func (s *testShop) lateEvening() {
	now := s.Clock.Now()
	s.Clock.Forward(now.Truncate(24 * time.Hour).Add(46*time.Hour + 48*time.Minute).Sub(now))
}

// updatePet changes an animal directly through the service, without the staff pages.
func (s *testShop) updatePet(id int64, change shop.PetChange) {
	s.t.Helper()
	if _, err := s.UpdatePet(s.t.Context(), shop.Caller{}, id, change, nil); err != nil {
		s.t.Fatal(err)
	}
}

// clerk signs in a user who may do everything except administration.
func (s *testShop) clerk(width int) *user {
	s.t.Helper()
	return s.signIn(width, s.Key(s.t, shop.RoleStaff.Scopes()...).Secret)
}

// clerkWithoutScripts is like clerk, but the browser does not run the scripts of the pages.
func (s *testShop) clerkWithoutScripts(width int) *user {
	s.t.Helper()
	p := s.clerk(width)
	p.Run(emulation.SetScriptExecutionDisabled(true))
	return p
}

// user is a browser page in which a user is signed in.
type user struct {
	*browsertest.Page
	t     *testing.T
	shop  *testShop
	width int
}

const desktop, phone = 1280, 360 // page widths in pixels

// holdTimers makes a page hold back every timer of six seconds or more until a test runs elapse(). Without this, a
// message could vanish on a busy machine before the test has seen it.
const holdTimers = `(() => {
	const set = window.setTimeout, clear = window.clearTimeout, held = new Map();
	let last = 0;
	window.setTimeout = (f, delay, ...args) => {
		if (!(delay >= 6000)) return set(f, delay, ...args);
		held.set(--last, () => f(...args));
		return last;
	};
	window.clearTimeout = (id) => held.delete(id) || clear(id);
	window.elapse = () => { for (const [id, f] of held) { held.delete(id); f(); } };
})()`

// signIn opens a page of the given width and signs in with a key.
func (s *testShop) signIn(width int, key string) *user {
	s.t.Helper()
	p := &user{browsertest.Open(s.t, width, 900), s.t, s, width}
	p.resize(width)
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(holdTimers).Do(ctx)
		return err
	}))
	p.open("/")
	p.fill(`[name="key"]`, key+kb.Enter)
	p.waitVisible("body.app main")
	return p
}

func (p *user) resize(width int) {
	p.t.Helper()
	p.Run(emulation.SetDeviceMetricsOverride(int64(width), 900, 1, width <= phone))
}

// prefer makes the browser report that the user prefers "light" or "dark" colours.
func (p *user) prefer(theme string) {
	p.t.Helper()
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
}

// offline disconnects the browser from the network. offline(false) reconnects the browser.
func (p *user) offline(is bool) {
	p.t.Helper()
	p.Run(network.Enable(), network.EmulateNetworkConditions(is, 0, -1, -1))
}

// accessible checks that the page is accessible at the width that the user has, and that it fits the screens of desktops
// and phones. The parameter what names the page in error messages.
func (p *user) accessible(what string) {
	p.t.Helper()
	p.Accessible(fmt.Sprintf("%s at %d pixels", what, p.width))
	p.resize(phone)
	// axe does not report targets that are too small to touch, so look for them here.
	small := browsertest.Eval[[]string](p.Page, `[...document.querySelectorAll("button, .button, select, summary.button, .tabbar a, .tabbar summary, .items a, .tabs label, input:not([type=checkbox], [type=radio], [type=hidden])")]
		.filter(e => e.checkVisibility({visibilityProperty: true}) && Math.round(e.getBoundingClientRect().height) < 44).map(e => e.outerHTML.slice(0, 120))`)
	if len(small) > 0 {
		p.t.Errorf("%s on a phone has targets lower than 44 pixels: %q", what, small)
	}
	for _, width := range []int{320, phone, 1024, desktop} {
		p.resize(width)
		if wide := browsertest.Eval[int](p.Page, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			p.t.Errorf("%s is %d pixels wider than a screen of %d", what, wide, width)
		}
		if cut := browsertest.Eval[[]string](p.Page, `[...document.querySelectorAll(".card > table")].filter(e => e.scrollWidth > e.parentElement.clientWidth).map(e => e.className)`); len(cut) > 0 {
			p.t.Errorf("%s at %d pixels has tables that are wider than their cards: %q", what, width, cut)
		}
	}
	p.resize(p.width)
}

// open opens a page and waits until the given elements are visible.
func (p *user) open(path string, selectors ...string) {
	p.t.Helper()
	p.Run(chromedp.Navigate(p.shop.url + path))
	for _, selector := range selectors {
		p.waitVisible(selector)
	}
}

// click clicks a visible element. It does not simulate the mouse, because such a click is lost if a live update
// replaces the element between the press and the release of the mouse button.
func (p *user) click(selector string) {
	p.t.Helper()
	p.waitFor(`(() => {
		const element = document.querySelector(%q);
		if (!element?.checkVisibility()) return false;
		element.focus();
		element.click();
		return true;
	})()`, selector)
}

// choose opens the menu in a row and clicks an item of the menu.
func (p *user) choose(row, item string) {
	p.t.Helper()
	p.click(row + " .menu:has(" + item + ") > summary")
	p.click(row + " " + item)
}

// fill replaces the text in a form field.
func (p *user) fill(selector, text string) {
	p.t.Helper()
	p.waitVisible(selector)
	focus := fmt.Sprintf(`document.querySelector(%[1]q).focus(), document.querySelector(%[1]q).select()`, selector)
	p.Run(chromedp.Evaluate(focus, nil), chromedp.KeyEvent(text))
}

// waitVisible waits until an element is visible.
func (p *user) waitVisible(selector string) {
	p.t.Helper()
	p.waitFor(`!!document.querySelector(%[1]q) && document.querySelector(%[1]q).checkVisibility()`, selector)
}

// waitFor waits until the page is parsed to its end and a JavaScript expression is true, even if the page is reloaded in
// the meantime.
func (p *user) waitFor(expression string, args ...any) {
	p.t.Helper()
	// Without the check of the state, a test could read an element that the browser has not parsed yet.
	expression = fmt.Sprintf(`document.readyState !== "loading" && (`+expression+")", args...)
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
			var done bool
			if err := chromedp.Evaluate(expression, &done).Do(ctx); err == nil && done {
				return nil
			}
			if err := chromedp.Sleep(30 * time.Millisecond).Do(ctx); err != nil {
				return err
			}
		}
		var body string
		chromedp.Evaluate("location + ' ' + document.activeElement.id + ' ' + document.querySelector('main').innerText", &body).Do(ctx)
		return fmt.Errorf("timed out waiting for %s; the page says %s", expression, body)
	}))
}

// waitText waits until an element that matches the selector contains the text.
func (p *user) waitText(selector, text string) {
	p.t.Helper()
	p.waitFor(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text)
}

// text returns the text in an element, with spaces collapsed, or "" if there is no such element.
func (p *user) text(selector string) string {
	p.t.Helper()
	text := `(document.querySelector(%q) || {textContent: ""}).textContent.replace(/\s+/g, " ").trim()`
	return browsertest.Eval[string](p.Page, fmt.Sprintf(text, selector))
}
