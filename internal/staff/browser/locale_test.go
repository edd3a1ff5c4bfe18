package browser

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
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

// The zone is not named if the reader's clock shows the same time, whatever the names of the zones are.
func TestZonesWithTwoNamesAreTheSame(t *testing.T) {
	t.Parallel()
	for shopZone, readerZone := range map[string]string{"Etc/UTC": "UTC", "Europe/Kyiv": "Europe/Kiev", "Asia/Calcutta": "Asia/Kolkata"} {
		s := openIdleShop(t, shop.Options{Location: time.FixedZone(shopZone, 0)}) // the script uses only the name
		s.reserve("Rex", "Mrs Novák")
		p := s.clerk(desktop)
		p.Run(emulation.SetTimezoneOverride(readerZone))
		p.open("/staff/orders/print", "tbody time")
		p.waitFor(`/[AP]M$/.test(document.querySelector("tbody time").textContent)`)
		p.Run(emulation.SetTimezoneOverride("Asia/Tokyo"))
		p.open("/staff/orders/print", "tbody time")
		p.waitFor(`/[AP]M .+$/.test(document.querySelector("tbody time").textContent)`)
	}
}

// A time is shown once, also if the network delivers its text in two parts.
func TestTimeThatArrivesInPartsIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.reserve("Rex", "Mrs Novák")
	p := s.clerk(desktop)
	rest := make(chan bool)
	direct := s.url
	proxy := httputil.NewSingleHostReverseProxy(shoptest.Must(url.Parse(direct))(t))
	split := shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/staff/orders/1" {
			proxy.ServeHTTP(w, r)
			return
		}
		r.Header.Del("Accept-Encoding")
		page := httptest.NewRecorder()
		proxy.ServeHTTP(page, r)
		body := page.Body.String()
		maps.Copy(w.Header(), page.Header())
		w.Header().Del("Content-Length")
		_, history, _ := strings.Cut(body, `class="history"`)
		end := len(body) - len(history) + strings.Index(history, "</time>") - 3 // inside the text
		io.WriteString(w, body[:end])
		w.(http.Flusher).Flush()
		<-rest
		io.WriteString(w, body[end:])
	}))
	// The live stream of the page ends before its server is closed, which waits for it.
	t.Cleanup(func() { p.Run(chromedp.Navigate("about:blank")) })
	// The session's cookie belongs to the host, whatever the port is.
	p.Run(chromedp.Evaluate(fmt.Sprintf("location.assign(%q)", split.URL+"/staff/orders/1"), nil))
	for shown := false; !shown; { // waitFor would wait for the whole page
		p.Run(chromedp.Evaluate(`document.readyState === "loading" && /[AP]M/.test(document.querySelector(".history time")?.textContent ?? "")`, &shown))
	}
	close(rest)
	p.waitFor(`[...document.querySelectorAll("time:not(.time-left)")].every((time) => /^[^:]+:\d\d\s[AP]M( \S+)?$/.test(time.textContent))`)
}
