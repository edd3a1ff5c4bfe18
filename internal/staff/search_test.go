package staff

import (
	"slices"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestSearchFindsEverything(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for range dialogHits + 1 {
		s.AddPet(t, "Hazel, Bengal", 1, shop.Available)
	}
	shoptest.Must(s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: "Bengal cats"}, shop.PutCondition{}))(t)
	zoe := s.AddPet(t, "Zoë of Brno", 1, shop.Available)
	shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: zoe.ID, Reference: "Mrs Novák"}))(t)
	b.mustGet("/staff/search", "Find animals by name").lacks("No results")
	b.mustGet("/staff/search?q=BRNO+zoe", "Animals Zoë of Brno No. 7 · Bengal cats Reserved").contains(`href="/staff/pets/7"`).lacks("Hazel")
	b.mustGet("/staff/search?q=bengal", "Categories Bengal cats Category 1").contains(`href="/staff/pets?category=1"`).lacks("Show all")
	b.mustGet("/staff/search?q=novak", "Orders Mrs Novák Order 1 · Zoë of Brno Reserved").contains(`href="/staff/orders/1"`)
	b.mustGet("/staff/search?q=1", "Hazel, Bengal No. 1", "Mrs Novák Order 1", "Bengal cats Category 1")
	for _, number := range []string{"%237", "no.+7", "No+7", "order+7", "+7+"} {
		b.mustGet("/staff/search?q="+number, "Zoë of Brno No. 7")
	}
	b.mustGet("/staff/search?q=nobody", "No results for “nobody”.")
	b.mustGet("/staff/search?q=99999999999999999999", "No results")
	b.mustGet("/staff/search?q=%00", "The text must")

	// The search dialog gets only the results, without the rest of the search page. It also shows fewer results than
	// that page.
	dialog := b.withHTMX()
	dialog.mustGet("/staff/search?q=hazel", "5 results").contains(`role="option"`, `data-query="hazel"`, `href="/staff/pets?name=hazel"`, "Show all matching animals").lacks("<html")
	for range dialogHits {
		s.addOrderedPet("Jan Novák")
	}
	dialog.mustGet("/staff/search?q=jan", "10 results").lacks("Show all")
	dialog.mustGet("/staff/search?q=novak", "10 results").contains(`href="/staff/orders?q=novak"`, "Show all matching orders")
	b.mustGet("/staff/orders?q=novak", "Jan Novák", "Mrs Novák")
	dialog.mustGet("/staff/search?q=", "Find animals").lacks("No results", "role=\"option\"")

	// A removed animal is found by its number if the user may see its page.
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, 2, nil))
	b.mustGet("/staff/search?q=2", "Hazel, Bengal No. 2 · Bengal cats · removed").lacks("Available")
	s.signedIn(s.Key(t, shop.PetsRead).Secret).mustGet("/staff/search?q=2").lacks("No. 2")
}

// A search reveals nothing that the user's key may not read.
func TestSearchRespectsScopes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	shoptest.Must(s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: 1, Name: "Collies"}, shop.PutCondition{}))(t)
	shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID, Reference: "Mrs Novák"}))(t)

	pets := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	pets.mustGet("/staff/search", `Find animals by name, breed, colour, tag or number, categories by name.`).lacks("orders", "chip")
	pets.mustGet("/staff/search?q=novak", "No results")
	pets.mustGet("/staff/search?q=1", "Rex", "Collies").lacks("Novák", "Order 1")
	orders := s.signedIn(s.Key(t, shop.OrdersRead).Secret)
	orders.mustGet("/staff/search?q=rex", "No results")
	orders.mustGet("/staff/search?q=collies", "No results")
	orders.mustGet("/staff/search?q=1", "Mrs Novák").lacks("No. 1", "Collies")
	events := s.signedIn(s.Key(t, shop.EventsRead).Secret)
	events.mustGet("/").lacks("/staff/search")
	events.get("/staff/search?q=1").want(403, "You do not have access to this")
}

// In a large shop, a search stops after a bounded amount of work and links to the page on which it continues.
func TestSearchSaysWhereItContinues(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Qo", 1, "")
	shoptest.OK(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1}}, 2100)...)
		return err
	}))
	b.withHTMX().mustGet("/staff/search?q=qo", "Keep looking in all animals", "0 results").contains(`href="/staff/pets?name=qo"`).lacks("No results")
}
