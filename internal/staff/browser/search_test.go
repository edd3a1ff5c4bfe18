package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/shop"
)

// The search needs no mouse: a shortcut opens it, the arrows choose, and Enter opens the result.
func TestSearchIsOpenedFromAnywhere(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.AddPet(t, "Zoë", 1, shop.Available)
	s.AddPet(t, "Zoë the second", 1, shop.Available)
	p := s.clerk(desktop)
	p.open("/staff/orders")
	p.Run(input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/"), input.DispatchKeyEvent(input.KeyUp).WithKey("/"))
	p.waitFor(`document.activeElement.id === "search-input"`)
	p.accessible("an empty search")
	p.Run(chromedp.KeyEvent("zoe"))
	p.waitText(`#search-dialog [aria-selected="true"]`, "Zoë the second")
	p.accessible("a search with results")
	p.Run(chromedp.KeyEvent(kb.ArrowDown))
	p.waitFor(`document.querySelector("#search-input").getAttribute("aria-activedescendant") === "hit-0-1"`)
	p.Run(chromedp.KeyEvent(kb.Enter))
	p.waitFor(`location.pathname === "/staff/pets/1"`)
	p.waitVisible("#pet-detail")
	p.Run(chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
	p.waitFor(`document.querySelector("#search-dialog").open`)
	p.Run(chromedp.KeyEvent(kb.Escape))
	p.waitFor(`!document.querySelector("#search-dialog").open`)

	mobile := s.clerk(390)
	mobile.click(".tabbar [data-search]")
	mobile.waitFor(`document.activeElement.id === "search-input"`)
	mobile.Run(emulation.SetScriptExecutionDisabled(true))
	mobile.open("/staff/search?q=second")
	mobile.waitText(".hits", "Zoë the second")
}
