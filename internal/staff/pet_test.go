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

// petNames returns the names of the animals on the page, in order.
func (r response) petNames() (names []string) {
	for _, found := range regexp.MustCompile(`<a id="pet-\d+-name"[^>]*>([^<]*)</a>`).FindAllStringSubmatch(r.body, -1) {
		names = append(names, found[1])
	}
	return names
}

func TestCatalogueFiltersAndPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	b.mustGet("/staff/pets").want(t, 200, "No animals yet")
	for i := range 2*pageSize + 5 {
		s.AddPet(t, fmt.Sprintf("Rex %d", i), int64(1+i%2), []shop.Status{shop.Available, shop.Sold}[i%3/2])
	}
	s.AddPet(t, "Žofka", 3, shop.Pending)
	var walked []string
	more := regexp.MustCompile(`<a role="button" class="quiet" href="([^"]*)"[^>]*>More animals`)
	for next := "/staff/pets"; next != ""; {
		page := b.mustGet(next)
		walked = append(walked, page.petNames()...)
		found := more.FindStringSubmatch(page.body)
		if next = ""; found != nil {
			next = strings.ReplaceAll(found[1], "&amp;", "&")
			if rows := b.withHTMX().mustGet(next); strings.Contains(rows.body, "<html") || len(rows.petNames()) == 0 {
				t.Errorf("htmx got %s", rows.body)
			}
		}
	}
	if len(walked) != 2*pageSize+6 || walked[0] != "Žofka" || walked[len(walked)-1] != "Rex 0" {
		t.Errorf("the pages have %d animals: %v", len(walked), walked)
	}
	for query, want := range map[string][]string{
		"name=ŽOF":                   {"Žofka"},
		"status=pending":             {"Žofka"},
		"category=3&status=pending":  {"Žofka"},
		"category=3&status=sold":     nil,
		"name=rex+2&category=1":      {"Rex 28", "Rex 26", "Rex 24", "Rex 22", "Rex 20", "Rex 2"},
		"name=&status=&category=":    walked[:pageSize],
		"name=%20&status=&category=": walked[:pageSize],
	} {
		if got := b.mustGet("/staff/pets?" + query).petNames(); !slices.Equal(got, want) {
			t.Errorf("%s found %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string]string{"status=gone": "The status must be", "category=x": "The category must be", "name=%00": "The name must"} {
		b.mustGet("/staff/pets?"+query).want(t, 200, want)
	}
}

func TestNewPetsMatchTheFilters(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey).withHTMX()
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Bella", 1, shop.Sold)
	s.AddPet(t, "Coco", 2, shop.Sold)
	got := b.mustGet(fmt.Sprintf("/staff/pets/fresh?newest=%d&status=sold&name=&category=", rex.ID))
	if !slices.Equal(got.petNames(), []string{"Coco", "Bella"}) || !strings.Contains(got.body, `id="newest" name="newest" value="3"`) {
		t.Errorf("the new rows are %v: %s", got.petNames(), got.body)
	}
	if got := b.mustGet("/staff/pets/fresh?newest=3"); len(got.petNames()) > 0 {
		t.Errorf("rows without new animals: %v", got.petNames())
	}
	for range pageSize + 1 {
		s.AddPet(t, "many", 1, "")
	}
	if got := b.mustGet("/staff/pets/fresh?newest=3&status=&name=m").want(t, 200, "Show new animals"); len(got.petNames()) > 0 || !strings.Contains(got.body, `value="54"`) || !strings.Contains(got.body, `href="/staff/pets?name=m"`) {
		t.Errorf("more new animals than a page gave %s", got.body)
	}
}

func TestConflictingEditIsShownNotSaved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/pets", "name", " Rex ", "category", "7", "status", "available").wantRedirect(t, "/staff/pets")
	for _, c := range []struct{ name, category, status, want string }{
		{"", "7", "", "Name must have 1 to 200"}, {"x", "", "", "Select a category"}, {"x", "7", "gone", "Status must be one of"},
	} {
		b.post("/staff/pets", "name", c.name, "category", c.category, "status", c.status).want(t, http.StatusUnprocessableEntity, c.want)
		got := b.withHTMX().post("/staff/pets", "name", c.name, "category", c.category, "status", c.status).want(t, http.StatusOK, c.want)
		if !strings.HasPrefix(got.body, `<form id="add"`) {
			t.Errorf("htmx got %s", got.body)
		}
	}
	b.withHTMX().post("/staff/pets", "name", "Žofka 🐈", "category", "7").want(t, 200, `"flash":"\u017dofka \ud83d\udc08 was added as number 2."`)
	b.mustGet("/staff/pets/1/edit").want(t, 200, "Edit Rex")
	if got := b.withHTMX().mustGet("/staff/pets/1/edit"); !strings.HasPrefix(got.body, `<tr id="pet-1" class="editing">`) {
		t.Errorf("htmx got %s", got.body)
	}
	was := []string{"was-name", "Rex", "was-category", "7", "was-status", "available"}
	b.post("/staff/pets/1", append(was, "name", "", "category", "7")...).want(t, http.StatusUnprocessableEntity, "Name must")
	b.post("/staff/pets/1", append(was, "name", "Rexo", "category", "8")...).wantRedirect(t, "/staff/pets/1")
	b.post("/staff/pets/99", append(was, "name", "x", "category", "8")...).want(t, http.StatusNotFound, "no animal")
	// A form that was opened before that change shows both the current values and the user's values.
	conflict := b.post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).
		want(t, http.StatusConflict, "Someone else changed this animal", "Name Rexo Max", "Category Category 8 Category 7", "Save mine")
	for _, want := range []string{`name="was-name" value="Rexo"`, `name="name" value="Max"`, `name="was-category" value="8"`} {
		if !strings.Contains(conflict.body, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	b.withHTMX().post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).want(t, http.StatusOK, "Someone else changed this animal")
	pet, err := s.Pet(t.Context(), 1)
	if err != nil || pet.Name != "Rexo" {
		t.Errorf("the animal is %v (error %v), want the name Rexo", pet, err)
	}
	got := b.withHTMX().post("/staff/pets/1", "was-name", "Rexo", "was-category", "8", "was-status", "available", "name", "Max", "category", "7").want(t, 200, "Max was saved")
	if !strings.HasPrefix(got.body, `<tr id="pet-1"`) || !slices.Equal(got.petNames(), []string{"Max"}) {
		t.Errorf("htmx got %s", got.body)
	}
}

// A table row offers exactly the statuses that the service accepts.
func TestOnlyPossibleStatusesAreOffered(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	offers := regexp.MustCompile(`name="to" value="(\w+)"`)
	for _, from := range append(shop.Statuses(), "") {
		for _, to := range shop.Statuses() {
			pet := s.AddPet(t, "Rex", 1, from)
			row := b.withHTMX().mustGet(fmt.Sprintf("/staff/pets/%d/row", pet.ID))
			var offered []string
			for _, offer := range offers.FindAllStringSubmatch(row.body, -1) {
				offered = append(offered, offer[1])
			}
			_, err := s.UpdatePet(t.Context(), pet.ID, shop.PetChange{Status: &to}, nil)
			if possible := err == nil && from != to; possible != slices.Contains(offered, string(to)) {
				t.Errorf("from %q to %q is possible: %v, but the row offers %v", from, to, possible, offered)
			}
		}
	}
	pet := s.AddPet(t, "Luna", 1, shop.Available)
	status := fmt.Sprintf("/staff/pets/%d/status", pet.ID)
	b.post(status, "was", "available", "to", "pending", "back", "list").wantRedirect(t, "/staff/pets")
	b.post(status, "was", "available", "to", "sold").want(t, http.StatusPreconditionFailed, "Someone else has changed its status")
	b.withHTMX().post(status, "was", "available", "to", "sold").want(t, 200, "Someone else has changed its status", "Pending")
	b.withHTMX().post(status, "was", "pending", "to", "sold").want(t, 200, "Luna is now sold", "Sold")
	b.withHTMX().post(status, "was", "sold", "to", "pending").want(t, 200, "cannot become pending", "Sold")
	held := s.addOrderedPet("Held")
	row := b.withHTMX().mustGet(fmt.Sprintf("/staff/pets/%d/row", held.ID)).want(t, 200, "Reserved · order 1")
	if offers.MatchString(row.body) || strings.Contains(row.body, "/delete") {
		t.Errorf("a reserved animal offers %s", row.body)
	}
	b.withHTMX().post(fmt.Sprintf("/staff/pets/%d/status", held.ID), "was", "pending", "to", "sold").want(t, 200, "Order 1 holds this animal")
}

func TestPetChangedMeanwhileIsNotRemoved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	was := []string{"was-name", "Rex", "was-category", "1", "was-status", "available"}
	b.mustGet("/staff/pets/1/delete").want(t, 200, "Remove Rex?")
	removing := b.withHTMX().mustGet("/staff/pets/1/delete").want(t, 200, "Rex will be removed in", "Undo")
	if !strings.Contains(removing.body, "load delay:8s") {
		t.Errorf("the row does not delay the removal: %s", removing.body)
	}
	if _, err := s.Pet(t.Context(), pet.ID); err != nil {
		t.Errorf("the animal was removed before the delay: %v", err)
	}
	name := "Rexo"
	if _, err := s.UpdatePet(t.Context(), 1, shop.PetChange{Name: &name}, nil); err != nil {
		t.Fatal(err)
	}
	b.post("/staff/pets/1/delete", was...).want(t, http.StatusPreconditionFailed, "so it was not removed")
	b.withHTMX().post("/staff/pets/1/delete", was...).want(t, 200, "so it was not removed", "Rexo")
	was[1] = "Rexo"
	if got := b.withHTMX().post("/staff/pets/1/delete", was...).want(t, 200, "Rexo was removed"); got.body != "" {
		t.Errorf("the row was replaced by %s", got.body)
	}
	b.withHTMX().mustGet("/staff/pets/1/row").want(t, 200, "This animal was removed")
	b.get("/staff/pets/1").want(t, http.StatusNotFound)
	b.post("/staff/pets/1/delete", was...).want(t, http.StatusNotFound)
}

func TestNamesAreEscaped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	evil := `<img src=x onerror=alert(1)>"'{{.}}</script>&lt;`
	s.addOrderedPet(evil)
	if _, err := s.PutCategory(t.Context(), shop.Category{ID: 1, Name: evil}, nil); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"/", "/staff/pets", "/staff/pets?name=%3Cimg", "/staff/pets/1", "/staff/pets/1/edit", "/staff/pets/1/row", "/staff/orders", "/staff/categories", "/staff/keys"} {
		for _, b := range []*browser{b, b.withHTMX()} {
			got := b.mustGet(page)
			if strings.Contains(got.body, "<img") || strings.Contains(got.body, "<at the till>") {
				t.Errorf("%s contains the unescaped name", page)
			}
			if page != "/staff/keys" && page != "/" && !strings.Contains(got.text()+got.body, "img src=x") {
				t.Errorf("%s does not contain the name", page)
			}
		}
	}
}
