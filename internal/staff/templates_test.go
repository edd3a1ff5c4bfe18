package staff

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Templates refer to fields by name, which the compiler does not check. This test executes every template
// with empty and with filled data, so that both branches of every condition are reached.
func TestEveryTemplateMatchesItsData(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	admin := shoptest.Must(s.Authenticate(t.Context(), configuredKey))(t)
	data := map[string]any{
		"activity": activityPage{}, "worklist": workList{}, "categories": categoriesPage{}, "dashboard": dashboardPage{}, "error": shop.Error{}, "import": importPage{}, "people": peoplePage{}, "settings": settingsPage{}, "setup": setupPage{},
		"orders": ordersPage{}, "order-detail": orderDetail{}, "print-card": printedCard{}, "order-form": orderForm{}, "print-order": printedOrder{}, "print-orders": printedOrders{}, "print-pets": printedPets{}, "pet-add": petForm{}, "confirm": question{}, "pets-removed": []removedPetRow{}, "pet-detail": petDetail{}, "pet-edit": petForm{},
		"profile-edit": profileForm{}, "pets": petsPage{}, "pet-bulk": bulkResult{}, "search": searchPage{}, "search-results": searchPage{}, "sign-in": signInForm{}, "devices": devicesPage{}, "new-link": newLinkPage{}, "sign-in-link": signInLinkPage{}, "webhook": webhookPage{}, "webhooks": webhooksPage{},
		// These are rendered as fragments only.
		"profile-form": profileForm{}, "bulk-result": bulkResult{}, "question": question{}, "pet-counts": petsPage{}, "category-suggestions": []shop.Category{}, "new-pets": petsPage{}, "pet-removed": shop.Pet{},
	}
	for name := range s.pages.templates.pages {
		if data[name] == nil {
			t.Errorf("the page %s is not tested", name)
		}
	}
	for name, empty := range data {
		render := s.pages.templates.fragment
		if s.pages.templates.pages[name] != nil {
			render = s.pages.templates.page
		}
		for level := range 3 {
			value := reflect.New(reflect.TypeOf(empty)).Elem()
			fill(value, level)
			data := &view{Data: value.Interface(), KeyName: "till", Staging: true, principal: admin}
			if err := render(io.Discard, name, data); err != nil {
				t.Errorf("%s, filled at level %d: %v", name, level, err)
			}
		}
	}
}

// fill sets the fields of a value recursively. At level 1, every pointer, slice and map gets an element. At level
// 2, every number, string, bool and time gets a value, too.
func fill(v reflect.Value, level int) {
	switch kind := v.Kind(); {
	case v.Type() == reflect.TypeFor[time.Time]():
		if level > 1 {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
		}
	case kind == reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, level)
			}
		}
	case level > 0 && kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), level)
	case level > 0 && kind == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), level)
	case level > 0 && kind == reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, level)
		fill(element, level)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case level < 2:
	case v.Type() == reflect.TypeFor[shop.OrderStatus]():
		v.SetString(string(shop.Placed)) // an order with this status can still change its status
	case kind == reflect.String:
		v.SetString("available")
	case v.CanInt():
		v.SetInt(1)
	case kind == reflect.Bool:
		v.SetBool(true)
	}
}

// Third-party files are unmodified, and the licence for each is in the same directory.
func TestVendoredFilesMatchTheirChecksums(t *testing.T) {
	t.Parallel()
	known := map[string]string{}
	for line := range strings.Lines(string(shoptest.Must(static.ReadFile("static/vendor/SHA256SUMS"))(t))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = sum
	}
	paths, err := fs.Glob(static, "static/vendor/*")
	if err != nil || len(paths) != len(known)+2 { // SHA256SUMS does not list itself or README.md
		t.Errorf("got the files %q, %v, want %d with a checksum", paths, err, len(known))
	}
	for name, sum := range known {
		content, err := static.ReadFile("static/vendor/" + name)
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || got != sum {
			t.Errorf("%s has the checksum %s, %v, want %s", name, got, err, sum)
		}
		if licence, _, _ := strings.Cut(name, "."); known[licence+".LICENSE"] == "" {
			t.Errorf("%s has no licence", name)
		}
	}
}

func TestStaticFilesAreCachedForever(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	found := regexp.MustCompile(`(?:href|src)="(/staff/static/[^"]+)"`).FindAllStringSubmatch(b.mustGet("/staff/sign-in").body, -1)
	if len(found) < 5 {
		t.Fatalf("the page loads %v", found)
	}
	for _, file := range found {
		got := b.mustGet(file[1])
		if !strings.Contains(got.header.Get("Cache-Control"), "immutable") || got.body == "" {
			t.Errorf("%s: %v", file[1], got.header)
		}
	}
	b.get("/staff/static/0000000000000000/staff.css").want(404)
}

// The server shows times in the shop's time zone, in a format that everybody understands. A key expires at the end of
// its last day in that time zone.
func TestTimesAreShownInTheShopsZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 29, 12, 30, 0, 0, time.UTC)
	for _, c := range []struct{ zone, want string }{
		{"UTC", "29 Mar 2026, 12:30 UTC"}, {"Europe/Berlin", "29 Mar 2026, 14:30 CEST"}, {"America/Sao_Paulo", "29 Mar 2026, 09:30 UTC-03"},
	} {
		zone := shoptest.Zone(c.zone)
		if got := formatTime(at.In(zone)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	s := newShop(t)
	service := shoptest.Must(s.Node(t.Context(), shop.Options{Location: shoptest.Zone("America/New_York")}))(t)
	s.pages, s.url = s.serve(service, Config{})
	b := s.signedIn(configuredKey)
	b.post("/staff/people", "name", "till", "role", "custom", "scope", "pets:read", "expires", "2099-01-31").want(200).
		contains(`data-zone="America/New_York"`, `<time datetime="2099-02-01T05:00:00Z">1 Feb 2099, 00:00 EST</time>`)
}
