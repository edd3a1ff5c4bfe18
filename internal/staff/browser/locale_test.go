package browser

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that the zones are known on every machine

	"github.com/chromedp/cdproto/emulation"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// Dates, times and numbers are in the reader's language and in the shop's time zone, which is named where the reader is
// in another one. They are so before the first paint: nothing on the page moves.
func TestDatesAndNumbersFollowTheReader(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	s := openShop(t, shop.Options{Location: tokyo})
	rows := make([]shop.ImportRow, 1234)
	for i := range rows {
		rows[i].NewPet = shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available}
	}
	if _, err := s.ImportPets(t.Context(), rows, shop.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	order, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: 1})
	if err != nil {
		t.Fatal(err)
	}
	placed := order.CreatedAt.In(tokyo)
	p := s.clerk(desktop)
	look := func(language, zone, number, at string) {
		t.Helper()
		agent := browsertest.Eval[string](p.Page, "navigator.userAgent")
		p.Run(emulation.SetUserAgentOverride(agent).WithAcceptLanguage(language), emulation.SetTimezoneOverride(zone))
		p.open("/", ".tiles")
		p.waitText(".tiles", number)
		p.open("/staff/orders", "#order-1")
		if got := strings.ReplaceAll(p.text("#order-1 time:not(.time-left)"), "\u202f", " "); got != placed.Format(at) {
			t.Errorf("in %s and %s the order was placed on %s, want %s", language, zone, got, placed.Format(at))
		}
		moved := `new Promise(done => {
			let sum = 0;
			new PerformanceObserver(list => list.getEntries().forEach(e => sum += e.value)).observe({type: "layout-shift", buffered: true});
			requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
		})`
		if sum := browsertest.Eval[float64](p.Page, moved); sum > 0 {
			t.Errorf("in %s the page has moved by %v", language, sum)
		}
	}
	look("de-DE", "Asia/Tokyo", "1.234", "2. Jan. 2006, 15:04")
	look("en-US", "Asia/Tokyo", "1,234", "Jan 2, 2006, 3:04 PM")
	look("en-US", "Europe/Berlin", "1,234", "Jan 2, 2006, 3:04 PM GMT+9")
}
