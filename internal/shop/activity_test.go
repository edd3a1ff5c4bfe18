package shop_test

import (
	"fmt"
	"slices"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// changes returns the types and subjects of all changes that match a filter. It reads them in pages of two.
func changes(t *testing.T, s *shoptest.Shop, filter shop.ActivityFilter) (list []string) {
	t.Helper()
	for request := (shop.PageRequest{Limit: 2}); ; {
		page := must(s.ListActivity(t.Context(), shop.Caller{}, filter, request))(t)
		for _, event := range page.Items {
			list = append(list, string(event.Type)+" "+event.Subject)
		}
		if !page.More {
			return list
		}
		request.After = new(page.Next(shop.Event.Position))
	}
}

// The activity of an animal includes the changes to its orders. If there are several filters, a change must match all
// of them.
func TestActivityOfAnAnimalIncludesItsOrders(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	s.AddPet(t, "Rex", 1, shop.Available)
	orderAt(t, s, shop.Delivered) // an order for animal 2
	orderAt(t, s, shop.Placed)    // an order for animal 3
	rex := new(int64(2))
	all := []string{"pet.updated pets/2", "order.delivered store/orders/1", "order.approved store/orders/1", "pet.updated pets/2", "order.placed store/orders/1", "pet.created pets/2"}
	for _, c := range []struct {
		filter shop.ActivityFilter
		want   []string
	}{
		{shop.ActivityFilter{PetID: rex}, all},
		{shop.ActivityFilter{PetID: rex, EventFilter: shop.EventFilter{Types: []shop.EventType{shop.OrderPlaced, shop.PetCreated}}}, []string{all[4], all[5]}},
		{shop.ActivityFilter{OrderID: new(int64(1))}, []string{all[1], all[2], all[4]}},
		{shop.ActivityFilter{PetID: rex, OrderID: new(int64(1))}, []string{all[1], all[2], all[4]}},
		{shop.ActivityFilter{PetID: rex, OrderID: new(int64(2))}, nil},
		{shop.ActivityFilter{PetID: new(int64(9))}, nil},
	} {
		if got := changes(t, s, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
		}
	}
}

// The names of a key and an animal can still be looked up after the key was revoked and the animal was removed.
func TestNamesOutliveKeysAndAnimals(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	anna := must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Anna", Scopes: []shop.Scope{shop.PetsRead}}))(t)
	rex, max := s.AddPet(t, "Rex", 1, shop.Available), s.AddPet(t, "Max", 1, shop.Available)
	must(s.UpdatePet(t.Context(), shop.Caller{}, rex.ID, shop.PetChange{Name: new("Rexi")}, nil))(t)
	check(t, s.DeletePet(t.Context(), shop.Caller{}, rex.ID, nil))
	check(t, s.RevokeKey(t.Context(), shop.Caller{}, anna.ID))
	pets := must(s.PetNames(t.Context(), []int64{rex.ID, max.ID, 99}))(t)
	equal(t, "the animals", fmt.Sprint(pets), fmt.Sprint(map[int64]string{rex.ID: "Rexi", max.ID: "Max", 99: ""}))
	actor := fmt.Sprint("keys/", anna.ID)
	keys := must(s.KeyNames(t.Context(), []string{actor, "system", "keys/99"}))(t)
	equal(t, "the keys", fmt.Sprint(keys), fmt.Sprint(map[string]string{actor: "Anna"}))
}
