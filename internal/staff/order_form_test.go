package staff

import (
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantOrder checks the note, the day of pick-up and the price of an order.
func (s *testShop) wantOrder(id int64, note, day string, price shop.Price) {
	s.t.Helper()
	order := shoptest.Must(s.Order(s.t.Context(), id))(s.t)
	if order.Reference != note || order.PickupDate != day || order.Price != price {
		s.t.Errorf("order %d is for %q on %q at %+v, want %q on %q at %+v", id, order.Reference, order.PickupDate, order.Price, note, day, price)
	}
}

// An order can have a day of pick-up and a price, which begins with that of the profile. Both can be changed while the order is
// open, and the change can be undone.
func TestOrdersHaveADayAndAPrice(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	eur := func(amount string) shop.Price { return shop.Price{Amount: amount, Currency: "EUR"} }
	for range 4 {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Price: new(eur("250.00"))}, nil))(t)
	}
	b.mustGet("/staff/pets/1").contains(`id="reserve-amount" type="text" name="amount" value="250.00"`, `name="currency" value="EUR"`, `type="date" name="pickup"`)
	b.post("/staff/pets/1/orders", "reference", "Novák", "pickup", "2030-05-04", "amount", "199,50", "currency", "eur").wantRedirect("/staff/pets/1")
	s.wantOrder(1, "Novák", "2030-05-04", eur("199.50"))
	b.post("/staff/pets/2/orders", "reference", "x", "amount", "").wantRedirect("/staff/pets/2")
	s.wantOrder(2, "x", "", shop.Price{})
	b.post("/staff/pets/3/orders", "reference", "y").wantRedirect("/staff/pets/3")
	s.wantOrder(3, "y", "", eur("250.00"))
	// What is wrong is shown beside its field, and nothing is lost.
	for _, b := range []*browser{b, b.withHTMX()} {
		got := b.post("/staff/pets/4/orders", "reference", "Novák", "pickup", "2030-02-30", "amount", "cheap", "currency", "EUR")
		got.want(got.status, "Must be a date such as 2026-05-31.", "Must be a decimal number of 0 or more, such as 250.00.").contains(`value="Novák"`, `value="cheap"`, `aria-invalid="true"`)
	}
	s.wantPet(shop.Pet{ID: 4, Name: "Rex", CategoryID: 1, Status: shop.Available})

	const page = "/staff/orders/1"
	b.mustGet(page, "Pick-up 2030-05-04", "Price EUR 199.50")
	b.mustGet(page+"/print", "Pick-up 2030-05-04", "Price EUR 199.50")
	b.mustGet("/staff/orders?pickup=2030-05-04", "1 Rex Reserved").contains(`href="/staff/orders/print?pickup=2030-05-04#print"`).lacks(`id="order-2"`)
	b.mustGet("/staff/orders?pickup=2030-05-05", "No orders match.")
	b.mustGet("/staff/orders?pickup=x", "The day of pick-up must be a date")
	fields := []string{"was-reference", "Novák", "was-pickup", "2030-05-04", "was-amount", "199.50", "was-currency", "EUR"}
	b.post(page, append(fields, "reference", "Novák", "pickup", "2030-05-05", "amount", "", "currency", "EUR")...).wantRedirect(page)
	s.wantOrder(1, "Novák", "2030-05-05", shop.Price{})
	b.undo(page).wantRedirect(page)
	b.mustGet(page, "Order 1 is as before.", "changed the pick-up of Rex from Sat 4 May 2030 to Sun 5 May 2030, and the price of Rex from EUR 199.50 to nothing")
	s.wantOrder(1, "Novák", "2030-05-04", eur("199.50"))
	// Two people may change different fields at the same time. The second change of the same field is shown, and not saved.
	shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{PickupDate: new("2030-06-01")}, nil))(t)
	b.post(page, append(fields, "reference", "Nováková", "pickup", "2030-05-04", "amount", "199.50", "currency", "EUR")...).wantRedirect(page)
	s.wantOrder(1, "Nováková", "2030-06-01", eur("199.50"))
	b.post(page, append(fields, "reference", "Novák", "pickup", "2030-05-07", "amount", "199.50", "currency", "EUR")...).
		want(409, "Someone else changed this order", "Theirs (current): 2030-06-01").contains(`value="2030-05-07"`, `name="was-pickup" value="2030-06-01"`)
	b.post(page, append(fields, "reference", "Novák", "pickup", "tomorrow", "amount", "199.50", "currency", "EUR")...).want(422, "Must be a date")
	s.wantOrder(1, "Nováková", "2030-06-01", eur("199.50"))
}

// Today lists what is to be handed over, by the days of the shop's time zone, and prints the hand-overs of a day.
func TestHandOversFollowTheDays(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{TimeZone: new("Pacific/Auckland"), Kind: new(shop.KindShelter)}, nil))(t)
	evening := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC) // in Auckland, it is Saturday, 2 January
	s.Clock.Forward(evening.Sub(s.Clock.Now()))
	b.post("/staff/sign-in", "key", configuredKey)
	for _, day := range []string{"2027-01-01", "2027-01-02", "2027-01-03", ""} {
		s.addOrderedPet("Rex " + day)
		id := shoptest.Must(s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PageRequest: shop.PageRequest{Limit: 1}}))(t).Items[0].ID
		change := shop.OrderChange{PickupDate: &day, Price: &shop.Price{Amount: "250.00", Currency: "EUR"}}
		shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, id, change, nil))(t)
		if day != "2027-01-02" {
			shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, id, shop.OrderChange{Status: new(shop.Approved)}, nil))(t)
		}
	}
	b.mustGet("/", "Overdue 1", "Rex 2027-01-01 Rex 2027-01-01 1 2027-01-01", "To hand over today 1", "Rex 2027-01-02 Rex 2027-01-02 2 Reserved", "Nothing to approve.",
		"To hand over, without a day 1", "Today 2 Jan Tomorrow 3 Jan Monday 4 Jan").lacks("work-3").contains(`href="/staff/orders/hand-overs?day=2027-01-03#print"`)
	b.mustGet("/staff/orders/hand-overs?day=2027-01-03", "To hand over on Sunday, 3 January 2027", "3 Rex 2027-01-03 no. 3", "Adoption fee", "EUR 250", "Signature", "1 order").lacks("Rex 2027-01-02")
	b.mustGet("/staff/orders/hand-overs", "To hand over on Saturday, 2 January 2027", "2 Rex 2027-01-02")
	b.get("/staff/orders/hand-overs?day=x").want(422, "The day must be a date such as 2026-05-31.")
	b.post("/staff/orders/2/status", "was", "placed", "to", "approved", "back", "today").wantRedirect("/")
	b.post("/staff/orders/2/status", "was", "approved", "to", "delivered", "back", "today").wantRedirect("/")
	b.mustGet("/").lacks("hand-over-today")
	b.mustGet("/staff/orders/hand-overs", "0 orders")
}
