package staff

import (
	"net/http"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestCategoriesAreAddedRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.post("/staff/categories", "name", "").want(t, http.StatusUnprocessableEntity, "Name must have")
	b.post("/staff/categories", "name", "Dogs").wantRedirect(t, "/staff/categories")
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Max", 1, shop.Sold)
	s.AddPet(t, "Momo", 7, "")
	b.mustGet("/staff/categories").want(t, 200, "1 Save 2 1 0 1", "7 Save 1 0 0 0")
	b.post("/staff/categories/7", "was-name", "", "name", "Rabbits").wantRedirect(t, "/staff/categories")
	b.post("/staff/categories/7", "was-name", "", "name", "Hares").want(t, http.StatusConflict, "Someone else has renamed category 7 to “Rabbits”; your change to “Hares” was not saved")
	b.post("/staff/categories/7/delete").want(t, http.StatusConflict, "Category 7 still has animals")
	if err := s.DeletePet(t.Context(), 3, nil); err != nil {
		t.Fatal(err)
	}
	b.post("/staff/categories/7/delete").wantRedirect(t, "/staff/categories")
	if got := b.mustGet("/staff/categories"); strings.Contains(got.body, "Rabbits") {
		t.Error("the removed category is still listed")
	}
}
