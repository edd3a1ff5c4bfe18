package browser

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// pdf returns the page as the browser would print it on A4, and the number of sheets.
func (p *user) pdf() (document []byte, sheets int) {
	p.t.Helper()
	p.Run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		document, _, err = page.PrintToPDF().WithPaperWidth(8.27).WithPaperHeight(11.69).WithPreferCSSPageSize(true).Do(ctx)
		return err
	}))
	return document, bytes.Count(document, []byte("/Type /Page\n"))
}

// Pages are printed without navigation and buttons. They fit the width of the paper and take about the expected
// number of sheets.
func TestPagesArePrinted(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.lateEvening()
	for i := range 120 {
		s.AddPet(t, fmt.Sprint("Rex ", i+1, " ", strings.Repeat("long name ", i%12)), int64(1+i%3), shop.Available)
	}
	for i := range int64(3) {
		if _, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: i + 1, Reference: "Mrs Novák"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UpdateOrder(t.Context(), shop.Caller{}, i+1, shop.OrderChange{Status: new(shop.Approved)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p := s.clerk(desktop)
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument("window.printed = 0; window.print = () => window.printed++;").Do(ctx)
		return err
	}))
	for _, c := range []struct {
		path   string
		text   string
		sheets int // the approximate number of sheets
		dialog bool
	}{
		{"/staff/pets/print#print", "120 animals", 6, true},
		{"/staff/orders/print?status=approved#print", "To hand over", 1, true},
		{"/staff/orders/1/print#print", "Order 1", 1, true},
		{"/staff/pets/1", "History", 1, false},
		{"/staff/pets", "Rex 120", 1, false},
		{"/staff/orders", "Mrs Novák", 1, false},
	} {
		p.Run(emulation.SetEmulatedMedia())
		// Leave the current page first. If the next URL differed only in its fragment, the page would not be loaded.
		p.Run(chromedp.Navigate("about:blank"))
		p.open(c.path)
		p.waitText("main", c.text)
		if c.dialog {
			p.waitFor("window.printed === 1")
			p.accessible(c.path)
			p.click("[data-print]")
			p.waitFor("window.printed === 2")
		}
		if document, sheets := p.pdf(); sheets < 1 || sheets < c.sheets-2 || sheets > c.sheets+2 {
			t.Errorf("%s needs %d sheets, want %d (%d bytes)", c.path, sheets, c.sheets, len(document))
		}
		p.Run(emulation.SetEmulatedMedia().WithMedia("print"), emulation.SetDeviceMetricsOverride(680, 1000, 1, false)) // A4 without its margins
		visible := browsertest.Eval[string](p.Page, `[...document.querySelectorAll("nav, button, form, .button, #flashes, .sidebar")]
			.filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 80)).join("\n")`)
		if visible != "" {
			t.Errorf("%s prints\n%s", c.path, visible)
		}
		if wide := browsertest.Eval[int](p.Page, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%s is %d pixels wider than the paper", c.path, wide)
		}
		p.resize(desktop)
	}
}
