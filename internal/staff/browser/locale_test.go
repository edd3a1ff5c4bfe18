package browser

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Dates, times and numbers are shown in the format of the reader's language. Times are in the shop's time zone, and the
// zone is named if the reader is in another one. The formats are applied before the first paint, so nothing on the page
// moves because of them.
func TestDatesAndNumbersFollowTheReader(t *testing.T) {
	t.Parallel()
	s := openShop(t, shop.Options{Location: shoptest.Zone("Asia/Tokyo")})
	rows := make([]shop.ImportRow, 1234)
	for i := range rows {
		rows[i].NewPet = shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available}
	}
	if _, err := s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	order, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := s.clerk(desktop)
	look := func(language, zone, number, suffix string) {
		t.Helper()
		agent := browsertest.Eval[string](p.Page, "navigator.userAgent")
		p.Run(emulation.SetUserAgentOverride(agent).WithAcceptLanguage(language), emulation.SetTimezoneOverride(zone))
		p.open("/", ".tiles")
		p.waitText(".tiles", number)
		p.open("/staff/orders/print", "tbody time")
		want := browsertest.Eval[string](p.Page, fmt.Sprintf(`new Intl.DateTimeFormat(%q, {year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZone: "Asia/Tokyo"})
			.format(new Date(%q)).replace(/\s+/g, " ")`, language, order.CreatedAt.Truncate(time.Second).Format(time.RFC3339)))
		if got := p.text("tbody time"); got != want+suffix {
			t.Errorf("in %s and %s the order was placed on %s, want %s", language, zone, got, want+suffix)
		}
		painted := `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done([...window.painted].join("; ")))))`
		if got := browsertest.Eval[string](p.Page, painted); got != want+suffix {
			t.Errorf("in %s the browser has painted %s, want only %s", language, got, want+suffix)
		}
	}
	// Before each frame, the browser records the time that it is about to paint.
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`
			window.painted = new Set();
			const record = () => {
				const time = document.querySelector("tbody time");
				if (time) painted.add(time.textContent.replace(/\s+/g, " ").trim());
				requestAnimationFrame(record);
			};
			requestAnimationFrame(record);`).Do(ctx)
		return err
	}))
	look("de-DE", "Asia/Tokyo", "1.234", "")
	look("en-US", "Asia/Tokyo", "1,234", "")
	look("en-US", "Europe/Berlin", "1,234", " GMT+9")
}
