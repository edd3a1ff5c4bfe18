package window

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// In a real browser, the pages have no accessibility violations and fit the screen, their layout does not shift while the photos
// load, and the first view is small.
func TestPagesInABrowser(t *testing.T) {
	w := newWindow(t)
	w.settings(shop.SettingsChange{Name: new("Tierheim Sonnenhof"), Phone: new("+49 30 123456"), Email: new("hello@example.com"), Address: &[]string{"Gartenweg 4", "Berlin"},
		Window: shop.WindowChange{Introduction: new("Visit us.\n\nFrom Tuesday to Sunday.")}})
	full := func(c *shop.ProfileChange) {
		c.Description, c.Breeds, c.Sex, c.Size = new("A friendly dog.\n\nLikes children."), &[]string{"Beagle"}, new(shop.Female), new(shop.Small)
		c.BirthDate, c.Price, c.Tags = new("2024-01-01"), &shop.Price{Amount: "1250.50", Currency: "EUR"}, &[]string{"calm", "friendly"}
		c.Traits = map[shop.Trait]shop.Answer{shop.Neutered: shop.Yes, shop.GoodWithCats: shop.No}
	}
	for i := range 12 {
		pet := w.publish(fmt.Sprint("Bella ", i), int64(i%2)+1, full)
		w.addPhoto(pet.ID, "Bella in the garden")
		w.addPhoto(pet.ID, "Bella in the sun")
	}
	w.publish(strings.Repeat("Donaudampfschifffahrtsgesellschaft", 5), 1, full, func(c *shop.ProfileChange) { c.Sex, c.Size = new(shop.Male), new(shop.Large) })
	reserved := w.publish("شمشون القط الجميل", 2)
	w.setStatus(reserved.ID, shop.Pending)
	gone := w.publish("Gone", 1)
	w.setStatus(gone.ID, shop.Sold)
	for id, name := range []string{"Dogs", "Cats"} {
		if _, err := w.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: int64(id) + 1, Name: name}, shop.PutCondition{}); err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/window", w.pages)
	mux.Handle("/window/", w.pages)
	mux.HandleFunc("/photos/{file}", func(rw http.ResponseWriter, r *http.Request) {
		name, size, _ := shop.ParsePhotoFile(r.PathValue("file"))
		content, err := w.PhotoFile(r.Context(), name, size)
		if err != nil {
			t.Error(err)
		}
		rw.Header().Set("Content-Type", "image/jpeg")
		rw.Write(content)
	})
	url := shoptest.Serve(t, mux).URL
	p := browsertest.Open(t, 390, 844)
	for width, theme := range map[int64]string{390: "dark", 1440: "light"} {
		p.Run(emulation.SetDeviceMetricsOverride(width, 844, 1, width < 700),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
		for _, path := range []string{"/window", "/window?sex=female", petPath(1), petPath(13), petPath(reserved.ID), petPath(gone.ID), "/window?embed=1"} {
			what := fmt.Sprintf("%s at %d, %s", path, width, theme)
			p.Run(chromedp.Navigate(url+path), chromedp.WaitVisible("main"))
			p.Accessible(what)
			measured := browsertest.Eval[map[string]float64](p, `new Promise(done => {
					let shift = 0, paint = 0;
					new PerformanceObserver(l => l.getEntries().forEach(e => shift += e.value)).observe({type: "layout-shift", buffered: true});
					new PerformanceObserver(l => l.getEntries().forEach(e => paint = e.startTime)).observe({type: "largest-contentful-paint", buffered: true});
					scrollTo(0, document.body.scrollHeight);
					requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
						const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
						const own = all.filter(e => !e.name.includes("/photos/"));
						done({shift, paint, requests: all.length, bytes: own.reduce((n, e) => n + e.encodedBodySize, 0)});
					}, 0)));
				})`)
			if measured["shift"] != 0 || measured["bytes"] > 100_000 || measured["bytes"] == 0 {
				t.Errorf("%s: got %v, want no shift and at most 100,000 bytes", what, measured)
			}
			t.Logf("%s: largest paint after %.0f ms, %.0f requests, %.0f bytes besides photos", what, measured["paint"], measured["requests"], measured["bytes"])
			if path == petPath(gone.ID) {
				p.ConsoleErrors() // the browser reports the status 410
			}
		}
	}
}
