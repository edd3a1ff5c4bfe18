package window

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/web"
)

// While the window is off, every path below it is 404 and says nothing about the shop.
func TestWindowIsOffUntilItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	w := serveWindow(t, shoptest.Open(t, shoptest.Options{}), withPublicURL)
	w.settings(shop.SettingsChange{Name: new("Paws & Co")})
	pet := w.publish("Bella", 1)
	paths := []string{
		"/window", "/window/", "/window/animals.json", "/window/feed.xml", "/window/sitemap.xml", petPath(pet.ID), "/window/pets/99", "/window/nothing",
		"/window?embed=1", "/window/static/" + w.pages.files.paths["window.css"],
	}
	for _, enabled := range []bool{false, true, false} {
		w.settings(shop.SettingsChange{Window: shop.WindowChange{Enabled: &enabled}})
		for _, path := range paths {
			got := w.get(path)
			if !enabled {
				got.want(t, 404, "-Bella", "-Paws")
			} else if wanted := path != "/window/pets/99" && path != "/window/nothing"; wanted != (got.StatusCode < 400) {
				t.Errorf("%s: got status %d of a window that is on", path, got.StatusCode)
			}
		}
	}
}

// The pages show what is published and available or pending. An animal that was published is gone, and its page leads to
// others; of an animal that never was, nothing is known.
func TestPagesShowPublishedAnimals(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *testWindow) {
		if _, err := w.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: "Dogs"}, shop.PutCondition{}); err != nil {
			t.Fatal(err)
		}
		bella := w.publish("Bella", 1, func(c *shop.ProfileChange) { c.Price = &shop.Price{Amount: "250.00", Currency: "EUR"} })
		rex := w.publish("Rex", 1)
		luna := w.publish("Luna", 2)
		hidden := w.AddPet(t, "Hidden", 1, shop.Available)
		noStatus := w.AddPet(t, "Undecided", 1, "")
		w.profile(noStatus.ID, func(c *shop.ProfileChange) { c.Published = new(true) })
		w.get("/window").want(t, 200, "Bella", "Rex", "Luna", "€250", "Dogs", "-Hidden", "-Undecided", "-Reserved")
		w.get(petPath(bella.ID)).want(t, 200, "Bella", "Price <strong>€250</strong>", "-Reserved")
		w.get(petPath(hidden.ID)).want(t, 404, "-Hidden")
		w.get(petPath(noStatus.ID)).want(t, 404, "-Undecided")
		for _, path := range []string{"/window/pets/99", "/window/pets/", "/window/pets/x", "/window/pets/01", "/window/pets/1/2", "/window/pets/9223372036854775808"} {
			w.get(path).want(t, 404)
		}

		if _, err := w.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: bella.ID}); err != nil {
			t.Fatal(err)
		}
		w.get(petPath(bella.ID)).want(t, 200, "Bella", "Reserved", "https://schema.org/Reserved")
		w.get("/window").want(t, 200, "Reserved")
		w.setStatus(rex.ID, shop.Sold)
		w.get("/window").want(t, 200, "Bella", "-Rex")
		w.get(petPath(rex.ID)).want(t, 410, "-Rex", "Bella", "-Luna") // another dog
		w.profile(luna.ID, func(c *shop.ProfileChange) { c.Published = new(false) })
		w.get(petPath(luna.ID)).want(t, 410, "-Luna", "Bella")
		if err := w.DeletePet(t.Context(), shop.Caller{}, rex.ID, nil); err != nil {
			t.Fatal(err)
		}
		if got := w.get(petPath(rex.ID)).want(t, 410, "-Rex", "Bella"); got.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("got %v", got.Header)
		}
		if got := w.get("/window/pets/99"); got.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("got %v", got.Header)
		}
		w.settings(shop.SettingsChange{Kind: new(shop.KindShelter)})
		w.get(petPath(bella.ID)).want(t, 200, "Adoption fee <strong>€250</strong>")
	})
}

// The links of the pages lead through all animals, and those of the filters to the animals that fit.
func TestLinksLeadThroughTheAnimals(t *testing.T) {
	w := newWindow(t)
	for i := range 60 {
		w.publish(fmt.Sprintf("Animal %d.", i), int64(i%2)+1, func(c *shop.ProfileChange) {
			c.Sex, c.Size, c.Tags = &shop.Sexes()[i%2], &shop.Sizes()[i%4], &[]string{[]string{"calm", "müde & <so>"}[i%2]}
		})
	}
	for id := range int64(2) {
		if _, err := w.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: id + 1, Name: fmt.Sprintf("Kind %d", id)}, shop.PutCondition{}); err != nil {
			t.Fatal(err)
		}
	}
	name, next := regexp.MustCompile(`Animal \d+\.</span>`), regexp.MustCompile(`href="([^"]+)" rel="next"`)
	walk := func(path string) (names []string) {
		for path != "" {
			page := w.get(html.UnescapeString(path)).want(t, 200)
			names = append(names, name.FindAllString(page.body, -1)...)
			path = ""
			if link := next.FindStringSubmatch(page.body); link != nil {
				path = link[1]
			}
		}
		return names
	}
	all := walk("/window?utm_source=portal")
	if slices.Sort(all); len(slices.Compact(all)) != 60 {
		t.Errorf("the pages lead to %d animals, want 60", len(all))
	}
	links := regexp.MustCompile(`<a href="([^"]+)"( dir="auto")?>(Kind 1|Female|Large|calm|müde &amp; &lt;so&gt;)</a>`).FindAllStringSubmatch(w.get("/window").body, -1)
	if len(links) != 5 {
		t.Fatalf("got the filters %q", links)
	}
	for _, link := range links {
		want := 30
		if link[3] == "Large" {
			want = 15
		}
		if got := walk(link[1]); len(got) != want {
			t.Errorf("%s leads to %d animals, want %d", link[3], len(got), want)
		}
	}
}

func TestInvalidParametersAreRefused(t *testing.T) {
	w := newWindow(t)
	for query, message := range map[string]string{
		"category=x": "parameter category", "category=": "parameter category", "sex=cat": "must be one of female, male", "size=": "must be one of small",
		"tag=a,b": "parameter tag", "tag=": "parameter tag", "cursor=1": "cursor is invalid", "sex=male&sex=male": "1 times at most", "category=%zz": "cannot be read",
		strings.Repeat("tag=a&", 21): "20 times at most",
	} {
		w.get("/window?"+query).want(t, 400, message)
		got := w.get("/window/animals.json?"+query).want(t, 400, message)
		var body struct {
			Code    string
			Message string
			Status  int
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || body.Status != 400 || body.Code == "" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s, %v", query, got.body, err)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE"} {
		if got := w.do(method, "/window").want(t, 405); got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: %v", method, got.Header)
		}
	}
	w.do("OPTIONS", "/window/animals.json").want(t, 204)
	if got := w.get("/window/").want(t, 308); got.Header.Get("Location") != "/window" {
		t.Errorf("got %v", got.Header)
	}
}

// Every cache may keep a response and must ask before each use; the tag is that of the content.
func TestResponsesAreConfirmedBeforeEachUse(t *testing.T) {
	w := newWindow(t, withPublicURL)
	bella := w.publish("Bella", 1)
	for _, path := range []string{"/window", petPath(bella.ID), "/window/animals.json", "/window/feed.xml", "/window/sitemap.xml"} {
		for _, encoding := range []string{"identity", "gzip"} {
			got := w.get(path, "Accept-Encoding", encoding).want(t, 200)
			tag := got.Header.Get("Etag")
			if got.Header.Get("Cache-Control") != "public, no-cache" || tag == "" || got.Header.Get("Vary") != "Accept-Encoding" || len(got.Cookies()) > 0 {
				t.Errorf("%s: got %v", path, got.Header)
			}
			again := w.get(path, "Accept-Encoding", encoding, "If-None-Match", "W/"+tag).want(t, 304)
			if again.body != "" || again.Header.Get("Etag") != tag || again.Header.Get("Cache-Control") != "public, no-cache" {
				t.Errorf("%s: got %q with %v", path, again.body, again.Header)
			}
			head := w.do("HEAD", path, "Accept-Encoding", encoding).want(t, 200)
			if head.body != "" || head.Header.Get("Etag") != tag || head.Header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
				t.Errorf("%s: HEAD got %q with %v", path, head.body, head.Header)
			}
		}
		tag := w.get(path).Header.Get("Etag")
		w.profile(bella.ID, func(c *shop.ProfileChange) { c.Color = new("x" + path) })
		if changed := w.get(path, "If-None-Match", tag); path != "/window" && changed.StatusCode != 200 {
			t.Errorf("%s: got status %d after a change", path, changed.StatusCode)
		}
	}
}

// A page is never older than the change that somebody knows about: of the animal, its category, its photos, the settings
// or the end of a hold.
func TestPagesAreTrueAtOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *testWindow) {
		bella := w.publish("Bella", 1)
		steps := []struct {
			name   string
			change func()
			text   string
		}{
			{"a name", func() { w.rename(bella.ID, "Bellissima") }, "Bellissima"},
			{"a category", func() {
				if _, err := w.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: "Dogs"}, shop.PutCondition{}); err != nil {
					t.Fatal(err)
				}
			}, "Dogs"},
			{"a photo", func() { w.addPhoto(bella.ID, "in the garden") }, "in the garden"},
			{"the settings", func() { w.settings(shop.SettingsChange{Name: new("Paws")}) }, "Paws"},
			{"a price", func() {
				w.profile(bella.ID, func(c *shop.ProfileChange) { c.Price = &shop.Price{Amount: "5", Currency: "CHF"} })
			}, "CHF\u00a05"},
			{"an order", func() {
				if _, err := w.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: bella.ID}); err != nil {
					t.Fatal(err)
				}
			}, "Reserved"},
			{"the end of its hold", func() { w.Clock.Forward(shop.DefaultOrderHold) }, "-Reserved"},
			{"a sale", func() { w.setStatus(bella.ID, shop.Sold) }, "-Bellissima"},
		}
		for _, step := range steps {
			w.get("/window")
			step.change()
			if got := w.get("/window").want(t, 200, step.text); t.Failed() {
				t.Fatalf("after %s:\n%s", step.name, got.body)
			}
		}
	})
}

// A page in the cache ends with the day in the time zone of the shop, and with a hold whose end was moved.
func TestCachedPageEndsWithTheDayAndWithAHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so the time stands still
		w := serveWindow(t, shoptest.Open(t, shoptest.Options{}))
		w.settings(shop.SettingsChange{TimeZone: new("Europe/Berlin"), Window: shop.WindowChange{Enabled: new(true)}})
		midnight := time.Date(2026, 5, 4, 22, 0, 0, 0, time.UTC)
		w.Clock.Forward(midnight.Add(-100 * time.Millisecond).Sub(w.Clock.Now()))
		bella := w.publish("Bella", 1, func(c *shop.ProfileChange) { c.BirthDate = new("2024-05-05") })
		w.get("/window").want(t, 200, "23 months")
		w.get(petPath(bella.ID)).want(t, 200, "23 months")
		w.Clock.Forward(100 * time.Millisecond)
		w.get("/window").want(t, 200, "2 years")
		w.get(petPath(bella.ID)).want(t, 200, "2 years")

		order, err := w.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: bella.ID})
		if err != nil {
			t.Fatal(err)
		}
		w.get("/window").want(t, 200, "Reserved")
		end := w.Clock.Now().Add(100 * time.Millisecond)
		if _, err := w.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{HoldExpiresAt: &end}, nil); err != nil {
			t.Fatal(err)
		}
		w.get("/window").want(t, 200, "Reserved")
		w.Clock.Forward(100 * time.Millisecond)
		w.get("/window").want(t, 200, "-Reserved")
	})
}

func (w *testWindow) rename(id int64, name string) {
	w.t.Helper()
	if _, err := w.UpdatePet(w.t.Context(), shop.Caller{}, id, shop.PetChange{Name: &name}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// Only the sites that the settings name may show the window in a frame, and only the pages that are made for that.
func TestWindowIsEmbeddedOnlyByKnownSites(t *testing.T) {
	w := newWindow(t)
	bella := w.publish("Bella", 1)
	ancestors := func(path string) string {
		_, after, _ := strings.Cut(w.get(path).Header.Get("Content-Security-Policy"), "frame-ancestors ")
		return after
	}
	for _, path := range []string{"/window", petPath(bella.ID)} {
		if got := ancestors(path + "?embed=1"); got != "'none'" {
			t.Errorf("without origins, %s allows %s", path, got)
		}
	}
	w.settings(shop.SettingsChange{Window: shop.WindowChange{EmbedOrigins: &[]string{"https://www.example.com", "https://example.org:8443"}}})
	for _, path := range []string{"/window", petPath(bella.ID)} {
		if got := ancestors(path); got != "'none'" {
			t.Errorf("%s allows %s", path, got)
		}
		if got := ancestors(path + "?embed=1"); got != "https://www.example.com https://example.org:8443" {
			t.Errorf("%s?embed=1 allows %s", path, got)
		}
		w.get(path+"?embed=1").want(t, 200, "embed=1", "-<header", "-<footer")
	}
	if got := ancestors("/window/pets/99?embed=1"); got != "'none'" {
		t.Errorf("an error page allows %s", got)
	}
}

// Without a public URL, no response has an absolute URL of this service, and no response ever has the host of a request.
func TestForgedHostReachesNoByte(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, publicURL := range []string{"", public} {
		w := serveWindow(t, s, func(c *Config) { c.PublicURL = publicURL })
		w.switchOn()
		bella := w.publish("Bella", 1)
		w.addPhoto(bella.ID, "Bella")
		gone := w.publish("Gone", 1)
		w.setStatus(gone.ID, shop.Sold)
		for _, path := range []string{
			"/window", "/window/", "/window?embed=1", "/window?sex=male", "/window?sex=x", petPath(bella.ID), petPath(gone.ID), "/window/pets/99", "/window/animals.json",
			"/window/feed.xml", "/window/sitemap.xml", "/window/static/" + w.pages.files.paths["window.css"],
		} {
			got := w.get(path, "Host", "evil.example", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example;proto=https", "X-Forwarded-Proto", "https", "Origin", "https://evil.example")
			all := got.body
			for name, values := range got.Header {
				all += name + ": " + strings.Join(values, ", ") + "\n"
			}
			if strings.Contains(all, "evil") {
				t.Errorf("%s contains the host of the request:\n%s", path, all)
			}
			if publicURL == "" && strings.Contains(strings.NewReplacer("https://schema.org", "").Replace(all), "https://") {
				t.Errorf("%s contains an absolute URL:\n%s", path, all)
			}
		}
		w.get(petPath(bella.ID), "Host", "evil.example")
		w.get(petPath(bella.ID)).want(t, 200, "-evil")
		if feed := w.get("/window/feed.xml"); (feed.StatusCode == 404) != (publicURL == "") {
			t.Errorf("got status %d for the feed with the public URL %q", feed.StatusCode, publicURL)
		}
	}
}

func TestStagingIsNotIndexed(t *testing.T) {
	t.Parallel()
	for environment, want := range map[shop.Environment]string{shop.Production: "", shop.Staging: "noindex"} {
		w := serveWindow(t, shoptest.Open(t, shoptest.Options{Options: shop.Options{Environment: environment}}))
		w.switchOn()
		got := w.get("/window").want(t, 200)
		if header := got.Header.Get("X-Robots-Tag"); header != want || strings.Contains(got.body, "noindex") != (want != "") {
			t.Errorf("%s: got %q", environment, header)
		}
	}
}

// The window reads the store within its own limits, and refuses visitors beyond them without touching others.
func TestWindowHasItsOwnLimits(t *testing.T) {
	limits := web.NewLimits(0)
	w := newWindow(t, func(c *Config) { c.Limits = limits })
	w.publish("Bella", 1)
	w.get("/window").want(t, 200, "Bella")
	var held []admission.Slot
	defer func() {
		for i := range held {
			held[i].Release()
		}
	}()
	hold := func(kind admission.Kind, weight int) {
		slot, err := limits.HoldSent(kind, weight)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, slot)
	}
	hold(admission.SentPhotos, admission.SentPhotos.Limit().Total)
	hold(admission.Sitemaps, 1)
	w.get("/window/sitemap.xml").want(t, 404) // without a public URL
	if got := w.get("/window").want(t, 503, "Too many people"); got.Header.Get("Retry-After") == "" {
		t.Errorf("got %v", got.Header)
	}
	hold(admission.WindowRequests, admission.WindowRequests.Limit().Total)
	w.get("/window").want(t, 503, "Too many people")
	w.get("/window/animals.json").want(t, 503, `"unavailable"`)
	for _, kind := range []admission.Kind{admission.Requests, admission.PageRequests, admission.PublicRequests} {
		slot, err := limits.Acquire(t.Context(), kind, shop.Principal{})
		if err != nil {
			t.Errorf("a crowd on the window also uses %s: %v", kind.Limit().Operations, err)
		}
		slot.Release()
	}
}

// While a visitor waits for the store, others are served from memory.
func TestWindowReadsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so the page stays valid
		limits := web.NewLimits(0)
		w := serveWindow(t, shoptest.Open(t, shoptest.Options{}), func(c *Config) { c.Limits = limits })
		w.switchOn()
		bella := w.publish("Bella", 1)
		w.get("/window").want(t, 200, "Bella")
		slot, err := limits.Acquire(t.Context(), admission.WindowReads, shop.Principal{})
		if err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		var waiting sync.WaitGroup
		waiting.Go(func() { w.pages.ServeHTTP(recorder, httptest.NewRequest("GET", petPath(bella.ID), nil)) })
		synctest.Wait()
		if recorder.Body.Len() > 0 {
			t.Error("a page was read beyond the limit")
		}
		w.get("/window").want(t, 200, "Bella")
		slot.Release()
		waiting.Wait()
		if recorder.Code != 200 || !strings.Contains(recorder.Body.String(), "Bella") {
			t.Errorf("got status %d after the wait", recorder.Code)
		}
	})
}
