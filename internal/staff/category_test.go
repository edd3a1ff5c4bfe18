package staff

import (
	"errors"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A category cannot be given the name of another category, in any letter case. Categories that already share a name
// can keep it.
func TestCategoriesHaveDifferentNames(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/categories", "name", "Dogs").wantRedirect("/staff/categories")
	b.post("/staff/categories", "name", " dogs ").want(422, "There is already a category “Dogs” (no. 1); choose another name.").
		contains(`value="dogs"`) // the form still contains what was typed
	b.post("/staff/categories", "name", "Cats").wantRedirect("/staff/categories")
	b.post("/staff/categories/2", "was-name", "Cats", "name", "DOGS").want(422, "There is already a category “Dogs” (no. 1)")
	b.post("/staff/categories/1", "was-name", "Dogs", "name", "dogs").wantRedirect("/staff/categories")
	if _, err := s.CreateCategory(t.Context(), shop.Caller{}, "dogs"); err != nil { // the API allows duplicate names
		t.Fatal(err)
	}
	b.post("/staff/categories/3", "was-name", "dogs", "name", "dogs").wantRedirect("/staff/categories")
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Mia", 1, "")
	b.mustGet("/staff/categories", "2 1 0 0 1")
}

// While the animals are being counted again, the pages show no numbers that may be wrong.
func TestPagesShowThatAnimalsAreCountedAgain(t *testing.T) {
	t.Parallel()
	s := newShopOn(t, shoptest.Options{Postgres: true}, Config{})
	b := s.signedIn(configuredKey)
	s.AddPet(t, "Rex", 1, shop.Available)
	// A node of version 1.0 stores such a setting after it has removed events without counting them.
	pgtest.Connect(t, s.Database).Do("INSERT INTO settings (name, value) VALUES ('event_horizon', '1000000')")
	b.mustGet("/", "1 Available 0 Pending 0 Sold 0 No status 1 Total", "Counting…").lacks("Animals by category and status")
	b.mustGet("/staff/categories", "Show … … … …").lacks("Remove category")
	b.mustGet("/staff/pets?category=1", "Rex").contains(`<span id="count-all" class="count"></span>`)
	// According to the setting, many events were removed before they were counted, so both jobs count everything again.
	if err := errors.Join(s.FoldCounts(t.Context()), s.CountDays(t.Context())); err != nil {
		t.Fatal(err)
	}
	b.mustGet("/", "Category 1 1").lacks("Counting…")
	b.mustGet("/staff/categories", "1 1 0 0 0")
}
