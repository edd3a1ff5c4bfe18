package staff

import (
	"fmt"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A browser may send a form again by itself if the response is lost. The second response is then the same as the first,
// and does not blame somebody else.
func TestRepeatedFormsAreSavedOnceAndBlameNobody(t *testing.T) {
	s := newShop(t)
	s.AddPet(t, "Rex", 7, shop.Available)
	s.AddPet(t, "Bella", 7, shop.Available)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	rex := []string{"was-name", "Rex", "was-category", "7", "was-status", "available"}
	for i, form := range []struct {
		path   string
		fields []string
		want   string
	}{
		{"/staff/pets/1/profile/about", []string{"tag", b.tag("about"), "description", "Friendly."}, "Rex was saved."},
		{"/staff/pets/1", append(rex, "name", "Rexo", "category", "7"), "Rexo was saved."},
		{"/staff/pets/1/status", []string{"was", "available", "to", "pending"}, "Rexo is now reserved."},
		{"/staff/pets/1/status", []string{"was", "pending", "to", "available"}, "Rexo is now available."},
		{"/staff/pets/1/orders", []string{"reference", "Mrs Novák"}, "Reserved as order 1."},
		{"/staff/orders/1", []string{"was-reference", "Mrs Novák", "reference", "Mr Novák"}, "Order 1 was saved."},
		{"/staff/orders/1/status", []string{"was", "placed", "to", "approved"}, "Order 1 is now approved."},
		{"/staff/orders/1/status", []string{"was", "approved", "to", "cancelled"}, "Order 1 is now cancelled."},
		{"/staff/pets/1/delete", []string{"was-name", "Rexo", "was-category", "7", "was-status", "available"}, "Rexo was removed."},
		{"/staff/pets/1/restore", nil, "Rexo was restored."},
		{"/staff/pets/bulk", []string{"do", "remove", "pet", petToken(shop.Pet{ID: 2, Name: "Bella", CategoryID: 7, Status: shop.Available})}, "1 animal removed."},
		{"/staff/pets/undo", []string{"pet-2", "removed"}, "Bella was restored."},
		{"/staff/pets", []string{"name", "Max", "category", "7", "status", "available"}, "Max was added as number 3."},
	} {
		htmx := b.withHTMX().with("Idempotency-Key", fmt.Sprint("form-", i))
		first, second := htmx.post(form.path, form.fields...).want(200, form.want), htmx.post(form.path, form.fields...).want(200, form.want)
		if a, b := first.header.Get("HX-Trigger"), second.header.Get("HX-Trigger"); a != b {
			t.Errorf("%s: got %s, then %s", form.path, a, b)
		}
	}
	pets := shoptest.Must(s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: shop.PageRequest{Limit: 10}}, nil))(t)
	orders := shoptest.Must(s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PageRequest: shop.PageRequest{Limit: 10}}))(t)
	if len(pets.Items) != 3 || len(orders.Items) != 1 {
		t.Errorf("got %d animals and %d orders, want 3 and 1", len(pets.Items), len(orders.Items))
	}
}

// Without scripts, a form contains the id of its page. The same form is saved once, and a form with other values counts
// as another one.
func TestFormsWithoutScriptsAreSavedOnce(t *testing.T) {
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	for _, page := range []string{"/staff/pets", "/staff/categories", "/staff/people", "/staff/webhooks"} {
		b.mustGet(page).contains(`name="once"`)
	}
	for range 2 {
		b.post("/staff/categories", "name", "Dogs", "once", "page").wantRedirect("/staff/categories")
		b.post("/staff/pets", "name", "Rex", "category", "1", "status", "available", "once", "page").wantRedirect("/staff/pets")
	}
	b.post("/staff/pets", "name", "Bella", "category", "1", "status", "available", "once", "page").wantRedirect("/staff/pets")
	pets := shoptest.Must(s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PageRequest: shop.PageRequest{Limit: 10}}, nil))(t)
	if len(pets.Items) != 2 {
		t.Errorf("got the animals %+v, want Rex and Bella once", pets.Items)
	}
	// The secrets of keys and webhooks are not stored, so they cannot be shown again.
	key := []string{"name", "till", "role", "partner-read", "once", "page"}
	b.post("/staff/people", key...).want(200, "till was added. The program sends this secret. Copy it now")
	b.post("/staff/people", key...).want(200, "till was added, but its secret was lost").lacks(`id="secret"`)
	hook := []string{"url", "https://shop.example/events", "once", "page"}
	b.post("/staff/webhooks", hook...).want(200).contains(`id="secret"`)
	b.post("/staff/webhooks", hook...).want(200, "The webhook was added, but its secret was lost").lacks(`id="secret"`)
	if hooks := shoptest.Must(s.ListWebhooks(t.Context(), shop.PageRequest{Limit: 10}))(t); len(hooks.Items) != 1 {
		t.Errorf("got %d webhooks, want 1", len(hooks.Items))
	}
}

// A page whose response was lost can ask whether its form was saved. Another user's forms are not told.
func TestPageCanAskWhetherAFormWasSaved(t *testing.T) {
	s := newShop(t)
	s.AddPet(t, "Rex", 7, shop.Available)
	b, other := s.signedIn(s.Key(t, shop.Admin).Secret), s.signedIn(s.Key(t, shop.Admin).Secret)
	b.mustGet("/staff/saved?form=f1", "unknown")
	b.withHTMX().with("Idempotency-Key", "f1").post("/staff/pets/1/orders").want(200)
	b.withHTMX().with("Idempotency-Key", "f2").post("/staff/pets/1/orders").want(200, "not available")
	b.mustGet("/staff/saved?form=f1", "saved")
	b.mustGet("/staff/saved?form=f2", "unknown")
	other.mustGet("/staff/saved?form=f1", "unknown")
}
