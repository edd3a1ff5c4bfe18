package staff

import (
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestDashboardCountsPetsArrivalsAndSales(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.mustGet("/").want(t, 200, "0 Available 0 Pending 0 Sold 0 No status 0 Total", "No animals yet")
	for i := range 3 {
		s.AddPet(t, "Rex", 1, []shop.Status{shop.Available, shop.Sold, ""}[i])
	}
	b.post("/staff/pets/1/orders")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved")
	b.post("/staff/orders/1/status", "was", "approved", "to", "delivered") // a sale through an order
	b.post("/staff/pets/3/status", "was", "", "to", "sold")                // a sale without an order
	page := b.mustGet("/").want(t, 200, "0 Available 0 Pending 3 Sold 0 No status 3 Total", "Category 1 3")
	if rows := regexp.MustCompile(`<tr><th scope="row">\d[^<]*</th><td class="number">(\d+)</td><td class="number">(\d+)</td></tr>`).FindAllStringSubmatch(page.body, -1); len(rows) != 30 || rows[29][1] != "3" || rows[29][2] != "2" || rows[28][1] != "0" {
		t.Errorf("the table of days has %v, want 30 rows ending in 3 arrivals and 2 sales", rows)
	}
	s.AddPet(t, "Max", 1, "")
	if page := b.mustGet("/"); !strings.Contains(page.body, `<td class="number">4</td><td class="number">2</td></tr>`) {
		t.Error("an animal added later is not counted exactly once")
	}
	s.signedIn(s.Key(t, shop.EventsRead).Secret).mustGet("/") // a user without pets:read and orders:read gets an empty dashboard
}
