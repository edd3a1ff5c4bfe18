package staff

import (
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestOrdersAreFoundByCustomer(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for _, customer := range []string{"Zoë Novák", "Max", "Novák Jan"} {
		s.addOrderedPet(customer)
	}
	shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, 3, shop.OrderChange{Status: new(shop.Cancelled)}, nil))(t)
	b.mustGet("/staff/orders?q=novak", `3 Novák Jan`, `1 Zoë Novák`).lacks(`id="order-2"`).contains(`hx-get="/staff/orders?q=novak"`)
	b.mustGet("/staff/orders?q=novak&status=placed", `1 Zoë Novák`).lacks(`id="order-3"`, `id="order-2"`)
	b.mustGet("/staff/orders?q=nobody", "No orders match.")
	b.mustGet("/staff/orders?q=%00", "The text must")
}

func TestOrderHasAPageWithItsCustomerAndHistory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead, shop.OrdersRead, shop.OrdersWrite, shop.EventsRead).Secret)
	s.AddPet(t, "Rex", 1, shop.Available)
	b.post("/staff/pets/1/orders", "reference", "Mrs Novák")
	const page = "/staff/orders/1"
	b.mustGet(page, "Order 1 Reserved", "Extend", "Animal Rex", "Note Mrs Novák", "Held until", "Žofie <at the till> reserved Rex for Mrs Novák").
		contains(`href="/staff/orders/1/print#print"`).wantActions("Approve", "Cancel order")
	b.mustGet("/staff/orders").contains(`href="/staff/orders/1"`)

	b.post(page, "was-reference", "Mrs Novák", "reference", " Mr Novák ").wantRedirect(page)
	b.undo(page).wantRedirect(page)
	b.post(page, "was-reference", "Mrs Novák", "reference", "Mr Novák")
	b.post(page, "was-reference", "Mrs Novák", "reference", "Somebody else").
		want(409, "Someone else changed this order while you were editing it", "Theirs (current): Mr Novák", "Save mine", "Keep theirs")
	b.mustGet(page, "Note Mr Novák")

	was := shoptest.Must(s.Order(t.Context(), 1))(t).HoldExpiresAt
	b.post(page+"/hold", "was", was.Format("2006-01-02T15:04:05.999999999Z07:00"), "days", "3", "back", page).wantRedirect(page)
	if now := shoptest.Must(s.Order(t.Context(), 1))(t).HoldExpiresAt; !now.After(was.AddDate(0, 0, 2)) {
		t.Errorf("the hold ends at %v, before at %v", now, was)
	}
	b.post(page+"/status", "was", "placed", "to", "approved", "back", page).wantRedirect(page)
	b.mustGet(page, "Order 1 is now approved.", "Žofie <at the till> approved Rex for Mr Novák").lacks("Extend</summary>").wantActions("Hand over", "Cancel order")
	b.post(page+"/status", "was", "approved", "to", "delivered", "back", page).wantRedirect(page)
	b.mustGet(page, "Order 1 Handed over", "Undo hand-over").lacks("order-reference").wantActions()
	b.post(page+"/undo", "was", "delivered", "back", page).wantRedirect(page)
	b.mustGet(page, "Order 1 Approved", "Order 1 is approved again.").lacks(`id="undo"`).wantActions("Hand over", "Cancel order")
	b.post(page+"/status", "was", "approved", "to", "delivered", "back", page).wantRedirect(page)
	b.post(page, "was-reference", "Mr Novák", "reference", "x").wantRedirect(page)
	b.mustGet(page, "The note of an order that is handed over cannot be changed; only that of a reserved or approved order can.")
	b.get("/staff/orders/99").want(404, "no order 99")
	s.signedIn(s.Key(t, shop.OrdersRead).Secret).mustGet(page).lacks("<form method=\"post\" action=\"/staff/orders/1", "class=\"history\"")
}
