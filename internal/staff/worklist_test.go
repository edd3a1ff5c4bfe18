package staff

import (
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The Today page lists the orders to work on, each with a button. Pressing a button leads back to the list.
func TestWorkIsDoneFromToday(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Max", 1, shop.Available)
	b.mustGet("/", "No holds end today.", "Nothing to approve.", "Nothing to hand over.")
	s.addOrderedPet("Rex")
	b.mustGet("/", "To approve 1", "Rex Rex 1 2 days 23 h Approve").lacks("Extend")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved", "back", "today").wantRedirect("/")
	b.mustGet("/", "Nothing to approve.", "To hand over, without a day 1", "Hand over", "Configured key approved Rex for Rex · order 1")
	b.withHTMX().post("/staff/orders/1/status", "was", "approved", "to", "delivered", "back", "today").
		want(200, "Order 1 is now handed over", "Nothing to hand over.").contains(`id="worklist"`).lacks("<html")
	b.withHTMX().post("/staff/orders/1/status", "was", "approved", "to", "delivered", "back", "today").
		want(200, "Someone else has changed this order", "Nothing to hand over.").contains(`id="worklist"`)
	for range workListSize + 1 {
		s.addOrderedPet("Max")
	}
	page := b.mustGet("/", "To approve 10+").contains(`href="/staff/orders?sort=oldest&amp;status=placed"`)
	if n := strings.Count(page.body, `<tr id="work-`); n != workListSize {
		t.Errorf("the list has %d orders, want %d", n, workListSize)
	}
	// The scopes of the key decide which lists the page shows.
	s.signedIn(s.Key(t, shop.PetsRead).Secret).mustGet("/").lacks("To approve", "Since yesterday")
	s.signedIn(s.Key(t, shop.OrdersRead).Secret).mustGet("/", "To approve").lacks("Since yesterday", `value="approved"`, "Extend")
	s.signedIn(s.Key(t, shop.EventsRead).Secret).mustGet("/", "Since yesterday").lacks("To approve")
}

// The Today page lists the newest available animals without a photo, for those who may add one.
func TestAvailableAnimalsWithoutAPhotoAreListed(t *testing.T) {
	t.Parallel()
	s, b := newShopWithPhotos(t)
	b.mustGet("/").lacks("without-photo")
	for range withoutPhotoSize {
		s.AddPet(t, "Mia", 1, shop.Available)
	}
	s.AddPet(t, "Sold", 1, shop.Sold)
	b.mustGet("/", "Available without a photo 6 Mia Mia").contains(`href="/staff/pets/7#photo-files"`).lacks("pets/1#photo", "pets/8#photo")
	s.AddPet(t, "Max", 1, shop.Available)
	b.mustGet("/", "Available without a photo 6+ Max Mia").lacks("pets/2#photo")
	s.signedIn(s.Key(t, shop.PetsRead).Secret).mustGet("/").lacks("without-photo")
	s.signedIn(s.Key(t, shop.PetsRead, shop.PetsWrite).Secret).mustGet("/", "Available without a photo")
}

// A hold that ends today can be extended. It then ends at the same time of day in the shop's time zone, even if
// daylight saving time begins in between.
func TestHoldIsExtended(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	berlin := shoptest.Zone("Europe/Berlin")
	service := shoptest.Must(s.Node(t.Context(), shop.Options{Location: berlin}))(t)
	s.pages, s.url = s.serve(service, Config{})
	noon := time.Date(2027, 3, 27, 12, 0, 0, 0, berlin) // the day before daylight saving time begins
	s.Clock.Forward(noon.Sub(s.Clock.Now()))
	s.addOrderedPet("Rex")
	was := noon.Add(3 * time.Hour).UTC()
	shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{HoldExpiresAt: &was}, nil))(t)
	b := s.signedIn(configuredKey)
	b.mustGet("/", "Holds ending today 1", "Extend 1 more day 3 more days 1 more week", "Nothing else to approve.")
	form := []string{"was", was.Format(time.RFC3339Nano), "back", "today"}
	b.withHTMX().post("/staff/orders/1/hold", append(form, "days", "1")...).
		want(200, "The hold of order 1 now ends on 28 March at 15:00", "No holds end today.", "To approve 1").
		want(200, `"undo":"/staff/orders/1/hold"`)
	want := time.Date(2027, 3, 28, 15, 0, 0, 0, berlin)
	if order := shoptest.Must(s.Order(t.Context(), 1))(t); !order.HoldExpiresAt.Equal(want) {
		t.Errorf("the hold ends at %s, want %s", order.HoldExpiresAt, want)
	}
	b.post("/staff/orders/1/hold", append(form, "days", "1")...).want(412, "Someone else has changed this order")
	b.post("/staff/orders/1/hold", append(form, "days", "0")...).want(422, "between 1 and 366")
	b.post("/staff/orders/1/hold", "was", "x", "days", "1").want(422)
	b.post("/staff/orders/1/hold", "was", want.Format(time.RFC3339Nano), "days", "366").want(422, "at most a year ahead")
	undo := []string{"was", want.UTC().Format(time.RFC3339Nano), "until", was.Format(time.RFC3339Nano)}
	b.withHTMX().post("/staff/orders/1/hold", undo...).want(200, "The hold of order 1 ends on 27 March at 15:00 again.", `"order-1":""`)
	b.withHTMX().post("/staff/orders/1/hold", undo...).want(200, "Someone has changed order 1 in the meantime, so nothing was undone.")
	if order := shoptest.Must(s.Order(t.Context(), 1))(t); !order.HoldExpiresAt.Equal(was) {
		t.Errorf("after Undo, the hold ends at %s, want %s", order.HoldExpiresAt, was)
	}
	b.post("/staff/orders/1/hold", "was", was.Format(time.RFC3339Nano), "until", "x").want(422)
	b.post("/staff/orders/9/hold", append(form, "days", "1")...).want(404)
	b.mustGet("/staff/activity?order=1", "changed the hold on Rex to end on 28 Mar 2027, 15:00 CEST · order 1")
}

// The Today page shows the arrivals of a large import at once.
func TestTodayCountsAnImport(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rows := make([]shop.ImportRow, shop.MaxImport)
	for i := range rows {
		rows[i].NewPet = shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available}
	}
	shoptest.Must(s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t)
	s.addOrderedPet("Max")
	b.mustGet("/", "To approve 1", "Show as table", "10 001 0")
}
