package staff

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// names are the animals that a page lists, in their order.
func (a answer) names() (names []string) {
	for _, found := range regexp.MustCompile(`<a id="pet-\d+-name"[^>]*>([^<]*)</a>`).FindAllStringSubmatch(a.body, -1) {
		names = append(names, found[1])
	}
	return names
}

func TestCatalogueFiltersAndPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.key(shop.PetsRead).Secret)
	b.see("/staff/pets").want(t, 200, "No animal is like that")
	for i := range 2*pageLength + 5 {
		s.add(fmt.Sprintf("Rex %d", i), int64(1+i%2), []shop.Status{shop.Available, shop.Sold}[i%3/2])
	}
	s.add("Žofka", 3, shop.Pending)
	var walked []string
	more := regexp.MustCompile(`<a role="button" class="quiet" href="([^"]*)"[^>]*>More animals`)
	for next := "/staff/pets"; next != ""; {
		page := b.see(next)
		walked = append(walked, page.names()...)
		found := more.FindStringSubmatch(page.body)
		if next = ""; found != nil {
			next = strings.ReplaceAll(found[1], "&amp;", "&")
			if rows := b.withScript().see(next); strings.Contains(rows.body, "<html") || len(rows.names()) == 0 {
				t.Errorf("a script got %s", rows.body)
			}
		}
	}
	if len(walked) != 2*pageLength+6 || walked[0] != "Žofka" || walked[len(walked)-1] != "Rex 0" {
		t.Errorf("walked %d: %v", len(walked), walked)
	}
	for query, want := range map[string][]string{
		"name=ŽOF":                   {"Žofka"},
		"status=pending":             {"Žofka"},
		"category=3&status=pending":  {"Žofka"},
		"category=3&status=sold":     nil,
		"name=rex+2&category=1":      {"Rex 28", "Rex 26", "Rex 24", "Rex 22", "Rex 20", "Rex 2"},
		"name=&status=&category=":    walked[:pageLength],
		"name=%20&status=&category=": walked[:pageLength],
	} {
		if got := b.see("/staff/pets?" + query).names(); !slices.Equal(got, want) {
			t.Errorf("%s found %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string]string{"status=gone": "The status must be", "category=x": "The category must be", "name=%00": "The name must"} {
		b.see("/staff/pets?"+query).want(t, 200, want)
	}
}

func TestFreshAnimals(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey).withScript()
	rex := s.add("Rex", 1, shop.Available)
	s.add("Bella", 1, shop.Sold)
	s.add("Coco", 2, shop.Sold)
	got := b.see(fmt.Sprintf("/staff/pets/fresh?newest=%d&status=sold&name=&category=", rex.ID))
	if !slices.Equal(got.names(), []string{"Coco", "Bella"}) || !strings.Contains(got.body, `id="newest" name="newest" value="3"`) {
		t.Errorf("%v %s", got.names(), got.body)
	}
	if got := b.see("/staff/pets/fresh?newest=3"); len(got.names()) > 0 {
		t.Errorf("%v", got.names())
	}
	for range pageLength + 1 {
		s.add("many", 1, "")
	}
	if got := b.see("/staff/pets/fresh?newest=3&status=&name=m").want(t, 200, "Many animals have come in: show them"); len(got.names()) > 0 || !strings.Contains(got.body, `value="54"`) || !strings.Contains(got.body, `href="/staff/pets?name=m"`) {
		t.Errorf("%s", got.body)
	}
}

func TestAddAndEdit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.post("/staff/pets", "name", " Rex ", "category", "7", "status", "available").wantTo(t, "/staff/pets")
	for _, c := range []struct{ name, category, status, want string }{
		{"", "7", "", "Name must have 1 to 200"}, {"x", "", "", "Choose a category"}, {"x", "7", "gone", "Status must be one of"},
	} {
		b.post("/staff/pets", "name", c.name, "category", c.category, "status", c.status).want(t, http.StatusUnprocessableEntity, c.want)
		got := b.withScript().post("/staff/pets", "name", c.name, "category", c.category, "status", c.status).want(t, http.StatusOK, c.want)
		if !strings.HasPrefix(got.body, `<form id="add"`) {
			t.Errorf("a script got %s", got.body)
		}
	}
	b.withScript().post("/staff/pets", "name", "Žofka 🐈", "category", "7").want(t, 200, `"notice":"\u017dofka \ud83d\udc08 was added as number 2."`)
	b.see("/staff/pets/1/edit").want(t, 200, "Change Rex")
	if got := b.withScript().see("/staff/pets/1/edit"); !strings.HasPrefix(got.body, `<tr id="pet-1" class="editing">`) {
		t.Errorf("a script got %s", got.body)
	}
	was := []string{"was-name", "Rex", "was-category", "7", "was-status", "available"}
	b.post("/staff/pets/1", append(was, "name", "", "category", "7")...).want(t, http.StatusUnprocessableEntity, "Name must")
	b.post("/staff/pets/1", append(was, "name", "Rexo", "category", "8")...).wantTo(t, "/staff/pets/1")
	b.post("/staff/pets/99", append(was, "name", "x", "category", "8")...).want(t, http.StatusNotFound, "no animal")
	// Somebody who saw it before that is told, with both values; and may then decide.
	conflict := b.post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).
		want(t, http.StatusConflict, "Somebody else changed this animal first", "Name Rexo Max", "Category category 8 category 7", "Save mine")
	for _, want := range []string{`name="was-name" value="Rexo"`, `name="name" value="Max"`, `name="was-category" value="8"`} {
		if !strings.Contains(conflict.body, want) {
			t.Errorf("%s is not in the form", want)
		}
	}
	b.withScript().post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).want(t, http.StatusOK, "Somebody else changed this animal first")
	pet, err := s.service.Pet(t.Context(), 1)
	if err != nil || pet.Name != "Rexo" {
		t.Errorf("%v %v", pet, err)
	}
	got := b.withScript().post("/staff/pets/1", "was-name", "Rexo", "was-category", "8", "was-status", "available", "name", "Max", "category", "7").want(t, 200, "Max was saved")
	if !strings.HasPrefix(got.body, `<tr id="pet-1"`) || !slices.Equal(got.names(), []string{"Max"}) {
		t.Errorf("a script got %s", got.body)
	}
}

// Exactly the moves are offered that can be made, and each offer can be taken.
func TestMoves(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	offers := regexp.MustCompile(`name="to" value="(\w+)"`)
	for _, from := range append(shop.Statuses(), "") {
		for _, to := range shop.Statuses() {
			pet := s.add("Rex", 1, from)
			row := b.withScript().see(fmt.Sprintf("/staff/pets/%d/row", pet.ID))
			var offered []string
			for _, offer := range offers.FindAllStringSubmatch(row.body, -1) {
				offered = append(offered, offer[1])
			}
			_, err := s.service.UpdatePet(t.Context(), pet.ID, shop.PetChange{Status: &to}, nil)
			if possible := err == nil && from != to; possible != slices.Contains(offered, string(to)) {
				t.Errorf("from %q to %q is possible: %v; offered are %v", from, to, possible, offered)
			}
		}
	}
	pet := s.add("Luna", 1, shop.Available)
	status := fmt.Sprintf("/staff/pets/%d/status", pet.ID)
	b.post(status, "was", "available", "to", "pending", "back", "list").wantTo(t, "/staff/pets")
	b.post(status, "was", "available", "to", "sold").want(t, http.StatusPreconditionFailed, "Somebody else has changed its status")
	b.withScript().post(status, "was", "available", "to", "sold").want(t, 200, "Somebody else has changed its status", "pending")
	b.withScript().post(status, "was", "pending", "to", "sold").want(t, 200, "Luna is sold now", "sold")
	b.withScript().post(status, "was", "sold", "to", "pending").want(t, 200, "cannot become pending", "sold")
	held := s.add("Held", 1, shop.Available)
	if _, err := s.service.PlaceOrder(t.Context(), shop.NewOrder{PetID: held.ID}); err != nil {
		t.Fatal(err)
	}
	row := b.withScript().see(fmt.Sprintf("/staff/pets/%d/row", held.ID)).want(t, 200, "held by order 1")
	if offers.MatchString(row.body) || strings.Contains(row.body, "/delete") {
		t.Errorf("a held animal offers %s", row.body)
	}
	b.withScript().post(fmt.Sprintf("/staff/pets/%d/status", held.ID), "was", "pending", "to", "sold").want(t, 200, "Order 1 holds this animal")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	pet := s.add("Rex", 1, shop.Available)
	was := []string{"was-name", "Rex", "was-category", "1", "was-status", "available"}
	b.see("/staff/pets/1/delete").want(t, 200, "Remove Rex?")
	leaving := b.withScript().see("/staff/pets/1/delete").want(t, 200, "Rex will be removed in", "Undo")
	if !strings.Contains(leaving.body, "load delay:8s") {
		t.Errorf("%s", leaving.body)
	}
	if _, err := s.service.Pet(t.Context(), pet.ID); err != nil {
		t.Errorf("it is removed before its time: %v", err)
	}
	name := "Rexo"
	if _, err := s.service.UpdatePet(t.Context(), 1, shop.PetChange{Name: &name}, nil); err != nil {
		t.Fatal(err)
	}
	b.post("/staff/pets/1/delete", was...).want(t, http.StatusPreconditionFailed, "so it was not removed")
	b.withScript().post("/staff/pets/1/delete", was...).want(t, 200, "so it was not removed", "Rexo")
	was[1] = "Rexo"
	if got := b.withScript().post("/staff/pets/1/delete", was...).want(t, 200, "Rexo was removed"); got.body != "" {
		t.Errorf("the row became %s", got.body)
	}
	b.withScript().see("/staff/pets/1/row").want(t, 200, "This animal was removed")
	b.get("/staff/pets/1").want(t, http.StatusNotFound)
	b.post("/staff/pets/1/delete", was...).want(t, http.StatusNotFound)
}

// A name is never taken for anything but a text.
func TestNamesAreTexts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.key(shop.Admin).Secret)
	evil := `<img src=x onerror=alert(1)>"'{{.}}</script>&lt;`
	pet := s.add(evil, 1, shop.Available)
	if _, err := s.service.PutCategory(t.Context(), shop.Category{ID: 1, Name: evil}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.service.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID, Reference: evil}); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"/", "/staff/pets", "/staff/pets?name=%3Cimg", "/staff/pets/1", "/staff/pets/1/edit", "/staff/pets/1/row", "/staff/orders", "/staff/categories", "/staff/keys"} {
		for _, b := range []*browser{b, b.withScript()} {
			got := b.see(page)
			if strings.Contains(got.body, "<img") || strings.Contains(got.body, "<at the till>") {
				t.Errorf("%s has it as it is", page)
			}
			if page != "/staff/keys" && page != "/" && !strings.Contains(got.text()+got.body, "img src=x") {
				t.Errorf("%s does not have it at all", page)
			}
		}
	}
}
