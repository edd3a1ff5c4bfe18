package staff

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestSearchFindsEverything(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for range maxHits + 1 {
		s.AddPet(t, "Hazel, Bengal", 1, shop.Available)
	}
	shoptest.Must(s.PutCategory(t.Context(), shop.Category{ID: 1, Name: "Bengal cats"}, shop.PutCondition{}))(t)
	zoe := s.AddPet(t, "Zoë", 1, shop.Available)
	shoptest.Must(s.PlaceOrder(t.Context(), shop.NewOrder{PetID: zoe.ID, Reference: "Mrs Novák"}))(t)
	b.mustGet("/staff/search", "Search").lacks("Nothing found")
	b.mustGet("/staff/search?q=zoe", "Animals Zoë No. 7 · Bengal cats · pending").contains(`href="/staff/pets/7"`)
	b.mustGet("/staff/search?q=bengal", "Categories Bengal cats").contains(`href="/staff/pets?name=bengal"`)
	b.mustGet("/staff/search?q=novak", "Orders Mrs Novák Order 1 · Zoë · placed")
	b.mustGet("/staff/search?q=1", "Hazel, Bengal No. 1", "Order 1", "Category 1")
	b.mustGet("/staff/search?q=%237", "Zoë No. 7")
	b.mustGet("/staff/search?q=nobody", "Nothing found")
	b.mustGet("/staff/search?q=%00", "The text must")
	b.withHTMX().mustGet("/staff/search?q=zoe").contains(`role="option"`, `data-query="zoe"`).lacks("<html")
	s.signedIn(s.Key(t, shop.PetsRead).Secret).mustGet("/staff/search?q=novak", "Nothing found")
}
