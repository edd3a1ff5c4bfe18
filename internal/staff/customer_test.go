package staff

import (
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantCustomer checks the customer of an order.
func (s *testShop) wantCustomer(id int64, want shop.Customer) {
	s.t.Helper()
	if got := shoptest.Must(s.Order(s.t.Context(), id))(s.t).Customer; got != want {
		s.t.Errorf("the customer of order %d is %+v, want %+v", id, got, want)
	}
}

// The customer of an order is shown and found by users with the scope customers only. Others may enter one.
func TestCustomersAreShownToThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	sees := s.signedIn(s.Key(t, shop.RoleStaff.Scopes()...).Secret)
	blind := s.signedIn(s.Key(t, shop.PetsRead, shop.OrdersRead, shop.OrdersWrite, shop.EventsRead).Secret)
	blind.post("/staff/pets/1/orders", "name", "Markéta Nováková", "phone", "+420 (0) 603-111 222", "email", "m@novak.example", "reference", "blue collar", "pickup", s.Today().String()).
		wantRedirect("/staff/pets/1")
	customer := shop.Customer{Name: "Markéta Nováková", Phone: "+420 (0) 603-111 222", Email: "m@novak.example"}
	s.wantCustomer(1, customer)
	const page = "/staff/orders/1"
	sees.mustGet(page, "Customer Markéta Nováková", "Phone +420 (0) 603-111 222", "E-mail m@novak.example", "Note blue collar", "Erase customer").
		contains(`href="tel:&#43;4200603111222"`, `href="mailto:m@novak.example"`)
	for _, path := range []string{"/", "/staff/orders", "/staff/pets/1", page + "/row", page + "/print", "/staff/orders/print", "/staff/orders/hand-overs", "/staff/orders?q=novakova", "/staff/search?q=603-111"} {
		sees.mustGet(path, "Markéta Nováková")
	}
	markers := []string{"Nováková", "603-111", "4200603111222", "novak.example"}
	for _, path := range []string{
		"/", "/staff/orders", page, "/staff/pets/1", "/staff/pets", "/staff/pets/1/row", page + "/row", page + "/print", "/staff/orders/print", "/staff/orders/hand-overs", "/staff/activity", "/staff/activity.csv",
		"/staff/search?q=collar",
	} {
		blind.mustGet(path).lacks(append(markers, "erase", `id="order-name"`)...)
	}
	blind.mustGet("/staff/orders?q=novakova", "No orders match.")
	blind.mustGet("/staff/search?q=novakova", "No results")
	// Nobody's activity contains a customer.
	sees.mustGet("/staff/activity", "for blue collar").lacks(markers...)
	sees.mustGet("/staff/activity.csv").lacks(markers...)
	// Who may not see a customer cannot change one.
	blind.post(page, "was-name", "", "name", "Somebody", "was-reference", "blue collar", "reference", "red collar").wantRedirect(page)
	s.wantCustomer(1, customer)
	blind.post(page, "was-pickup", "x", "pickup", "2030-01-01").want(409).lacks(markers...)
	sees.post(page, "was-name", "Markéta Nováková", "name", "Eva Nová", "was-phone", customer.Phone, "phone", customer.Phone).wantRedirect(page)
	s.wantCustomer(1, shop.Customer{Name: "Eva Nová", Phone: customer.Phone, Email: customer.Email})
	sees.mustGet(page, "Order 1 was saved.") // the message, which could be undone
	sees.mustGet("/staff/activity?order=1", "changed the customer of Rex · order 1").lacks("Eva Nová")
	sees.post(page, "was-name", "Markéta Nováková", "name", "Eva", "was-email", customer.Email, "email", "two@@example").want(422, "Must have one @")
	sees.post(page, "was-name", "Markéta Nováková", "name", "Eva").want(409, "Theirs (current): Eva Nová")
}

// A customer is erased with one button and a question, also after the order was closed. Afterwards, nothing on the pages leads
// to the customer, and an earlier Undo does not bring the customer back.
func TestCustomerIsErased(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	b := s.signedIn(s.Key(t, shop.RoleStaff.Scopes()...).Secret)
	b.post("/staff/pets/1/orders", "name", "Mrs Novák", "phone", "555", "reference", "calls first")
	const page = "/staff/orders/1"
	b.post(page, "was-name", "Mrs Novák", "name", "Mr Novák").wantRedirect(page)
	change := b.withHTMX().post(page, "was-phone", "555", "phone", "556").want(200, `"undo":"/staff/orders/1"`, `"phone":"555"`)
	if !strings.Contains(change.header.Get("HX-Trigger"), `"about":"order-1"`) {
		t.Error("the message is about nothing")
	}
	b.post(page+"/status", "was", "placed", "to", "approved")
	b.post(page+"/status", "was", "approved", "to", "delivered")
	b.post(page+"/erase").want(200, "Erase the customer?", "This can’t be undone.", "The note and the history stay.", "Cancel").contains(`name="confirmed" value="yes"`)
	b.withHTMX().post(page+"/erase").want(200, "Erase the customer?").contains("<dialog")
	s.wantCustomer(1, shop.Customer{Name: "Mr Novák", Phone: "556"})
	b.post(page+"/erase", "confirmed", "yes").wantRedirect(page)
	s.wantCustomer(1, shop.Customer{})
	b.mustGet(page, "The customer of order 1 was erased.", "Note calls first").lacks("Novák", "555", "Erase customer", "Undo</button>")
	b.withHTMX().post(page, "undo", "yes", "was-phone", "556", "phone", "555").want(200, "Someone has changed the order in the meantime, so nothing was undone.")
	s.wantCustomer(1, shop.Customer{})
	b.mustGet("/staff/search?q=mr+novak", "No results")
	b.post("/staff/orders/9/erase", "confirmed", "yes").wantRedirect("/staff/orders/9")
	s.signedIn(s.Key(t, shop.OrdersRead, shop.OrdersWrite).Secret).post(page+"/erase", "confirmed", "yes").want(403)
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Kind: new(shop.KindShelter)}, nil))(t)
	b.post(page+"/erase").want(200, "Erase the adopter?")
}
