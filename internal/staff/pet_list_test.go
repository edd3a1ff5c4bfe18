package staff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Each tab shows how many animals have its status and match the other filters.
func TestTabsCountAnimals(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for i, status := range []shop.Status{shop.Available, shop.Available, shop.Available, shop.Pending, shop.Sold, "", ""} {
		s.AddPet(t, "Rex", int64(1+i%2), status)
	}
	b.mustGet("/staff/pets", "All 7 Available 3 Reserved 1 Sold 1 No status 2")
	b.mustGet("/staff/pets?category=1&status=sold", "All 4 Available 2 Reserved 0 Sold 1 No status 1")
	b.mustGet("/staff/pets?name=rex&status=sold", "All 7 Available 3 Reserved 1 Sold 1 No status 2")
	b.mustGet("/staff/pets?published=yes", "All 0 Available 0 Reserved 0 Sold 0 No status 0")
	b.mustGet("/staff/pets?id=1", "All Available Reserved Sold No status")
	b.withHTMX().mustGet("/staff/pets/counts?category=2", "3 1 1 0 1").contains(`id="count-none" class="count" hx-swap-oob="true"`).lacks("<html")
}

// The status "none" and the sort order are in the URL of the list, and the following pages keep them.
func TestListOrdersAndAnimalsWithoutAStatus(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var names []string
	for i := range pageSize + 3 {
		names = append(names, fmt.Sprint("Rex ", i))
		s.AddPet(t, names[i], 1, "")
	}
	s.AddPet(t, "Max", 1, shop.Sold)
	b.mustGet("/staff/pets?status=none&name=rex+0").wantPets("Rex 50", "Rex 40", "Rex 30", "Rex 20", "Rex 10", "Rex 0")
	first := b.mustGet("/staff/pets?status=none&sort=oldest").wantPets(names[:pageSize]...).
		contains(`value="none" checked`, `<option value="oldest" selected>`).lacks(`id="new-pets"`)
	b.withHTMX().mustGet(first.nextPage()).wantPets(names[pageSize:]...)
	b.mustGet(first.nextPage(), "Back to the first page").contains(`href="/staff/pets?sort=oldest&amp;status=none"`)
	b.mustGet("/staff/pets?sort=oldest&name=rex+0").wantPets("Rex 0", "Rex 10", "Rex 20", "Rex 30", "Rex 40", "Rex 50")
	b.mustGet("/staff/pets?id=2&id=5&id=x", "2 selected animals").wantPets("Rex 4", "Rex 1")
}

// A bulk action changes each animal that is still in the state that the page showed. The result says why the others
// were not changed.
func TestBulkActionReportsEachRow(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var form []string
	add := func(name string, status shop.Status) shop.Pet {
		pet := s.AddPet(t, name, 1, status)
		form = append(form, "pet", petToken(pet))
		return pet
	}
	wanted, same := add("Wanted", shop.Available), add("Same", shop.Sold)
	changed, removed, held := add("Changed", shop.Available), add("Removed", shop.Available), add("Held", "")
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, changed.ID, shop.PetChange{Name: new("Other")}, nil))(t)
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, removed.ID, nil))
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, held.ID, shop.PetChange{Status: new(shop.Available)}, nil))(t)
	held = shoptest.Must(s.Pet(t.Context(), held.ID, nil))(t)
	shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: held.ID}))(t)
	held.Status = shop.Pending
	form[len(form)-1] = petToken(held)
	b.mustGet("/staff/pets").contains(`value="` + petToken(wanted) + `"`)

	sold := append(slices.Clone(form), "do", "sold", "confirmed", "yes", "back", "/staff/pets?status=available")
	want := []string{"1 animal changed, 1 unchanged, 2 conflicts, 1 not possible", "Other (no. 3): Someone else has changed it",
		"No. 4: Someone else has removed it", "Held (no. 5): Order 1 holds this animal; hand over or cancel the order first."}
	got := b.withHTMX().post("/staff/pets/bulk", sold...).want(200, want...).lacks("<html").
		contains(`<tr id="pet-1" hx-swap-oob="true"`, `<tr id="pet-3" hx-swap-oob="true"`, `<tr id="pet-4" class="removed" hx-swap-oob="true"`)
	if n := strings.Count(got.body, "hx-swap-oob"); n != 5 {
		t.Errorf("the response replaces %d rows", n)
	}
	for id, status := range map[int64]shop.Status{wanted.ID: shop.Sold, same.ID: shop.Sold, changed.ID: shop.Available, held.ID: shop.Pending} {
		if pet := shoptest.Must(s.Pet(t.Context(), id, nil))(t); pet.Status != status {
			t.Errorf("got %+v, want it %s", pet, status)
		}
	}
	// Without scripts, the result is the same. If the form is sent again, an animal that it has already changed counts
	// as a conflict.
	b.post("/staff/pets/bulk", sold...).want(200, "0 animals changed, 1 unchanged, 3 conflicts, 1 not possible", "Wanted (no. 1)").
		contains(`href="/staff/pets?status=available"`)
	b.post("/staff/pets/bulk", append(sold[:len(sold)-1:len(sold)-1], "https://evil.example/staff/pets")...).want(200).lacks("evil")
}

func TestBulkActionsRemoveMoveAndPrint(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var tokens []string
	for i := range 4 {
		tokens = append(tokens, "pet", petToken(s.AddPet(t, fmt.Sprint("Rex ", i), 1, "")))
	}
	do := func(action string, fields ...string) response {
		return b.withHTMX().post("/staff/pets/bulk", append(append(slices.Clone(tokens), "do", action), fields...)...)
	}
	do("print").wantRedirect("/staff/pets/print?id=1&id=2&id=3&id=4#print")
	b.mustGet("/staff/pets/print?id=1&id=3&sort=oldest", "1 Rex 0", "3 Rex 2", "2 animals").lacks("Rex 1")
	do("category").want(200, "Select a category")
	do("category", "category", "new", "new-category", " Dogs ").want(200, "4 animals changed.").lacks("conflict")
	for i := range tokens {
		if i%2 == 1 {
			tokens[i] = petToken(shoptest.Must(s.Pet(t.Context(), int64(1+i/2), nil))(t))
		}
	}
	do("category", "category", "2").want(200, "0 animals changed, 4 unchanged")
	if pet := shoptest.Must(s.Pet(t.Context(), 1, nil))(t); pet.CategoryID != 2 {
		t.Errorf("got %+v, want the new category 2", pet)
	}
	do("remove").want(200, "4 animals removed.").contains(`<tr id="pet-1" class="removed" hx-swap-oob="true"`)
	s.wantPetCount(0)
	do("fly").want(200, "could not be read")
	b.post("/staff/pets/bulk", "do", "remove").want(422, "Select at least one animal")
	b.post("/staff/pets/bulk", "do", "remove", "pet", "x").want(422, "could not be read")
	var many []string
	for i := range maxBulk + 1 {
		many = append(many, "pet", fmt.Sprint(i, "-x"))
	}
	b.post("/staff/pets/bulk", append(many, "do", "remove")...).want(422, "Select at most 100 animals")
	reader := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	reader.post("/staff/pets/bulk", "do", "remove", "pet", "1-x").want(403)
	s.AddPet(t, "Rex", 1, "")
	reader.mustGet("/staff/pets").lacks(`name="pet"`, `id="bulk"`)
}

// In a shop with more categories than a drop-down list offers, people type the category's name.
func TestManyCategoriesAreSelectedByName(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.OK(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		var categories []shop.Category
		for i := range int64(maxCategoryOptions + 600) {
			categories = append(categories, shop.Category{ID: 1 + i, Name: fmt.Sprint("Kind ", 1+i)})
		}
		categories[700].Name, categories[701].Name = "Žába", "Žába"
		return tx.InsertCategories(categories...)
	}))
	b.mustGet("/staff/pets").contains(`list="add-category-list"`, `<option value="Kind 7 (7)">`).lacks(`<select id="add-category"`)
	b.withHTMX().mustGet("/staff/categories/suggestions?category=ZAB").contains(`<option value="Žába (701)">`, `<option value="Žába (702)">`).lacks("Kind", "<html")
	b.withHTMX().mustGet("/staff/categories/suggestions?category=").lacks("option")
	for text, id := range map[string]int64{"žába": 701, "Žába (702)": 702, "Kind 799": 799, "800": 800} {
		b.post("/staff/pets", "name", "Rex", "category", text).wantRedirect("/staff/pets")
		pets := shoptest.Must(s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: shop.PageRequest{Limit: 1}}, nil))(t)
		if got := pets.Items[0].CategoryID; got != id {
			t.Errorf("%q stands for category %d, want %d", text, got, id)
		}
		b.mustGet(fmt.Sprintf("/staff/pets/%d/edit", pets.Items[0].ID)).contains(fmt.Sprintf("(%d)\"", id))
	}
	b.mustGet("/staff/pets?category=kind+799", "All 1").contains(`value="Kind 799 (799)"`)
	b.post("/staff/pets", "name", "Rex", "category", "Unicorns").want(422, "There is no category called “Unicorns”")
	b.post("/staff/pets", "name", "Rex", "category", "Žába (3)").want(422, "There is no category called “Žába (3)”")
	b.post("/staff/pets", "name", "Uno", "category", "", "new-category", "Unicorns").wantRedirect("/staff/pets")
	b.mustGet("/staff/pets?category=unicorns").wantPets("Uno")
}

// The form that edits an animal can also create a category, but does not create it if the animal cannot be saved.
func TestEditingCreatesACategory(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, "")
	was := []string{"was-name", "Rex", "was-category", "1", "was-status", "", "category", "new", "new-category", "Dogs"}
	b.withHTMX().mustGet("/staff/pets/1/edit", "New category…").contains(`form="edit-1"`, `id="edit-1-new-category"`)
	b.mustGet("/staff/pets/1/edit", "New category…").contains(`id="edit-new-category"`)
	b.post("/staff/pets/1", append(was, "name", "")...).want(422, "Name must")
	if n := len(shoptest.Must(s.ListCategories(t.Context(), shop.PageRequest{Limit: 9}))(t).Items); n != 1 {
		t.Errorf("there are %d categories, want 1", n)
	}
	b.post("/staff/pets/1", append(was, "name", "Max")...).wantRedirect("/staff/pets/1")
	b.mustGet("/staff/pets/1", "Max", "Dogs")
}

// Without scripts, an action on one row leads back to the list with its filters.
func TestRowsLeadBackToTheFilteredList(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.addOrderedPet("Rex")
	s.AddPet(t, "Rexo", 1, shop.Available)
	for _, list := range []string{"/staff/pets", "/staff/orders"} {
		filtered := list + "?sort=oldest"
		b.mustGet(filtered, "Rex").contains(`name="back" value="` + filtered + `"`)
		// The filters of a very long URL are left out, because each row would contain them.
		b.mustGet(filtered+"&x="+strings.Repeat("x", maxRowAddress), "Rex").contains(`name="back" value="` + list + `"`)
	}
	status := []string{"was", "placed", "to", "approved", "back", "https://evil.example/staff/orders"}
	b.post("/staff/orders/1/status", status...).wantRedirect("/staff/pets/1")
}

// setProfile changes the profile of an animal.
func (s *testShop) setProfile(id int64, change shop.ProfileChange) {
	s.t.Helper()
	shoptest.Must(s.UpdateProfile(s.t.Context(), shop.Caller{}, id, change, nil))(s.t)
}

// addPhoto adds a photo to an animal. Its files are no images, because the pages do not read them.
func (s *testShop) addPhoto(petID int64) shop.Photo {
	s.t.Helper()
	files := shop.PhotoFiles{shop.SmallPhoto: {1}, shop.MediumPhoto: {1}, shop.LargePhoto: {1}}
	return shoptest.Must(s.AddPhoto(s.t.Context(), shop.Caller{}, petID, shop.NewPhoto{Files: files, Width: 1600, Height: 1200}))(s.t)
}

// A row shows the cover, the breed, the age and the price of an animal, where there are any, also when it is refreshed alone and
// on paper.
func TestListShowsProfiles(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rex, mia := s.AddPet(t, "Rex", 1, shop.Available), s.AddPet(t, "Mia", 1, shop.Sold)
	b.mustGet("/staff/pets").lacks("<img", "<small>", "<data class")
	s.setProfile(rex.ID, shop.ProfileChange{
		Breeds: &[]string{"Beagle", `<b>"`}, BirthDate: new(s.Today().UTC().AddDate(-3, 0, -1).Format(time.DateOnly)), Price: &shop.Price{Amount: "250.00", Currency: "EUR"},
	})
	s.setProfile(mia.ID, shop.ProfileChange{BirthDate: new(s.Today().UTC().AddDate(0, 0, -5).Format(time.DateOnly)), Location: new("Kennel 4")})
	photo := s.addPhoto(rex.ID)
	image := `<img src="` + photo.URL(shop.SmallPhoto) + `" width="`
	for _, page := range []response{b.mustGet("/staff/pets"), b.withHTMX().mustGet(fmt.Sprintf("/staff/pets/%d/row", rex.ID)), b.withHTMX().mustGet("/staff/pets/fresh")} {
		page.contains(image, `loading="lazy" alt="">`, `<small>Beagle × &lt;b&gt;&#34; · 3 years</small>`, `data-currency="EUR">EUR 250.00</data>`).lacks("Kennel")
	}
	b.mustGet("/staff/pets").contains(`<small>5 days</small>`)
	b.mustGet("/staff/pets/print", "Rex Beagle", "3 years", "EUR 250.00", "Mia 5 days").lacks("<img src=\"/photos")
	form := []string{"pet", petToken(rex), "do", "pending"}
	b.withHTMX().post("/staff/pets/bulk", form...).want(200, "1 animal changed").contains(image)
}

// The list has filters for profiles, which combine with the others. Each active filter is shown with a link that clears it.
func TestListFiltersProfiles(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for i, name := range []string{"Rex", "Mia", "Bo", "Kim"} {
		pet := s.AddPet(t, name, 1, shop.Available)
		s.setProfile(pet.ID, shop.ProfileChange{
			Sex: new(shop.Sexes()[i%2]), Size: new(shop.Sizes()[i/2]), Published: new(i > 0), Tags: &[]string{"Calm", fmt.Sprint("tag ", i)}, Color: new("brown"),
			Breeds: &[]string{[]string{"Beagle", "Boxer"}[i%2]}, Microchip: new(fmt.Sprint("27609810612345", i)), Location: new(fmt.Sprint("Room ", i)),
		})
	}
	s.addPhoto(1)
	s.AddPet(t, "Zoe", 2, shop.Sold)
	shoptest.OK(t, s.IndexSearch(t.Context()))
	for query, want := range map[string]string{
		"sex=male": "Kim Mia", "size=small": "Mia Rex", "sex=male&size=small": "Mia", "published=yes": "Kim Bo Mia", "published=no": "Zoe Rex",
		"tag=CALM": "Kim Bo Mia Rex", "tag=calm,+Tag+2": "Bo", "tag=none": "", "photo=none": "Zoe Kim Bo Mia", "photo=none&category=2": "Zoe",
		"name=276098106123451": "Mia", "name=room": "Kim Bo Mia Rex", "name=room+boxer": "Kim Mia", "name=brown&sex=female": "Bo Rex", "name=kim+calm": "Kim",
		"sort=name": "Bo Kim Mia Rex Zoe", "sort=oldest&sex=male": "Mia Kim", "sort=name&sex=male&status=available": "Kim Mia",
	} {
		b.mustGet("/staff/pets?" + query).wantPets(strings.Fields(want)...)
		b.mustGet("/staff/pets/print?"+query, strings.Fields(want)...)
	}
	b.mustGet("/staff/pets?sex=male&tag=calm,Tag+1&name=mi&status=available&sort=name&category=1", "All 1 Available 1 Reserved 0").contains(
		`href="/staff/pets?category=1&amp;name=mi&amp;sort=name&amp;status=available&amp;tag=calm%2C&#43;Tag&#43;1" aria-label="Remove the filter Male"`,
		`href="/staff/pets?category=1&amp;name=mi&amp;sex=male&amp;sort=name&amp;status=available&amp;tag=Tag&#43;1" aria-label="Remove the filter Tag: calm"`,
		`href="/staff/pets?name=mi&amp;sex=male&amp;sort=name&amp;status=available&amp;tag=calm%2C&#43;Tag&#43;1" aria-label="Remove the filter Category 1"`,
		`href="/staff/pets?sort=name&amp;status=available">Clear all`, `<details class="filter-more" open>`)
	b.mustGet("/staff/pets").lacks("Clear all", `<details class="filter-more" open>`)
	for query, problem := range map[string]string{
		"sex=x": "The sex must be one of", "size=x": "The size must be one of", "published=x": "Published must be yes or no", "photo=x": "without a photo",
		"tag=" + strings.Repeat("x", 51): "The tag must have 1 to 50 characters", "name=%00": "The text must not contain control", "sort=x": "Newest first",
	} {
		b.mustGet("/staff/pets?"+query, problem)
	}
	b.mustGet("/staff/pets?sort=oldest&photo=none&from=1&at=x").wantPets("Mia", "Bo", "Kim", "Zoe")
	b.mustGet("/staff/pets?sort=name&from=1&at=%ff").wantPets("Bo", "Kim", "Mia", "Rex", "Zoe")
	reader := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	reader.mustGet("/staff/pets?name=room").wantPets()
	reader.mustGet("/staff/pets?name=276098106123451").wantPets()
	reader.mustGet("/staff/pets?name=boxer").wantPets("Kim", "Mia")
	reader.mustGet("/staff/search?q=276098106123451", "No results")
	b.mustGet("/staff/search?q=276098106123451", "Mia", "Chip 276098106123451")
	b.mustGet("/staff/search?q=boxer+calm", "Kim", "Mia", "Boxer").lacks("Chip")
}

// The pages of a sorted list continue where the one before has ended.
func TestSortedListHasPages(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var names []string
	for i := range pageSize + 2 {
		names = append(names, fmt.Sprintf("Rex %02d", i))
		pet := s.AddPet(t, names[i], 1, "")
		if i < pageSize {
			s.setProfile(pet.ID, shop.ProfileChange{Price: &shop.Price{Amount: fmt.Sprint(100 - i/2), Currency: "EUR"}})
		}
	}
	shoptest.OK(t, s.IndexSearch(t.Context()))
	first := b.mustGet("/staff/pets?sort=name").wantPets(names[:pageSize]...)
	b.withHTMX().mustGet(first.nextPage()).wantPets(names[pageSize:]...)
	first = b.mustGet("/staff/pets?sort=price-high").wantPets(byPrice(names)[:pageSize]...)
	b.withHTMX().mustGet(first.nextPage()).wantPets(byPrice(names)[pageSize:]...)
}

// byPrice returns the names in the order of their prices, highest first. Each two have the same price, and the last two have none.
func byPrice(names []string) (sorted []string) {
	for i := 0; i < len(names); i += 2 {
		sorted = append(sorted, names[i+1], names[i])
	}
	return sorted
}
