package staff

import (
	"testing"

	"animalstore/internal/shop"
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
