package window

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// No byte that everybody can read contains an internal member, anything of an animal that is not published, or who has
// reserved an animal. The walk follows every link.
func TestNothingInternalIsPublic(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *testWindow) {
		w.pages.PublicURL, w.pages.site = "http://example.com/v1", "http://example.com" // so that there are feeds, and links lead back here
		secrets := func(c *shop.ProfileChange) {
			c.Microchip, c.Location, c.Notes = new("SECRET123456789"), new("SECRET kennel"), new("SECRET notes")
		}
		unpublished := func(c *shop.ProfileChange) {
			secrets(c)
			c.Description, c.Breeds, c.Color, c.Tags, c.ContactURL = new("SECRET story"), &[]string{"SECRET breed"}, new("SECRET colour"), &[]string{"SECRET tag"}, new("https://SECRET.example")
		}
		for i, category := range []string{"Dogs", "SECRET category"} {
			if _, err := w.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: int64(i) + 1, Name: category}, shop.PutCondition{}); err != nil {
				t.Fatal(err)
			}
		}
		bella := w.publish("Bella", 1, secrets, func(c *shop.ProfileChange) { c.Tags = &[]string{"calm"} })
		w.addPhoto(bella.ID, "Bella in the garden")
		if _, err := w.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{
			PetID: bella.ID, Reference: "SECRET reference", PickupDate: "2099-12-31", Price: &shop.Price{Amount: "98765.43", Currency: "EUR"},
			Customer: shop.Customer{Name: "SECRET name", Phone: "SECRET phone", Email: "SECRET@example.com"},
		}); err != nil {
			t.Fatal(err)
		}
		never := w.AddPet(t, "SECRET never published", 2, shop.Available)
		w.profile(never.ID, unpublished)
		noMore := w.publish("SECRET not published any more", 2, unpublished)
		w.addPhoto(noMore.ID, "SECRET photo")
		w.profile(noMore.ID, func(c *shop.ProfileChange) { c.Published = new(false) })
		sold := w.publish("SECRET sold", 2, unpublished)
		w.setStatus(sold.ID, shop.Sold)
		removed := w.publish("SECRET removed", 2, unpublished)
		if err := w.DeletePet(t.Context(), shop.Caller{}, removed.ID, nil); err != nil {
			t.Fatal(err)
		}

		link := regexp.MustCompile(`(?:href="|href=&#34;|<loc>|"url":"|; rel=|[<])(?:http://example\.com)?(/window[^"<> ]*)`)
		waiting := []string{"/window", "/window/", "/window?embed=1", "/window/animals.json", "/window/feed.xml", "/window/sitemap.xml", "/window/nothing", "/window?sex=x", "/window/animals.json?sex=x"}
		for _, pet := range []shop.Pet{bella, never, noMore, sold, removed} {
			waiting = append(waiting, petPath(pet.ID), petPath(pet.ID)+"?embed=1")
		}
		seen := map[string]bool{}
		for len(waiting) > 0 {
			path := strings.ReplaceAll(waiting[0], "&amp;", "&")
			if waiting = waiting[1:]; seen[path] {
				continue
			}
			seen[path] = true
			for _, encoding := range []string{"identity", "gzip"} {
				recorder := httptest.NewRecorder()
				r := httptest.NewRequest("GET", path, nil)
				r.Header.Set("Accept-Encoding", encoding)
				w.pages.ServeHTTP(recorder, r)
				body := recorder.Body.String()
				if recorder.Header().Get("Content-Encoding") == "gzip" {
					reader, err := gzip.NewReader(strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(reader)
					if err != nil {
						t.Fatal(err)
					}
					body = string(text)
				}
				for name, values := range recorder.Header() {
					body += "\n" + name + ": " + strings.Join(values, ", ")
				}
				for _, secret := range []string{"SECRET", "2099-12-31", "98765", "98\u202f765"} { // also the day and the price of the order
					if i := strings.Index(strings.ToUpper(body), secret); i >= 0 {
						t.Errorf("%s contains %q", path, body[max(0, i-60):min(len(body), i+60)])
					}
				}
				for _, found := range link.FindAllStringSubmatch(body, -1) {
					waiting = append(waiting, found[1])
				}
			}
		}
		for _, path := range []string{"/window?category=1", "/window?tag=calm", petPath(bella.ID), "/window/animals.json"} {
			if !seen[path] && path != "/window?category=1" {
				t.Errorf("the walk did not reach %s, only %v", path, seen)
			}
		}
	})
}

// What the window may show of an animal is a type of its own: its members are those of the profile that are public.
func TestJSONHasOnlyPublicMembers(t *testing.T) {
	w := newWindow(t)
	bella := w.publish("Bella", 1, func(c *shop.ProfileChange) {
		c.Description, c.Breeds, c.Color, c.Tags, c.ContactURL = new("A dog."), &[]string{"Beagle"}, new("black"), &[]string{"calm"}, new("https://shop.example")
		c.Microchip, c.Location, c.Notes = new("123456789"), new("Kennel 4"), new("Bites")
		c.Sex, c.Size, c.BirthDate, c.ArrivalDate = new(shop.Female), new(shop.Small), new("2024-01-01"), new("2024-02-01")
		c.Mixed, c.BirthDateEstimated, c.Price = new(shop.Yes), new(shop.No), &shop.Price{Amount: "5", Currency: "EUR"}
		c.Traits = map[shop.Trait]shop.Answer{shop.Neutered: shop.Yes, shop.GoodWithCats: shop.No}
	})
	w.addPhoto(bella.ID, "Bella")
	got := w.get("/window/animals.json").want(t, 200)
	var names []string
	for _, member := range regexp.MustCompile(`"([a-zA-Z]+)":`).FindAllStringSubmatch(got.body, -1) {
		names = append(names, member[1])
	}
	const want = "pet id name categoryId status published description breeds mixed sex birthDate birthDateEstimated size color price amount currency " +
		"arrivalDate traits goodWithCats neutered tags contactUrl photos id position alt width height createdAt urls small medium large updatedAt url"
	if strings.Join(names, " ") != want {
		t.Errorf("got the members\n%s, want\n%s", strings.Join(names, " "), want)
	}
	if got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", got.Header)
	}
}
