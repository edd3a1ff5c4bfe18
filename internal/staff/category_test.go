package staff

import (
	"net/http"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestCategories(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.post("/staff/categories", "name", "").want(t, http.StatusUnprocessableEntity, "Name must have")
	b.post("/staff/categories", "name", "Dogs").wantTo(t, "/staff/categories")
	s.add("Rex", 1, shop.Available)
	s.add("Max", 1, shop.Sold)
	s.add("Momo", 7, "")
	b.see("/staff/categories").want(t, 200, "1 Save 2 1 0 1", "7 Save 1 0 0 0")
	b.post("/staff/categories/7", "was-name", "", "name", "Rabbits").wantTo(t, "/staff/categories")
	b.post("/staff/categories/7", "was-name", "", "name", "Hares").want(t, http.StatusConflict, "Somebody else has named category 7 “Rabbits” meanwhile; your “Hares” was not saved")
	b.post("/staff/categories/7/delete").want(t, http.StatusConflict, "There are animals of the category 7")
	if err := s.service.DeletePet(t.Context(), 3, nil); err != nil {
		t.Fatal(err)
	}
	b.post("/staff/categories/7/delete").wantTo(t, "/staff/categories")
	if got := b.see("/staff/categories"); strings.Contains(got.body, "Rabbits") {
		t.Error("it is still there")
	}
}
