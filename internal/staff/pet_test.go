package staff

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantPets checks the names of the animals on the page.
func (r response) wantPets(want ...string) response {
	r.t.Helper()
	if got := r.petNames(); !slices.Equal(got, want) {
		r.t.Errorf("got the animals %q, want %q", got, want)
	}
	return r
}

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
	b.mustGet("/staff/pets", "No animals yet")
	for i := range 2*pageSize + 5 {
		s.AddPet(t, fmt.Sprintf("Rex %d", i), int64(1+i%2), []shop.Status{shop.Available, shop.Sold}[i%3/2])
	}
	s.AddPet(t, "Žofka", 3, shop.Pending)
	var walked []string
	for next := "/staff/pets"; next != ""; {
		if len(walked) > 0 {
			b.withHTMX().mustGet(next).contains("<tr").lacks("<html")
		}
		page := b.mustGet(next)
		walked, next = append(walked, page.petNames()...), page.nextPage()
	}
	if len(walked) != 2*pageSize+6 || walked[0] != "Žofka" || walked[len(walked)-1] != "Rex 0" {
		t.Errorf("the pages have %d animals: %v", len(walked), walked)
	}
	for query, want := range map[string][]string{
		"name=ŽOF":                   {"Žofka"},
		"status=pending":             {"Žofka"},
		"category=3&status=pending":  {"Žofka"},
		"category=3&status=sold":     nil,
		"name=28+rex&category=1":     {"Rex 28"},
		"name=&status=&category=":    walked[:pageSize],
		"name=%20&status=&category=": walked[:pageSize],
	} {
		b.mustGet("/staff/pets?" + query).wantPets(want...)
	}
	b.mustGet("/staff/pets?status=gone", "The status must be")
	b.mustGet("/staff/pets?category=x", "There is no category called “x”")
	b.mustGet("/staff/pets?name=%00", "The text must")
}

func TestNewPetsMatchTheFilters(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b = b.withHTMX()
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Bella", 1, shop.Sold)
	s.AddPet(t, "Coco", 2, shop.Sold)
	b.mustGet(fmt.Sprintf("/staff/pets/fresh?newest=%d&status=sold&name=&category=", rex.ID)).wantPets("Coco", "Bella").
		contains(`id="newest" name="newest" value="3"`)
	b.mustGet("/staff/pets/fresh?newest=3").wantPets()
	for range pageSize + 1 {
		s.AddPet(t, "many", 1, "")
	}
	b.mustGet("/staff/pets/fresh?newest=3&status=&name=m", "Show new animals").wantPets().
		contains(`value="54"`, `href="/staff/pets?name=m"`)
}

func TestConflictingEditIsShownNotSaved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/pets", "name", " Rex ", "category", "7", "status", "available").wantRedirect("/staff/pets")
	for _, c := range []struct{ name, category, status, want string }{
		{"", "7", "", "Name must have 1 to 200"}, {"x", "", "", "Select a category"}, {"x", "7", "gone", "Status must be one of"},
	} {
		form := []string{"name", c.name, "category", c.category, "status", c.status}
		b.post("/staff/pets", form...).want(422, c.want)
		b.withHTMX().post("/staff/pets", form...).want(200, c.want).contains(`<form id="add"`).lacks("<html")
	}
	b.withHTMX().post("/staff/pets", "name", "Žofka 🐈", "category", "7").
		want(200, `"flash":{"text":"\u017dofka \ud83d\udc08 was added as number 2.","undo":"/staff/pets/2/undo"`)
	b.mustGet("/staff/pets/1/edit", "Edit Rex")
	b.withHTMX().mustGet("/staff/pets/1/edit").contains(`<tr id="pet-1" class="editing">`).lacks("<html")
	was := []string{"was-name", "Rex", "was-category", "7", "was-status", "available"}
	b.post("/staff/pets/1", append(was, "name", "", "category", "7")...).want(422, "Name must")
	b.post("/staff/pets/1", append(was, "name", "Rexo", "category", "8")...).wantRedirect("/staff/pets/1")
	b.post("/staff/pets/99", append(was, "name", "x", "category", "8")...).want(404, "no animal")
	// Submit a form that was opened before the animal was changed. The page then shows both the current values and the
	// user's values.
	b.post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).
		want(409, "Someone else changed this animal", "Name Rexo Max", "Category Category 8 Category 7", "Save mine").
		contains(`name="was-name" value="Rexo"`, `name="name" value="Max"`, `name="was-category" value="8"`)
	b.withHTMX().post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).want(200, "Someone else changed this animal")
	pet, err := s.Pet(t.Context(), 1, nil)
	if err != nil || pet.Name != "Rexo" {
		t.Errorf("the animal is %v (error %v), want the name Rexo", pet, err)
	}
	was = []string{"was-name", "Rexo", "was-category", "8", "was-status", "available"}
	b.withHTMX().post("/staff/pets/1", append(was, "name", "Max", "category", "7")...).want(200, "Max was saved").
		wantPets("Max").contains(`<tr id="pet-1"`).lacks("<html")
}

// A table row offers exactly the statuses that the service accepts.
func TestOnlyPossibleStatusesAreOffered(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for _, from := range append(shop.Statuses(), "") {
		for _, to := range shop.Statuses() {
			pet := s.AddPet(t, "Rex", 1, from)
			row := b.withHTMX().mustGet(fmt.Sprintf("/staff/pets/%d/row", pet.ID))
			offered := strings.Contains(row.body, fmt.Sprintf(`name="to" value=%q`, to))
			_, err := s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{Status: &to}, nil)
			if possible := err == nil && from != to; possible != offered {
				t.Errorf("from %q to %q is possible: %v, but offered: %v", from, to, possible, offered)
			}
		}
	}
	pet := s.AddPet(t, "Luna", 1, shop.Available)
	status := fmt.Sprintf("/staff/pets/%d/status", pet.ID)
	b.post(status, "was", "available", "to", "pending", "back", "/staff/pets?status=available").wantRedirect("/staff/pets?status=available")
	b.post(status, "was", "available", "to", "sold").want(412, "Someone else has changed its status")
	b.withHTMX().post(status, "was", "available", "to", "sold").want(200, "Someone else has changed its status", "Reserved")
	b.withHTMX().post(status, "was", "pending", "to", "sold", "confirmed", "yes").want(200, "Luna is now sold", "Sold")
	b.withHTMX().post(status, "was", "sold", "to", "pending").want(200, "cannot become reserved", "Sold")
	held := s.addOrderedPet("Held")
	path := fmt.Sprint("/staff/pets/", held.ID)
	b.withHTMX().mustGet(path+"/row", "Reserved · order 1").lacks(`name="to"`, "/delete")
	b.withHTMX().post(path+"/status", "was", "pending", "to", "sold", "confirmed", "yes").want(200, "Order 1 holds this animal; hand over or cancel the order first.")
}

func TestPetChangedMeanwhileIsNotRemoved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	was := []string{"was-name", "Rex", "was-category", "1", "was-status", "available"}
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{Name: new("Rexo")}, nil))(t)
	b.post("/staff/pets/1/delete", was...).want(412, "so it was not removed")
	b.withHTMX().post("/staff/pets/1/delete", was...).want(200, "so it was not removed", "Rexo")
	was[1] = "Rexo"
	b.withHTMX().post("/staff/pets/1/delete", was...).want(200, "1 Rexo was removed. Restore")
	b.post("/staff/pets/1/delete", was...).want(404)
}

func TestNamesAreEscaped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	evil := `<img src=x onerror=alert(1)>"'{{.}}</script>&lt;`
	s.addOrderedPet(evil)
	shoptest.Must(s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: evil}, shop.PutCondition{}))(t)
	for _, page := range []string{"/", "/staff/pets", "/staff/pets?name=%3Cimg", "/staff/pets/1", "/staff/pets/1/edit",
		"/staff/pets/1/row", "/staff/orders", "/staff/categories", "/staff/people"} {
		for _, b := range []*browser{b, b.withHTMX()} {
			got := b.mustGet(page).lacks("<img", "<at the till>")
			if page != "/staff/people" && page != "/" && !strings.Contains(got.text()+got.body, "img src=x") {
				t.Errorf("%s does not contain the name", page)
			}
		}
	}
}

// A search that has found nothing so far says that it is continuing. Only at its end does it say that no animals
// match.
func TestSearchShowsThatItContinues(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	s.AddPet(t, "Qo", 1, "")
	err := s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1}}, 2100)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	first := b.mustGet("/staff/pets?name=qo", "Searching…").lacks("No animals match")
	b.withHTMX().mustGet(first.nextPage()).wantPets("Qo").lacks("No more animals")
	first = b.mustGet("/staff/pets?name=zz", "Searching…")
	b.withHTMX().mustGet(first.nextPage(), "No more animals match").wantPets()
	b.mustGet("/staff/pets?name=nobody&category=7", "No animals match")
}
