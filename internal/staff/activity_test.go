package staff

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The activity page describes every change in plain words and names the person who made it. An order step is shown as
// one entry, although it has two events.
func TestActivityIsToldInPlainWords(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	anna := shoptest.Must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Anna", Scopes: shop.RoleStaff.Scopes()}))(t)
	b := s.signedIn(anna.Secret)
	b.mustGet("/staff/activity", "No activity yet.")
	b.post("/staff/categories", "name", "Dogs")
	b.post("/staff/categories", "name", "Cats")
	b.post("/staff/pets", "name", "Rex", "category", "1", "status", "available")
	b.post("/staff/pets/1/status", "was", "available", "to", "pending")
	b.post("/staff/pets/1/status", "was", "pending", "to", "available")
	b.post("/staff/pets/1", "name", "Rexi", "category", "1", "was-name", "Rex", "was-category", "1", "was-status", "available")
	b.post("/staff/pets/1", "name", "Rexi", "category", "2", "was-name", "Rexi", "was-category", "1", "was-status", "available")
	b.post("/staff/pets/1", "name", "Rex", "category", "1", "was-name", "Rexi", "was-category", "2", "was-status", "available")
	b.post("/staff/pets/1/orders", "reference", "Mrs Miller")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved")
	shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{Reference: new("Mr Miller")}, nil))(t)
	b.post("/staff/orders/1/status", "was", "approved", "to", "delivered")
	b.post("/staff/pets/1/status", "was", "sold", "to", "available")
	b.post("/staff/pets/1/orders")
	b.post("/staff/orders/2/status", "was", "placed", "to", "cancelled")
	b.post("/staff/pets/1/orders")
	s.Clock.Forward(shop.DefaultOrderHold) // this also ends the user's session
	b = s.signedIn(anna.Secret)
	shoptest.Must(s.Pet(t.Context(), 1, nil))(t) // reading the animal expires the hold
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, 1, nil))
	shoptest.Must(s.RestorePet(t.Context(), shop.Caller{}, 1))(t)
	b.post("/staff/categories/2", "was-name", "Cats", "name", "Kittens")
	b.post("/staff/categories/2/delete", "was-name", "Kittens")
	page := b.mustGet("/staff/activity")
	for _, want := range []string{
		"Anna added the category “Dogs”", "Anna added Rex to Dogs", "Anna changed Rex from available to reserved", "Anna renamed Rex to Rexi",
		"Anna moved Rexi from Dogs to Category 2", "Anna changed Rex : name from “Rexi” to “Rex”, category from Category 2 to Dogs",
		"Anna reserved Rex for Mrs Miller · order 1 (available → reserved)", "Anna approved Rex for Mrs Miller · order 1",
		"System changed the note on Rex from “Mrs Miller” to “Mr Miller” · order 1",
		"Anna handed over Rex to Mr Miller · order 1 (reserved → sold)", "Anna changed Rex from sold to available",
		"Anna reserved Rex · order 2", "Anna cancelled the reservation of Rex · order 2 (reserved → available)",
		"The reservation of Rex expired · order 3 (reserved → available)", "System removed Rex", "System restored Rex",
		"Anna renamed the category “Cats” to the category “Kittens”", "Anna removed the category “Kittens”",
	} {
		if n := strings.Count(page.text(), want); n != 1 {
			t.Errorf("%q is on the page %d times: %s", want, n, page.text())
		}
	}
	if n := strings.Count(page.text(), "changed Rex from"); n != 3 {
		t.Errorf("changes of the status are on the page %d times, want only those that belong to no order", n)
	}
	page.lacks("the key")
}

func TestActivityIsFilteredByTheAddress(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.addOrderedPet("Rex") // the actor of the resulting events is the system
	s.Clock.Forward(24 * time.Hour)
	ben := shoptest.Must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Ben", Scopes: shop.RoleStaff.Scopes()}))(t)
	b := s.signedIn(ben.Secret)
	b.post("/staff/pets", "name", "Max", "category", "1", "status", "available")
	b.post("/staff/pets/2/orders", "reference", "Mr Smith")
	admin := s.signedIn(configuredKey)
	today, yesterday := s.Today().String(), s.Today().Add(-1).String()
	rex, max, order, key := "added Rex", "added Max", "reserved Max for Mr Smith", "gave access to Ben"
	for _, c := range []struct {
		query string
		b     *browser
		want  []string
	}{
		{"", b, []string{rex, max, order}},
		{"", admin, []string{rex, max, order, key}},
		{"day=" + yesterday, b, []string{rex}},
		{"day=" + today, b, []string{max, order}},
		{"day=2020-01-01", b, nil},
		{"person=keys/1", b, []string{max, order}},
		{"person=system", admin, []string{rex, key}},
		{"animal=2", b, []string{max, order}},
		{"animal=2&kind=orders", b, []string{order}},
		{"order=2", b, []string{order}},
		{"kind=animals", b, []string{rex, max}},
		{"kind=pet.created&person=keys%2F1&day=" + today, b, []string{max}},
		{"kind=keys", admin, []string{key}},
		{"kind=keys", b, nil},
		{"kind=key.created", b, nil},
		{"day=x", b, nil}, {"person=x", b, nil}, {"animal=x", b, nil}, {"kind=x", b, nil},
	} {
		page := c.b.mustGet("/staff/activity?" + c.query)
		file := c.b.get("/staff/activity.csv?" + c.query).body
		for _, text := range []string{rex, max, order, key} {
			want := slices.Contains(c.want, text)
			if strings.Contains(page.text(), text) != want {
				t.Errorf("%q on the page with %q: %v, want %v: %s", text, c.query, !want, want, page.text())
			}
			if strings.Contains(file, text) != want {
				t.Errorf("%q in the file with %q: %v, want %v: %s", text, c.query, !want, want, file)
			}
		}
	}
	b.mustGet("/staff/activity?day=x", "The day must be a date")
	b.mustGet("/staff/activity?kind=keys", "no such kind of change")
	b.get("/staff/activity.csv?kind=keys").want(422)
	b.mustGet("/staff/activity?day="+yesterday+"&kind=order.expired&person=system", "No activity matches").
		contains(`<option value="system" selected>System</option>`, `<option value="order.expired" selected>`, `value="`+yesterday+`"`)
	b.mustGet("/staff/pets/2").contains(`href="/staff/activity?animal=2"`, `href="/staff/orders/2"`)
	b.mustGet("/staff/orders/2").contains(`href="/staff/activity?order=2"`)
	b.mustGet("/staff/activity").contains(`<a href="/staff/orders/2" class="short">order 2</a>`)
	s.signedIn(s.Key(t, shop.EventsRead).Secret).mustGet("/staff/activity", "order 2").lacks(`href="/staff/orders/2"`)
	reader := s.signedIn(s.Key(t, shop.PetsRead, shop.OrdersRead).Secret)
	reader.get("/staff/activity").want(403)
	reader.get("/staff/activity.csv").want(403)
	reader.mustGet("/staff/orders").lacks("/staff/activity")
}

// Together, the pages show every entry once. The two events of an order step become one entry even if a page ends
// between them.
func TestActivityIsPaged(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	const n = 40
	for i := range n {
		s.addOrderedPet(fmt.Sprint("Rex", i)) // causes three events; the first call also creates the category
	}
	var text string
	pages := 0
	for path := "/staff/activity"; path != ""; pages++ {
		page := b.mustGet(path)
		text += page.text()
		path = nextActivity(page)
	}
	for i := range n {
		for _, want := range []string{fmt.Sprintf("System added Rex%d to", i), fmt.Sprintf("reserved Rex%d for Rex%d · order %d (available → reserved)", i, i, i+1)} {
			if got := strings.Count(text, want); got != 1 {
				t.Errorf("%q is on the pages %d times", want, got)
			}
		}
	}
	if strings.Contains(text, "changed Rex") || pages != 3 {
		t.Errorf("the activity has %d pages, want 3: %s", pages, text)
	}
}

// nextActivity returns the address of the next page, or "" if this is the last one.
func nextActivity(r response) string {
	_, link, found := strings.Cut(r.body, `<p class="pages"><a class="button" href="`)
	if !found {
		return ""
	}
	link, _, _ = strings.Cut(link, `"`)
	return strings.ReplaceAll(link, "&amp;", "&")
}

// The exported file has a row for each change. A spreadsheet program does not run any of its cells as a formula.
func TestActivityIsExported(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	pet := s.AddPet(t, "=1+1", 1, shop.Available)
	shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID, Reference: "@me"}))(t)
	const more = exportedAtOnce // enough changes for several chunks
	for range more {
		s.AddPet(t, "Rex", 1, "")
	}
	got := b.get("/staff/activity.csv").want(200)
	text, marked := strings.CutPrefix(got.body, "\ufeff")
	rows := shoptest.Must(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	if !marked || len(rows) != 1+more+3 || strings.Join(rows[0], " ") != "time person change animal name order customer status before status after" {
		t.Fatalf("the file has %d rows, beginning with %q", len(rows), rows[0])
	}
	order := rows[1+more]
	if at, err := time.Parse(time.RFC3339, order[0]); err != nil || s.Clock.Now().Sub(at) > time.Hour {
		t.Errorf("the time is %s", order[0])
	}
	if want := []string{"System", "System reserved =1+1 for @me · order 1", "1", "'=1+1", "1", "'@me", "available", "pending"}; !slices.Equal(order[1:], want) {
		t.Errorf("got %q, want %q", order[1:], want)
	}
	b.get("/staff/activity.csv?day=2020-01-01").want(200).contains("time,person,change")
}
