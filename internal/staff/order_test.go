package staff

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// wantActions checks the labels of the buttons that change an order's status.
func (r response) wantActions(want ...string) response {
	r.t.Helper()
	var got []string
	for _, found := range regexp.MustCompile(`<button id="order-\d+-\w+"[^>]*>(?:<svg.*?</svg>)?([^<]*)</button>`).FindAllStringSubmatch(r.body, -1) {
		got = append(got, found[1])
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("the page offers %q, want %q", got, want)
	}
	return r
}

func TestPetDetailShowsOrdersAndHistory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := s.Key(t, shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.OrdersWrite, shop.EventsRead)
	b := s.signedIn(key.Secret)
	b.post("/staff/categories", "name", "Dogs").wantRedirect("/staff/categories")
	b.post("/staff/pets", "name", "Rex", "category", "1", "status", "available")
	b.mustGet("/staff/pets/1", "Rex Available", "No orders yet",
		"Žofie <at the till> added Rex to Dogs")
	b.post("/staff/pets/1/orders", "reference", "Mrs Novák").wantRedirect("/staff/pets/1")
	b.post("/staff/pets/1/orders").want(409, "not available")
	b.withHTMX().with("HX-Target", "pet-detail").post("/staff/pets/1/orders").want(200, "not available", "Mrs Novák")
	b.mustGet("/staff/pets/1", "Rex Reserved", "1 Reserved 2 days 2", "Mrs Novák",
		"Žofie <at the till> reserved Rex for Mrs Novák · order 1").wantActions("Approve", "Cancel order").lacks("Mark as available")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved", "back", "/staff/orders?q=novak").wantRedirect("/staff/orders?q=novak")
	b.post("/staff/orders/1/status", "was", "placed", "to", "cancelled").want(412, "Someone else has changed this order")
	b.withHTMX().with("HX-Target", "order-1").post("/staff/orders/1/status", "was", "placed", "to", "cancelled", "back", "/staff/orders").
		want(200, "Someone else has changed this order", "Approved")
	b.mustGet("/staff/orders", "1 Rex Approved Mrs Novák").wantActions("Hand over", "Cancel order")
	b.post("/staff/orders/1/status", "was", "approved", "to", "delivered").wantRedirect("/staff/pets/1")
	b.mustGet("/staff/pets/1", "Rex Sold", "Handed over", "Mark as returned",
		"Žofie <at the till> approved Rex for Mrs Novák · order 1", "Žofie <at the till> handed over Rex to Mrs Novák · order 1")
	b.post("/staff/pets/1/status", "was", "sold", "to", "available").wantRedirect("/staff/pets/1")
	shoptest.OK(t, s.RevokeKey(t.Context(), shop.Caller{}, key.ID))
	s.signedIn(configuredKey).mustGet("/staff/pets/1", "Žofie <at the till> changed Rex from sold to available")
}

// The API calls the first and the last status of an order "placed" and "delivered". The pages say "reserved" and
// "handed over" instead, even in error messages.
func TestPagesUseTheWordsOfTheShop(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for range 4 {
		s.addOrderedPet("Rex")
	}
	for id, steps := range map[int64][]shop.OrderStatus{2: {shop.Approved}, 3: {shop.Approved, shop.Delivered}, 4: {shop.Cancelled}} {
		for _, step := range steps {
			shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, id, shop.OrderChange{Status: &step}, nil))(t)
		}
	}
	held := shoptest.Must(s.Pet(t.Context(), 1, nil))(t)
	hold := []string{"was", "0001-01-01T00:00:00Z", "until", s.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)}
	raw := regexp.MustCompile(`(?i)\b(placed?|ordered|deliver|delivered|delivery|reference|holdExpiresAt)\b`)
	for _, got := range []response{
		b.get("/"), b.get("/staff/orders"), b.get("/staff/orders?status=x"), b.get("/staff/orders/print"), b.get("/staff/orders/print?status=x"),
		b.get("/staff/orders/1"), b.get("/staff/orders/2"), b.get("/staff/orders/3"), b.get("/staff/orders/4"), b.get("/staff/orders/3/print"),
		b.get("/staff/pets"), b.get("/staff/pets/1"), b.get("/staff/pets/3"), b.get("/staff/activity"), b.get("/staff/activity.csv"),
		b.post("/staff/orders/3/status", "was", "delivered", "to", "placed").want(409, "An order that is handed over cannot become reserved"),
		b.post("/staff/orders/1/status", "was", "placed", "to", "delivered").want(409, "An order that is reserved cannot become handed over"),
		b.post("/staff/orders/1/status", "was", "placed", "to", "x").want(422, "Status must be one of reserved, approved, handed over, cancelled, expired."),
		b.post("/staff/pets/1/orders").want(409, "only available animals can be reserved"),
		b.post("/staff/pets/1/orders", "reference", strings.Repeat("x", 201)).want(422, "Must have 1 to 200 characters"),
		b.post("/staff/pets/1/status", "was", "pending", "to", "available").want(409, "hand over or cancel the order first"),
		b.post("/staff/pets/1/delete", "was-name", "Rex", "was-category", "1", "was-status", "pending").want(409, "hand over or cancel the order first"),
		b.bulk([]shop.Pet{held}, "do", "remove").want(200, "hand over or cancel the order first"),
		b.withHTMX().post("/staff/orders/3", "was-reference", "Rex", "reference", "x").want(200, "The note of an order that is handed over"),
		b.withHTMX().post("/staff/orders/2/hold", hold...).want(200, "An order that is approved has no hold; only the hold of a reserved order can be changed."),
		b.withHTMX().post("/staff/orders/3/undo", "was", "cancelled").want(200, "Someone has changed order 3"),
	} {
		text := strings.NewReplacer("API reference", "", "orders-placed", "").Replace(got.text() + got.header.Get("HX-Trigger"))
		if found := raw.FindString(text); found != "" {
			t.Errorf("%s: the response contains %q: %s", got.request, found, text)
		}
	}
}

func TestOrdersShowTheTimeLeft(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := s.Clock.Now()
	// Move the clock to noon, so that the holds end at noon.
	s.Clock.Forward(now.Truncate(24 * time.Hour).Add(36 * time.Hour).Sub(now))
	b := s.signedIn(configuredKey)
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Bella", 1, shop.Available)
	for _, id := range []string{"1", "2"} {
		b.post("/staff/pets/" + id + "/orders")
	}
	b.mustGet("/staff/orders", "2 Bella Reserved 2 days 2", "1 Rex Reserved 2 days 2")
	b.mustGet("/", "No holds end today")
	s.Clock.Forward(71*time.Hour + 30*time.Minute) // this also ends the user's session
	b = s.signedIn(configuredKey)
	b.mustGet("/staff/orders", "2 Bella Reserved 2")
	b.mustGet("/", "Time left Actions Rex 1 29 min", "Bella 2 29 min")
	s.Clock.Forward(time.Hour)
	b.mustGet("/staff/orders?status=expired", "1 Rex Expired")
	b.mustGet("/staff/orders?status=placed", "No orders match").wantActions()
	b.mustGet("/staff/orders?status=x", "The status must be one of")
	b.withHTMX().get("/staff/orders/99/row").want(200, "no order 99")
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, 1, nil))
	b.mustGet("/staff/orders", "1 Animal 1 (removed) Expired")
}

func TestOrdersArePaged(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for range pageSize + 2 {
		s.addOrderedPet("Rex")
	}
	next := b.mustGet("/staff/orders?status=placed").nextPage()
	rows := b.withHTMX().mustGet(next).lacks("<html")
	if n := strings.Count(rows.body, `<tr id="order-`); n != 2 {
		t.Errorf("the next page has %d orders, want 2", n)
	}
}

func TestDashboardCountsPetsArrivalsAndSales(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.mustGet("/", "No animals yet")
	for i := range 3 {
		s.AddPet(t, "Rex", 1, []shop.Status{shop.Available, shop.Sold, ""}[i])
	}
	b.post("/staff/pets/1/orders")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved")
	b.post("/staff/orders/1/status", "was", "approved", "to", "delivered")      // a sale through an order
	b.post("/staff/pets/3/status", "was", "", "to", "sold", "confirmed", "yes") // a sale without an order
	page := b.mustGet("/", "0 Available 0 Reserved 3 Sold 0 No status 3 Total", "Category 1 3")
	day := regexp.MustCompile(`<tr><th scope="row"><time datetime="[\d-]{10}">\d[^<]*</time></th><td class="number">(\d+)</td><td class="number">(\d+)</td></tr>`)
	rows := day.FindAllStringSubmatch(page.body, -1)
	if len(rows) != 30 || rows[29][1] != "3" || rows[29][2] != "2" || rows[28][1] != "0" {
		t.Errorf("the table of days has %v, want 30 rows ending in 3 arrivals and 2 sales", rows)
	}
	s.AddPet(t, "Max", 1, "")
	b.mustGet("/").contains(`<td class="number">4</td><td class="number">2</td></tr>`) // Max is counted as one arrival
	for category := range int64(13) {
		s.AddPet(t, "Kim", 2+category, "")
	}
	b.mustGet("/", "Category 12 1", "Animals in smaller categories: 2").lacks(`>Category 13</a>`)
	// A user without pets:read and orders:read gets an empty dashboard.
	s.signedIn(s.Key(t, shop.EventsRead).Secret).mustGet("/")
}

func TestCategoriesAreAddedRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/categories", "name", "").want(422, "Name must have")
	b.post("/staff/categories", "name", "Dogs").wantRedirect("/staff/categories")
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Max", 1, shop.Sold)
	s.AddPet(t, "Momo", 7, "")
	b.mustGet("/staff/categories", "1 Save 2 1 0 1", "7 Save 1 0 0 0")
	b.post("/staff/categories/7", "was-name", "", "name", "Rabbits").wantRedirect("/staff/categories")
	b.post("/staff/categories/7", "was-name", "", "name", "Hares").
		want(409, "Someone else has renamed category 7 to “Rabbits”; your change to “Hares” was not saved")
	b.post("/staff/categories/7/delete", "was-name", "Rabbits").want(409, "Category 7 still has animals")
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, 3, nil))
	b.post("/staff/categories/7/delete", "was-name", "Hares").want(409, "Someone else has renamed category 7")
	b.post("/staff/categories/7/delete", "was-name", "Rabbits").wantRedirect("/staff/categories")
	b.mustGet("/staff/categories").lacks(`id="category-7"`)
}

func TestWebhooksAreCreatedTestedAndRemoved(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	b.post("/staff/webhooks", "url", "ftp://x").want(422, "The URL must be")
	b.post("/staff/webhooks", "url", "https://example.com/hook", "type", "pet.created", "type", "pet.deleted").
		want(200, "https://example.com/hook Active", "it won’t be shown again", "whsec_")
	b.mustGet("/staff/webhooks", "https://example.com/hook Active pet.created pet.deleted")
	b.mustGet("/staff/webhooks/1").lacks("whsec_")
	b.post("/staff/webhooks/1/rotate", "overlap", "24", "confirmed", "yes").want(200, "it won’t be shown again")
	b.post("/staff/webhooks/1/test").wantRedirect("/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1", "1 webhook.test Pending 0")
	b.post("/staff/webhooks/1/deliveries/1").wantRedirect("/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1?status=pending", "2 webhook.test Pending 0", "1 webhook.test Pending 0")
	b.mustGet("/staff/webhooks/1?status=failed", "No deliveries match")
	b.post("/staff/webhooks/1/deliveries/99").want(404, "no delivery")
	b.post("/staff/webhooks/1", "url", "https://example.com/other").wantRedirect("/staff/webhooks/1")
	b.mustGet("/staff/webhooks/1", "https://example.com/other Disabled")
	b.post("/staff/webhooks/1", "url", "x", "enabled", "on").want(422, "The URL must")
	b.post("/staff/webhooks/1/delete", "confirmed", "yes").wantRedirect("/staff/webhooks")
	b.get("/staff/webhooks/1").want(404)
}
